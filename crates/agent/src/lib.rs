//! The agent loop: a pure state machine, a driver that performs its effects, prompt assembly, and
//! the manager that starts, stops and recovers runs.
//!
//! It sees models, tools and stores through their traits. No provider, no wire format, no HTTP
//! and no file system call may enter.

mod actions;
mod agents;
mod conversations;
mod delegation;
mod drafts;
mod drive;
mod feed;
mod notices;
mod personas;
pub mod prompt;
mod runs;
mod sessions;
pub mod step;

pub use actions::{ACTIONS_FOLDER, Action, ActionAsk, ActionName, Confirmation, Recipe};
pub use agents::models::{ModelChoice, Models, Payer};
pub use agents::preferences::{Preferences, PreferencesPatch, RuntimeMode};
pub use agents::roster::{AgentProfile, FIRST_AGENT, Roster};
pub use agents::settings::{
    AgentDefaults, AgentMemorySettings, AgentSettings, AgentsSettings, ModelSetting,
};
pub use conversations::spaces::check_card;
pub use conversations::{Again, Answering, KeptMessage, NewMessage};
pub use drafts::{ApprovalScope, Yes};
pub use feed::{EventReader, Feed};
pub use notices::{Happened, Notice};
pub use onyx_tools::NotApproved;
pub use runs::figures::{RUN_SECONDS, RunFigures};
pub use runs::inbox::Sent;
pub use runs::request::{Delegated, DryRun, RunInput, RunRequest, RunTerms, SessionRef, StopTarget};
pub use runs::{Canceller, ManagerOptions, RunHandle, RunManager};
pub use sessions::forks::ForkPoint;
pub use sessions::titles::Titles;
pub use sessions::{PatchFlaw, SessionPatch};
pub use step::client::{ClientInput, ClientTurn, MemoryUse};
