//! Answers of providers that pass through, and their end when the server's comes: what can finish
//! in time does, the rest is told so in its own format.

use std::sync::Arc;
use std::time::Duration;

use onyx_types::{Cancel, ErrorCode, Fault};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::stored::Stored;

/// More than connections there can be.
const MOST: u32 = 1 << 20;

/// The answers under way.
#[derive(Clone, Debug)]
pub struct PassThrough {
    room: Arc<Semaphore>,
    ending: Cancel,
    /// What clients come back to by its id.
    pub(crate) stored: Arc<Stored>,
}

impl Default for PassThrough {
    fn default() -> Self {
        Self {
            room: Arc::new(Semaphore::new(MOST as usize)),
            ending: Cancel::new(),
            stored: Arc::default(),
        }
    }
}

/// One of them; under way until it is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay {
    _place: Option<OwnedSemaphorePermit>,
    ending: Cancel,
}

impl PassThrough {
    pub(crate) fn begin(&self) -> UnderWay {
        let place = Arc::clone(&self.room).try_acquire_owned().ok();
        UnderWay { _place: place, ending: self.ending.clone() }
    }

    /// Waits for all of them, and after a while tells the rest that it is over.
    pub async fn drain(&self, patience: Duration) {
        let all = self.room.acquire_many(MOST);
        if tokio::time::timeout(patience, all).await.is_err() {
            self.ending.cancel();
        }
    }
}

impl UnderWay {
    /// What comes next, or the server's end.
    pub(crate) async fn unless_over<T>(&self, next: impl Future<Output = T>) -> Result<T, Fault> {
        tokio::select! {
            biased;
            next = next => Ok(next),
            () = self.ending.cancelled() => Err(Fault::plain(ErrorCode::Interrupted)),
        }
    }
}
