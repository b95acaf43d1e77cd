//! Conversations as a person reads them: the turns of a log folded into messages, and the messages
//! of spaces and threads in pages.
//!
//! Routes that show a conversation use this. Nothing here writes to a log or starts a run.

mod conversation;
mod history;

pub(crate) use conversation::{MessagePage, MessageView, Metadata, client_id, page, waiting};
pub(crate) use history::Fold;
pub use history::{HistoryMessage, MessageRole, MessageStatus, Trace, messages};
