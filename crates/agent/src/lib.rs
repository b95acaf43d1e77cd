//! The agent loop: a pure state machine, a driver that performs its effects, prompt assembly, and
//! the manager that starts, stops and recovers runs.
//!
//! It sees models, tools and stores through their traits. No provider, no wire format, no HTTP
//! and no file system call may enter.

mod actions;
mod answers;
mod begin;
mod client;
mod collected;
mod decisions;
mod delegation;
mod drafts;
mod driver;
mod editor;
mod facts;
mod feed;
mod figures;
mod finished;
mod forks;
mod held;
mod homes;
mod inbox;
mod live_text;
mod manager;
mod models;
mod notices;
mod passing;

mod place;
mod preferences;
pub mod prompt;
mod queue;
mod recent;
mod recovery;
mod replay;
mod request;
mod roster;
mod seats;
mod sessions;
mod settings;
mod snapshots;
mod sources;
pub mod step;
mod titles;
mod undo;

pub use actions::{ACTIONS_FOLDER, Action, ActionAsk, ActionName, Confirmation, Recipe};
pub use client::{ClientInput, ClientTurn, MemoryUse};
pub use drafts::{ApprovalScope, Yes};
pub use feed::{EventReader, Feed};
pub use figures::{RUN_SECONDS, RunFigures};
pub use forks::ForkPoint;
pub use homes::check_card;
pub use inbox::Sent;
pub use manager::{Canceller, ManagerOptions, RunHandle, RunManager};
pub use models::{ModelChoice, Models, Payer};
pub use notices::{Happened, Notice};
pub use onyx_tools::NotApproved;
pub use preferences::{Preferences, PreferencesPatch, RuntimeMode};
pub use queue::{Again, Answering, KeptMessage, NewMessage};
pub use request::{Delegated, DryRun, RunInput, RunRequest, RunTerms, SessionRef, StopTarget};
pub use roster::{AgentProfile, FIRST_AGENT, Roster};
pub use sessions::{PatchFlaw, SessionPatch};
pub use settings::{
    AgentDefaults, AgentMemorySettings, AgentSettings, AgentsSettings, ModelSetting,
};
pub use titles::Titles;
