//! The tools of agents, and the gate that decides whether a tool may be used.
//!
//! A tool plans without side effects, the gate decides on the plan, and only a plan that the gate
//! authorised can be invoked. [`Toolbox::call`] is the only way to call a tool: it validates,
//! plans, decides, audits, invokes within a time limit, masks and shortens.
//!
//! What may not enter: raw file or network access (files go through `onyx_storage`, requests
//! through `onyx_egress`, commands in `onyx_sandbox`), model or prompt code, surfaces. Nothing that
//! a model says can widen a [`Policy`].

mod artifacts;
mod builtin;
mod commands;
mod error;
mod files;
mod gate;
mod mask;
mod paths;
mod ports;
mod runtime;
mod schema;
mod settings;
mod skills;
mod text;
mod tool;
mod toolbox;
mod web;

pub use artifacts::{Artifacts, EarlierArtifacts, KeptOutput};
pub use builtin::{
    AccountCheck, BadGitSettings, BadLinkedInSettings, BadMenosSettings, Docker, DockerSettings,
    GitRemotes, GitSettings, LinkedIn, LinkedInSettings, Menos, MenosSettings, OpenSecret,
    Repositories, artifact_tools, builtin_tools, command_tools, delegation_tools, docker_tools,
    git_tools, index_tools, job_tools, linkedin_tools, menos_tools, model_tools, persona_tools,
    selected_model, session_tools, skill_tools, space_tools, web_tools,
};
pub use error::ToolError;
pub use files::{LARGEST_PERSON_FILE, NumberedVersion, PersonFiles};
pub use gate::{Authorised, GrantedSites, KnownTools, Policy, ToolSettings, Warning, decide};
pub use mask::Masker;
pub use paths::{HiddenPaths, PathRules};
pub use ports::{
    Accounts, Audience, DelegatedAnswer, Delegates, HookAnswer, HookNote, HookedCall, HookedRun,
    Hooks, JOBS_FOLDER, JobPort, ModelPick, ModelRouter, ModelWish, NoToken, PERSONA_EDITOR,
    PERSONA_GROUP, PersonaPort, ProposedJob, Spaces, TestAnswer, Veto, job_path,
};
pub use runtime::{CommandAccess, CommandEnd, CommandRunner, HttpAnswer, JobOutside};
pub use settings::ToolsSettings;
pub use skills::{
    SKILL_FILE, Skill, SkillHead, SkillPackage, SkillPlace, SkillState, Skills, ZipLimits,
    files_of_zip, is_skill_name,
};
pub use text::daily::DailyLog;
pub use text::diff::unified_diff;
pub use text::front_matter::front_matter;
pub use tool::{
    DEEPEST, Decisions, LiveOutput, OfferState, Pending, ReadCall, Registration, RunPosition, Tool,
    ToolCx, TypedTool,
};
pub use toolbox::{
    Approval, Execution, NotApproved, Offering, Services, ToolSet, ToolTraits, Toolbox, find_tools,
};
pub use web::{Addresses, BadWebSettings, FetchBudget, Web, WebSettings};
