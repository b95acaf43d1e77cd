//! One place builds every prompt. Stable parts come first and are snapshotted per session, so that
//! providers' prompt caches hit; what was retrieved travels beside the message, marked untrusted.

mod calibration;
mod conversation;
mod house_rules;
mod snapshot;
mod tokens;
mod transcript;
mod untrusted;
mod view;
mod weight;

pub use calibration::Calibration;
pub use conversation::Conversation;
pub use snapshot::{PromptSnapshot, PromptSources, bounded};
pub use tokens::estimate_tokens;
pub use transcript::transcript;
pub use untrusted::{UntrustedPiece, untrusted_block};
pub use weight::{turn_weight, window};
