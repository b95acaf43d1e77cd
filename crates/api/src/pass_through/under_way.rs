//! Tracks provider answers that pass through. At shutdown, those that can finish in time do; the
//! others get an error in their own format.

use std::sync::Arc;
use std::time::Duration;

use onyx_types::{Cancel, ErrorCode, Fault};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most answers at a time: more than there can be connections.
const MOST: u32 = 1 << 20;

/// The answers in progress.
#[derive(Clone, Debug)]
pub struct PassThrough {
    room: Arc<Semaphore>,
    ending: Cancel,
}

impl Default for PassThrough {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(MOST as usize)), ending: Cancel::new() }
    }
}

/// One answer in progress, until it is dropped.
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

    /// Waits for all answers, and after `patience` ends the remaining ones with an error.
    pub async fn drain(&self, patience: Duration) {
        let all = self.room.acquire_many(MOST);
        if tokio::time::timeout(patience, all).await.is_err() {
            self.ending.cancel();
        }
    }
}

impl UnderWay {
    /// Waits for the next part. If the server ends first, the fault says so.
    pub(crate) async fn unless_over<T>(&self, next: impl Future<Output = T>) -> Result<T, Fault> {
        tokio::select! {
            biased;
            next = next => Ok(next),
            () = self.ending.cancelled() => Err(Fault::plain(ErrorCode::Interrupted)),
        }
    }
}
