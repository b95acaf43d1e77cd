use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onyx_types::{Clock, IdGenerator, SessionId, Timestamp, TurnId};

/// Creates ids and gives the current time.
#[derive(Clone)]
pub(crate) struct Ids {
    mint: Arc<Mutex<IdGenerator>>,
    clock: Arc<dyn Clock>,
}

impl Ids {
    pub(crate) fn new(seed: u64, clock: Arc<dyn Clock>) -> Self {
        Self { mint: Arc::new(Mutex::new(IdGenerator::new(seed))), clock }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.wall()
    }

    pub(crate) fn session(&self) -> SessionId {
        let now = self.now();
        self.mint().session(now)
    }

    pub(crate) fn turn(&self) -> TurnId {
        let now = self.now();
        self.mint().turn(now)
    }

    /// Locks the generator, for several ids of one moment.
    pub(crate) fn mint(&self) -> MutexGuard<'_, IdGenerator> {
        self.mint.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
