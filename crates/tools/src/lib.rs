//! What an agent can do, and the one gate that decides whether it may.
//!
//! A tool plans (no side effects), the gate decides on the plan, and only a plan that the gate
//! authorised can be invoked. [`Toolbox::call`] is the only way in: it validates, plans, decides,
//! audits, runs within a time limit, masks and bounds.
//!
//! What may not enter: raw file or network access (files go through `onyx_storage`, requests
//! through `onyx_egress`, commands in `onyx_sandbox`), model or prompt code, surfaces. Nothing a
//! model says can widen a [`Policy`].

mod addresses;
mod approval;
mod attempt;
mod audit;
mod builtin;
mod commands;
mod context;
mod conversation;
mod delegation;
mod entity_place;
mod error;
mod gate;
mod instruction;
mod jobs;
mod mask;
mod offering;
mod output;
mod pending;
mod person_files;
mod persona;
mod place;
mod policy;
mod program_path;
mod proposal;
mod routing;
mod runtime;
mod schema;
mod settings;
mod spaces;
mod text;
mod tool;
mod toolbox;
mod vault_path;
mod web;

pub use addresses::Addresses;
pub use approval::{Approval, NotApproved};
pub use builtin::{
    BadGitSettings, Docker, GitRemotes, GitSettings, OpenSecret, builtin_tools, delegation_tools,
    docker_tools, git_tools, index_tools, job_tools, model_tools, persona_tools, runtime_tools,
    session_tools, space_tools, web_tools,
};
pub use context::{LiveOutput, ToolCx};
pub use delegation::{Answered, DEEPEST, Delegates, Standing};
pub use error::ToolError;
pub use gate::{Authorised, Granted, decide};
pub use jobs::{
    CommandAccess, CommandEnd, HttpAnswer, JOBS_FOLDER, JobDesk, JobOutside, ProposedJob, job_path,
};
pub use mask::Masker;
pub use offering::{Offering, ToolTraits};
pub use pending::Pending;
pub use person_files::{LARGEST_PERSON_FILE, NumberedVersion, PersonFiles};
pub use persona::{PERSONA_EDITOR, PERSONA_GROUP, PersonaDesk, TestAnswer};
pub use policy::{Policy, ToolSettings, Warning};
pub use routing::{ModelPick, ModelRouter, ModelWish};
pub use runtime::Runtime;
pub use settings::ToolsSettings;
pub use spaces::Spaces;
pub use text::daily::DailyLog;
pub use text::diff::unified_diff;
pub use tool::{Asked, Tool};
pub use toolbox::{Execution, Services, Toolbox};
pub use vault_path::{HiddenPaths, PathRules};
pub use web::{BadWebSettings, Web, WebSettings};
