//! What happened here and the other gateways have not been told yet. It waits for the next look at what they did, and goes
//! with it: a trip of its own for each run would cost more than it is worth to hear of it a moment earlier.

use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast::error::RecvError;

use crate::gateway::live::Live;

/// Notices are hints: what does not fit is lost, and shows when it is looked at.
const MOST_WAITING: usize = 10_000;

/// Notices as the others read them.
#[derive(Default)]
pub(super) struct WaitingNotices(Mutex<Vec<String>>);

impl WaitingNotices {
    /// Gathers what happens here.
    pub(super) async fn gather(&self, live: &Live) {
        let mut own = live.agent.own_notices();
        loop {
            match own.recv().await {
                Ok(notice) => self.add(serde_json::to_string(&notice)),
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "the other gateways are not told of everything");
                }
                Err(RecvError::Closed) => return std::future::pending().await,
            }
        }
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// They could not be told, or nobody knows whether they were: the next look takes them along.
    pub(super) fn put_back(&self, notices: Vec<String>) {
        self.add(notices);
    }

    fn add(&self, notices: impl IntoIterator<Item = String>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(notices);
        waiting.truncate(MOST_WAITING);
    }
}
