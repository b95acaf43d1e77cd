//! Conversations of a space, its companion and the threads of its channels: how they are opened and
//! closed, how messages wait in them, and how each message is answered.
//!
//! A message is on disk before it is acknowledged. Messages are answered one after the other,
//! each by a run of its own, and never twice. Surfaces come in; runs are started through `runs`.
//! Which space a session belongs to is looked up in `sessions`.

mod answers;
mod promises;
mod queue;
mod sent;
mod spaces;

use std::sync::Arc;

use onyx_storage::{Files, Ledger};
use onyx_types::Clock;

use crate::agents::CurrentRoster;
use crate::notices::Notifier;
use crate::prompt::SecretMask;
use crate::runs::Runs;
use crate::sessions::{Ids, RunReplay, SessionSpaces, Sessions};

pub use answers::{AfterFailure, MessageAnswer};
pub(crate) use promises::Promises;
pub use queue::{KeptMessage, NewMessage};
pub(crate) use sent::SentMessages;

/// The conversations of people's spaces. Cheap to clone.
#[derive(Clone)]
pub struct Conversations {
    shared: Arc<ConversationsCore>,
}

pub(crate) struct ConversationsCore {
    pub(crate) sessions: Sessions,
    pub(crate) spaces: SessionSpaces,
    pub(crate) replay: RunReplay,
    pub(crate) runs: Runs,
    pub(crate) roster: Arc<CurrentRoster>,
    pub(crate) notices: Arc<Notifier>,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) mask: SecretMask,
    pub(crate) promises: Arc<Promises>,
    pub(crate) sent: SentMessages,
    /// This lock is held while a companion is looked for or made, so that two requests at once open
    /// the same conversation. Between processes the version of the space's card decides.
    pub(crate) opening: tokio::sync::Mutex<()>,
}

impl Conversations {
    pub(crate) fn new(shared: ConversationsCore) -> Self {
        Self { shared: Arc::new(shared) }
    }
}
