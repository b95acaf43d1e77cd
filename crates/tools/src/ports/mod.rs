//! What tools need from the crates above: other agents and sessions, other models, personas, jobs,
//! the place of spaces, people's accounts, and the hooks of plugins.
//!
//! Each port says what a tool may ask for; the agent crate and the binary implement it. No port
//! does any work itself.

mod accounts;
mod delegation;
mod hooks;
mod jobs;
mod persona;
mod routing;
mod spaces;

pub use accounts::{Accounts, NoToken};
pub use delegation::{DelegatedAnswer, Delegates};
pub use hooks::{HookAnswer, HookNote, HookedCall, HookedRun, Hooks, Veto};
pub use jobs::{JOBS_FOLDER, JobPort, ProposedJob, job_path};
pub use persona::{PERSONA_EDITOR, PERSONA_GROUP, PersonaPort, TestAnswer};
pub use routing::{Audience, ModelPick, ModelRouter, ModelWish};
pub use spaces::Spaces;
