//! Builds every prompt: the stable part, the history, and what was retrieved for a message.
//!
//! Stable parts come first and are kept per session, so that providers' prompt caches hit. Retrieved
//! text travels beside the message, marked untrusted. `step` and `runs` come in; nothing here calls
//! a model, decides what a run does next, or writes anything.

mod files;
mod history;
mod history_cache;
mod house_rules;
mod judge;
mod mask;
mod snapshot;
mod snapshots;
mod transcript;
mod untrusted;
mod view;
mod weight;

pub use history::History;
pub(crate) use history::taints;
pub(crate) use history_cache::HistoryCache;
pub(crate) use judge::ForeignFile;
pub(crate) use mask::SecretMask;
pub use snapshot::{FileText, PromptSnapshot, PromptSources};
pub(crate) use snapshots::{PromptSnapshots, RenderedPrompt};
pub use transcript::transcript;
pub use untrusted::{UntrustedBlock, UntrustedPiece, marks_in, untrusted_block};
pub(crate) use view::OUTCOME_UNKNOWN;
pub use weight::{turn_weight, window};
