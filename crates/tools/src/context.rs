use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_storage::Files;
use onyx_types::{
    AgentId, Author, Cancel, Clock, RunId, ScopeSet, SessionKey, Taint, View, Visibility,
};
use tokio::sync::mpsc;

use crate::gate::Granted;
use crate::mask::MaskedPieces;
use crate::pending::Pending;
use crate::{Addresses, Masker, PathRules, Standing};

/// For whom and within what a call works. Made by the driver, never from a model's words.
#[derive(Clone)]
pub struct ToolCx {
    pub key: SessionKey,
    /// The agent that answers; a session's key names the one it was created with.
    pub agent: AgentId,
    pub run: RunId,
    pub view: Option<View>,
    /// What searches may see: by the person, the agent and where the session lives.
    pub scopes: ScopeSet,
    /// Other agents whose memory this one may read.
    pub memories: Arc<[AgentId]>,
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
    /// `None`: no run is at work, a person approved the call.
    pub standing: Option<Standing>,
    /// Was the tool shown to the model with the request that it answers? The driver sets it for
    /// each call.
    pub offered: Visibility,
}

impl ToolCx {
    pub fn author(&self) -> Author {
        Author::Agent(self.agent.clone())
    }
}

/// Where a long tool shows its output while it works. Bounded; what nobody takes in time is
/// dropped, since the whole comes with the result.
#[derive(Clone, Default)]
pub struct LiveOutput {
    sender: Option<mpsc::Sender<String>>,
    /// Shared by clones: they show one text.
    masked: Option<Arc<Mutex<MaskedPieces>>>,
}

impl LiveOutput {
    pub fn to(sender: mpsc::Sender<String>) -> Self {
        Self { sender: Some(sender), masked: None }
    }

    pub fn nowhere() -> Self {
        Self::default()
    }

    /// The same without the secrets that the masker knows, also where pieces cut them.
    #[must_use]
    pub(crate) fn masked_by(&self, masker: &Masker) -> Self {
        let pieces = MaskedPieces::new(masker.clone());
        Self { sender: self.sender.clone(), masked: Some(Arc::new(Mutex::new(pieces))) }
    }

    pub fn send(&self, chunk: impl Into<String>) {
        let chunk = chunk.into();
        self.show(match &self.masked {
            Some(pieces) => lock(pieces).add(&chunk),
            None => chunk,
        });
    }

    /// Nothing more comes: shows what waited for it.
    pub(crate) fn finish(&self) {
        if let Some(pieces) = &self.masked {
            self.show(lock(pieces).finish());
        }
    }

    fn show(&self, text: String) {
        if let Some(sender) = self.sender.as_ref().filter(|_| !text.is_empty()) {
            // Full or closed: live output may be lost, the result never is.
            let _ = sender.try_send(text);
        }
    }
}

fn lock(pieces: &Mutex<MaskedPieces>) -> MutexGuard<'_, MaskedPieces> {
    pieces.lock().unwrap_or_else(PoisonError::into_inner)
}
