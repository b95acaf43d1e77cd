//! One place builds every prompt. Stable parts come first and are snapshotted per session, so that
//! providers' prompt caches hit; what was retrieved travels beside the message, marked untrusted.

mod history;
mod house_rules;
mod snapshot;
mod tokens;
mod untrusted;

pub use history::{history_budget, messages, turn_weight};
pub use snapshot::{PromptSnapshot, PromptSources, bounded};
pub use tokens::estimate_tokens;
pub use untrusted::{UntrustedPiece, untrusted_block};
