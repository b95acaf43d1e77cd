//! What this gateway did and the others have not heard of yet. It is sent with the next poll of the
//! others' changes: a separate message for each run would cost more than the short delay matters.

use std::sync::{Mutex, PoisonError};

use onyx_agent::{JobNotice, Notice};
use onyx_api::Change;
use onyx_types::PersonId;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::gateway::live::Live;

/// How many messages may wait. They are hints, so one that does not fit is dropped, and its content
/// is seen the next time that anybody looks.
const MOST_WAITING: usize = 10_000;

/// What one gateway tells the others. A gateway ignores what only newer ones know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum GatewayMessage {
    /// A session has a new run, a new title or the like.
    Notice(Notice),
    /// Files, or accounts of a connector, were changed.
    Change { changed: Change },
    /// Jobs of a person were changed, or have a result that their browsers show.
    Job { job: JobNotice },
    /// A person chose another time zone.
    Zone { zone_of: PersonId },
    /// A person has a long output that was kept, and had none before.
    Artifacts { artifacts_of: PersonId },
}

/// The messages that wait, in the form in which they are sent.
#[derive(Default)]
pub(super) struct WaitingMessages(Mutex<Vec<String>>);

impl WaitingMessages {
    /// Collects what this gateway does.
    pub(super) async fn gather(&self, live: &Live) {
        let (mut notices, mut changes) = (live.agent.own_notices(), live.changes.to_be_shared());
        let mut jobs = live.agent.jobs.own_notices();
        let mut zones = live.agent.preferences.own_zone_changes();
        let mut artifacts = live.extensions.artifacts.first_ones();
        loop {
            tokio::select! {
                notice = next(&mut notices) => self.add(&GatewayMessage::Notice(notice)),
                changed = next(&mut changes) => self.add(&GatewayMessage::Change { changed }),
                job = next(&mut jobs) => self.add(&GatewayMessage::Job { job }),
                zone_of = next(&mut zones) => self.add(&GatewayMessage::Zone { zone_of }),
                artifacts_of = next(&mut artifacts) => {
                    self.add(&GatewayMessage::Artifacts { artifacts_of });
                }
            }
        }
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts back messages that may not have been sent; the next poll sends them.
    pub(super) fn put_back(&self, messages: Vec<String>) {
        self.extend(messages);
    }

    fn add(&self, message: &GatewayMessage) {
        match serde_json::to_string(message) {
            Ok(message) => self.extend([message]),
            Err(error) => tracing::warn!(%error, "a message to the other gateways was lost"),
        }
    }

    fn extend(&self, messages: impl IntoIterator<Item = String>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(messages);
        waiting.truncate(MOST_WAITING);
    }
}

/// The next one that was not lost.
async fn next<T: Clone>(messages: &mut Receiver<T>) -> T {
    loop {
        match messages.recv().await {
            Ok(message) => return message,
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "some messages to the other gateways were lost");
            }
            Err(RecvError::Closed) => return std::future::pending().await,
        }
    }
}
