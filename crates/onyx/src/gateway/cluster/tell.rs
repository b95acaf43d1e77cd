//! Notices of this gateway that the others have not received yet. They are sent with the next poll
//! of the others' changes: a separate message for each run would cost more than the short delay
//! matters.

use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast::error::RecvError;

use crate::gateway::live::Live;

/// How many notices may wait. Notices are hints, so one that does not fit is dropped, and its
/// content is seen the next time that anybody looks.
const MOST_WAITING: usize = 10_000;

/// The notices that wait, in the form in which they are sent.
#[derive(Default)]
pub(super) struct WaitingNotices(Mutex<Vec<String>>);

impl WaitingNotices {
    /// Collects the notices of this gateway.
    pub(super) async fn gather(&self, live: &Live) {
        let mut own = live.agent.own_notices();
        loop {
            match own.recv().await {
                Ok(notice) => self.add(serde_json::to_string(&notice)),
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "some notices to the other gateways were lost");
                }
                Err(RecvError::Closed) => return std::future::pending().await,
            }
        }
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts back notices that may not have been sent; the next poll sends them.
    pub(super) fn put_back(&self, notices: Vec<String>) {
        self.add(notices);
    }

    fn add(&self, notices: impl IntoIterator<Item = String>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(notices);
        waiting.truncate(MOST_WAITING);
    }
}
