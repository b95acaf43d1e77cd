//! Chooses the counts that apply: those of this process, or those that several gateways share.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onyx_storage::{Admission as SharedAdmission, FailureBucket, Overflow, SharedFailures};
use onyx_types::{Clock, Fault, Hash};

use super::{
    Admission, Guess, Limiter, MAX_KNOWN_NETWORKS, NAME_FROM_EVERYWHERE, NAME_FROM_NETWORK,
    NETWORK, PAIRINGS, Rate, too_many,
};
use crate::network::Network;

pub(crate) struct Limits {
    local: Mutex<Limiter>,
    shared: Option<SharedFailures>,
    clock: Arc<dyn Clock>,
}

impl Limits {
    pub(crate) fn of_one_process(clock: Arc<dyn Clock>) -> Self {
        Self { local: Mutex::default(), shared: None, clock }
    }

    pub(crate) fn of_all_gateways(clock: Arc<dyn Clock>, shared: SharedFailures) -> Self {
        Self { local: Mutex::default(), shared: Some(shared), clock }
    }

    /// Counts a guess at a password.
    pub(crate) async fn guess(&self, guess: Guess) -> Result<Admission, Fault> {
        let Some(shared) = &self.shared else { return self.local().guess(guess, &*self.clock) };
        let is_known = shared.knows(guess.name, &guess.network.to_string()).await?;
        match shared.count(&buckets(guess, is_known)).await? {
            SharedAdmission::Free => Ok(Admission::Free),
            SharedAdmission::Crowded => Ok(Admission::Crowded),
            SharedAdmission::Refused => Err(too_many()),
        }
    }

    /// Takes back the count of a guess that was right.
    pub(crate) async fn guessed_right(&self, guess: Guess) -> Result<(), Fault> {
        let Some(shared) = &self.shared else {
            self.local().guessed_right(guess);
            return Ok(());
        };
        shared.take_back(&buckets(guess, true)).await?;
        let network = guess.network.to_string();
        Ok(shared.remember(guess.name, &network, MAX_KNOWN_NETWORKS).await?)
    }

    /// Counts a device that asks to be paired.
    pub(crate) async fn pairing(&self, from: IpAddr) -> Result<(), Fault> {
        let Some(shared) = &self.shared else { return self.local().pairing(from, &*self.clock) };
        let network = Network::of(from).to_string();
        let key = Hash::of_parts([b"pairings".as_slice(), network.as_bytes()]);
        match shared.count(&[bucket(key, PAIRINGS, Overflow::Refuses)]).await? {
            SharedAdmission::Free | SharedAdmission::Crowded => Ok(()),
            SharedAdmission::Refused => Err(too_many()),
        }
    }

    /// Counts an unknown token. Each gateway counts for itself: a token cannot be guessed, and
    /// counts in the database would let any sender cause work there.
    pub(crate) fn failed(&self, from: IpAddr) -> Result<(), Fault> {
        self.local().failed(from, &*self.clock)
    }

    fn local(&self) -> MutexGuard<'_, Limiter> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The three shared counts of a guess, which are the same as those of a single process.
fn buckets(guess: Guess, is_known: bool) -> [FailureBucket; 3] {
    let (name, network) = (guess.name.as_bytes().as_slice(), guess.network.to_string());
    let network = network.as_bytes();
    let everywhere = if is_known { Overflow::Counts } else { Overflow::Refuses };
    [
        bucket(
            Hash::of_parts([b"name from network".as_slice(), name, network]),
            NAME_FROM_NETWORK,
            Overflow::Refuses,
        ),
        bucket(Hash::of_parts([b"name".as_slice(), name]), NAME_FROM_EVERYWHERE, everywhere),
        bucket(Hash::of_parts([b"network".as_slice(), network]), NETWORK, Overflow::Crowds),
    ]
}

fn bucket(key: Hash, rate: Rate, overflow: Overflow) -> FailureBucket {
    FailureBucket { key, burst: rate.burst, every: rate.every, overflow }
}
