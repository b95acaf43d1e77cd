use uuid::Uuid;

use crate::{BatchId, CredentialId, DraftId, RunId, SessionId, Timestamp, TurnId};

/// Makes UUIDv7 ids from a given time and a seed, without asking the machine for either.
///
/// The step function must be pure, so ids come from state that a test can fix and a simulation can
/// replay. Ids of one generator sort in the order in which they were made, also within a
/// millisecond and when the wall clock goes back.
#[derive(Clone, Debug)]
pub struct IdGenerator {
    random: u64,
    last_millis: u64,
    counter: u16,
}

impl IdGenerator {
    /// `seed` must be unpredictable in production, because the ids of two generators must never be
    /// equal.
    pub fn new(seed: u64) -> Self {
        Self { random: seed, last_millis: 0, counter: 0 }
    }

    pub fn turn(&mut self, at: Timestamp) -> TurnId {
        TurnId::from_uuid(self.uuid(at))
    }

    pub fn run(&mut self, at: Timestamp) -> RunId {
        RunId::from_uuid(self.uuid(at))
    }

    pub fn session(&mut self, at: Timestamp) -> SessionId {
        SessionId::from_uuid(self.uuid(at))
    }

    pub fn draft(&mut self, at: Timestamp) -> DraftId {
        DraftId::from_uuid(self.uuid(at))
    }

    pub fn batch(&mut self, at: Timestamp) -> BatchId {
        BatchId::from_uuid(self.uuid(at))
    }

    pub fn credential(&mut self, at: Timestamp) -> CredentialId {
        CredentialId::from_uuid(self.uuid(at))
    }

    pub fn uuid(&mut self, at: Timestamp) -> Uuid {
        let millis = u64::try_from(at.as_millis()).unwrap_or(0).max(self.last_millis);
        if millis > self.last_millis {
            self.last_millis = millis;
            self.counter = 0;
        } else if self.counter == 0x0fff {
            self.last_millis += 1;
            self.counter = 0;
        } else {
            self.counter += 1;
        }
        let mut bytes = [0_u8; 16];
        bytes[..6].copy_from_slice(&self.last_millis.to_be_bytes()[2..]);
        bytes[6..8].copy_from_slice(&(0x7000 | self.counter).to_be_bytes());
        bytes[8..].copy_from_slice(&((self.next_random() >> 2) | (1 << 63)).to_be_bytes());
        Uuid::from_bytes(bytes)
    }

    /// A new seed, for the generator of something that this generator's owner starts.
    pub fn fork_seed(&mut self) -> u64 {
        self.next_random()
    }

    /// SplitMix64: a bijection of its counter, so one generator never repeats a value.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
