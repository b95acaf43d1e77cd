//! One place builds every prompt. Stable parts come first and are snapshotted per session, so that
//! providers' prompt caches hit; what was retrieved travels beside the message, marked untrusted.

mod calibration;
mod history;
mod house_rules;
mod snapshot;
mod tokens;
mod transcript;
mod untrusted;

pub use calibration::Calibration;
pub use history::{Fit, current, messages, newest_summary, turn_weight, window};
pub use snapshot::{PromptSnapshot, PromptSources, bounded};
pub use tokens::estimate_tokens;
pub use transcript::transcript;
pub use untrusted::{UntrustedPiece, untrusted_block};
