use std::sync::Arc;
use std::time::Duration;

use onyx_storage::Files;
use onyx_types::{AgentId, Author, Cancel, Clock, RunId, SessionKey, Taint, View};
use tokio::sync::mpsc;

use crate::gate::Granted;
use crate::pending::Pending;
use crate::{Addresses, PathRules};

/// For whom and within what a call works. Made by the driver, never from a model's words.
#[derive(Clone)]
pub struct ToolCx {
    pub key: SessionKey,
    /// The agent that answers; a session's key names the one it was created with.
    pub agent: AgentId,
    pub run: RunId,
    pub view: Option<View>,
    pub cancel: Cancel,
    pub taint: Taint,
    pub clock: Arc<dyn Clock>,
    pub files: Arc<dyn Files>,
    pub paths: Arc<PathRules>,
    /// What the run may fetch without asking; one book for all its lanes.
    pub addresses: Arc<Addresses>,
    pub live: LiveOutput,
    /// What the session's open drafts make of files; the toolbox sets it for each call.
    pub pending: Arc<Pending>,
    /// What a person allowed for the rest of this run.
    pub granted: Granted,
    /// How long what needs a person can be decided.
    pub draft_time: Duration,
    /// What the person said when they approved the call.
    pub answer: Option<String>,
}

impl ToolCx {
    pub fn author(&self) -> Author {
        Author::Agent(self.agent.clone())
    }
}

/// Where a long tool shows its output while it works. Bounded; what nobody takes in time is
/// dropped, since the whole comes with the result.
#[derive(Clone, Default)]
pub struct LiveOutput(Option<mpsc::Sender<String>>);

impl LiveOutput {
    pub fn to(sender: mpsc::Sender<String>) -> Self {
        Self(Some(sender))
    }

    pub fn nowhere() -> Self {
        Self(None)
    }

    pub fn send(&self, chunk: impl Into<String>) {
        if let Some(sender) = &self.0 {
            // Full or closed: live output may be lost, the result never is.
            let _ = sender.try_send(chunk.into());
        }
    }
}
