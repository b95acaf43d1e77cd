//! Who can answer: the agents of a config, the models they ask for, the built-in persona editor,
//! and what each person chose for their agents.
//!
//! Every room may look here. Nothing here starts a run or knows of sessions.

mod editor;
mod models;
mod preferences;
mod profile;
mod roster;
mod settings;

pub(crate) use editor::{is_editor, prompt as editor_prompt, toolless};
pub use models::{ModelChoice, Models, Payer, is_anthropic};
pub use preferences::{PreferenceFiles, Preferences, PreferencesPatch, RuntimeMode};
pub use profile::AgentProfile;
pub(crate) use roster::CurrentRoster;
pub use roster::{FIRST_AGENT, Roster};
pub use settings::{
    AgentDefaults, AgentMemorySettings, AgentSettings, AgentsSettings, ModelSetting, Titles,
};
