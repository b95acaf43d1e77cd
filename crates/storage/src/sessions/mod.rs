//! A session on disk: the append-only log of its turns, and a file beside it with the details that
//! the log does not contain. When the database is lost, the ledger's rows are rebuilt from both.
//! The logs are the truth; nothing here changes a turn.

mod append_once;
mod details;
mod rebuild;
mod run_log;
mod turn_log;

pub use append_once::{Attempt, LogTail, OneAppend, append_once};
pub use details::{forget_details, keep_details};
pub use rebuild::{Messages, RebuildCounts, find_session, preview_of, rebuild_person, title_of};
pub use run_log::{BeginError, FinalWrite, RunLog, StepwiseRunLog};
pub use turn_log::{Damage, DamageKind, LiveText, LogState, Page, Pos, TurnLog};
