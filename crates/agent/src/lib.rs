//! The agent loop: a pure state machine (`step`), a driver that performs its effects (`drive`), the
//! prompts (`prompt`), and the rooms that surfaces use: `runs`, `sessions`, `drafts`,
//! `conversations`, `actions`, `personas` and `jobs`. `services` opens all of them over one store.
//!
//! Imports between rooms go one way, from the top: `services` and `delegation`; then `jobs`,
//! `conversations`, `drafts`, `actions`, `personas`, `memory`; `runs`; `drive`; `sessions`, `step`; `prompt`;
//! `agents`, `feed`, `notices`.
//!
//! The crate sees models, tools and stores through their traits. No provider, no wire format, no
//! HTTP and no file system call may enter.

mod actions;
mod agents;
mod conversations;
mod delegation;
mod drafts;
mod drive;
mod feed;
mod jobs;
mod memory;
mod notices;
mod peers;
mod personas;
pub mod prompt;
mod runs;
mod services;
mod sessions;
pub mod step;

pub use actions::{
    ACTIONS_FOLDER, Action, ActionRequest, ActionSpec, Actions, Confirmation, PastRun,
    PastRunRecord,
};
pub use agents::{
    AgentDefaults, AgentMemorySettings, AgentProfile, AgentSettings, AgentsSettings, FIRST_AGENT,
    ModelChoice, ModelSetting, Models, Payer, PreferenceFiles, Preferences, PreferencesPatch,
    Roster, RuntimeMode, Titles, is_anthropic,
};
pub use conversations::{AfterFailure, Conversations, KeptMessage, MessageAnswer, NewMessage};
pub use drafts::{ApprovalOptions, ApprovalScope, Approvals, DraftLeases, RunChanges, Undo};
pub use drive::ActionName;
pub use feed::{EventReader, Feed};
pub use jobs::{
    BackupDone, BackupPlan, BackupSettings, Check, CheckedJobsSettings, CleanupSettings, Deliver,
    HeartbeatSettings, HomeBackups, Job, JobActivity, JobChangeWaiting, JobEdit, JobFlaw,
    JobNotice, JobSpec, JobState, Jobs, JobsSettings, KeepingSettings, MailWriter, Misfire,
    Overlap, PeerWriter, Period, Rule, Schedule, SessionUse, SyncSettings, SystemWork, Timing,
    Unsent, Work, describe, due, fires_at, front_of, moment,
};
pub use notices::{Notice, NoticeKind};
pub use onyx_tools::NotApproved;
pub use personas::Personas;
pub use runs::{
    Canceller, Delegated, DryRun, GatewayAddress, LightPrompt, OtherGateways, OwnedRun, Privacy,
    RUN_SECONDS, RunFigures, RunHandle, RunInput, RunOrder, RunRequest, RunTerms, Runs,
    SendOutcome, SessionRef, StopTarget,
};
pub use services::{AgentOptions, AgentServices};
pub use sessions::{ForkPoint, PatchFlaw, RunReplay, SessionPatch, Sessions, check_card};
pub use step::client::{ClientInput, ClientTurn, MemoryUse};
