//! Performs what `step` decides: calls models and tools, writes turns, sends events.
//!
//! `runs` creates a driver and starts it; `drafts` uses the conditions under which tools work. No
//! decision about a run is made here: inputs go into `step`, effects come out, and the result of an
//! effect is the next input.

mod decisions;
mod driver;
mod live_text;
mod messages;
mod model_streams;
mod parts;
mod report;
mod slots;
mod tool_context;
mod writing;

pub(crate) use driver::Driver;
pub(crate) use live_text::LiveNotes;
pub(crate) use messages::{MessageSender, messages};
pub(crate) use parts::{
    DriveServices, EndNotes, LaneActor, LaneTools, LedgerState, Mailbox, RememberAnswers,
    RunOutput, SessionHold, UnderWay, Withheld,
};
pub use report::ActionName;
pub(crate) use report::PAGES_FOLDER;
pub(crate) use report::RunReport;
pub(crate) use slots::{RunSlot, RunSlots};
pub(crate) use tool_context::tool_context;
