//! One place builds every prompt. Stable parts come first and are snapshotted per session, so that
//! providers' prompt caches hit; what was retrieved travels beside the message, marked untrusted.

mod conversation;
pub(crate) mod files;
pub(crate) mod history;
mod house_rules;
mod snapshot;
mod transcript;
mod untrusted;
mod view;
mod weight;

pub use conversation::Conversation;
pub(crate) use conversation::is_question;
pub use snapshot::{FileText, PromptSnapshot, PromptSources};
pub(crate) use snapshot::{MAX_DAILY, bounded};
pub use transcript::transcript;
pub use untrusted::{UntrustedPiece, untrusted_block};
pub use weight::{turn_weight, window};
