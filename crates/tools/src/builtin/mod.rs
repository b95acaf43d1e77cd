//! The tools themselves, one file each.
//!
//! Tools that need nothing but the context of every call are in `plain/`. A tool that needs a
//! service of the server (the index, the web, other agents) is in this folder and is created in
//! that service's function below. Nothing here decides whether a call may happen.

mod ask_agent;
mod ask_person;
mod cancel_job;
mod docker;
mod exec;
mod git;
mod linkedin;
mod list_jobs;
mod memory_graph;
mod memory_search;
mod menos;
mod persona;
mod plain;
mod process;
mod propose_change;
mod read_artifact;
mod read_entity;
mod route_task;
mod schedule;
mod search;
mod searching;
mod select_model;
mod session_search;
mod sessions_history;
mod sessions_list;
mod sessions_send;
mod skill;
mod view_context;
mod web_fetch;
mod web_search;

use std::sync::Arc;
use std::time::Duration;

use onyx_knowledge::Index;
use onyx_storage::{Ledger, Store};
use onyx_types::{
    FileChange, Origin, Plan, PlanTarget, Preview, Target, ToolEffect, ToolName, ToolSpec,
};
use schemars::JsonSchema;
use serde_json::Value;

use crate::artifacts::Artifacts;
use crate::runtime::CommandRunner;
use crate::schema::schema_of;
use crate::skills::Skills;
use crate::text::argv::quoted;
use crate::web::Web;
use crate::{Delegates, JobPort, ModelRouter, PersonaPort, Spaces, Tool, ToolCx, ToolError};

use docker::DockerTool;

pub use docker::{Docker, DockerSettings};
pub use git::{BadGitSettings, GitRemotes, GitSettings, OpenSecret, Repositories};
pub use linkedin::{AccountCheck, BadLinkedInSettings, LinkedIn, LinkedInSettings};
pub use menos::{BadMenosSettings, Menos, MenosSettings};
pub use select_model::selected_model;

/// The tools that need no service of the server, in the order agents see them.
pub fn builtin_tools() -> Vec<Arc<dyn Tool>> {
    plain::tools()
}

/// The companion's tools for the pages, tasks, refs and projects of spaces.
pub fn space_tools(spaces: &Spaces, ledger: &Arc<dyn Ledger>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read_entity::ReadEntity::new(spaces.clone())),
        Arc::new(view_context::ViewContext::new(spaces.clone(), Arc::clone(ledger))),
        Arc::new(propose_change::ProposeChange::new(spaces.clone())),
    ]
}

/// The tools for homes with an index.
pub fn index_tools(index: &Index) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(memory_search::MemorySearch::new(index.clone())),
        Arc::new(memory_graph::MemoryGraph::new(index.clone())),
        Arc::new(search::SearchKnowledge::new(index.clone())),
        Arc::new(session_search::SessionSearch::new(index.clone())),
    ]
}

/// The tools for homes with models to choose from.
pub fn model_tools(router: Arc<dyn ModelRouter>) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(select_model::SelectModel::new(router))]
}

/// The tools for homes that run agents: they reach other agents, sessions, models and the person.
pub fn delegation_tools(
    delegates: &Arc<dyn Delegates>,
    router: Arc<dyn ModelRouter>,
) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ask_person::AskPerson::new()),
        Arc::new(ask_agent::AskAgent::new(Arc::clone(delegates))),
        Arc::new(sessions_send::SessionsSend::new(Arc::clone(delegates))),
        Arc::new(route_task::RouteTask::new(Arc::clone(delegates), router)),
    ]
}

/// The tools for homes that run jobs.
pub fn job_tools(jobs: &Arc<dyn JobPort>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(schedule::Schedule::new(Arc::clone(jobs))),
        Arc::new(list_jobs::ListJobs::new(Arc::clone(jobs))),
        Arc::new(cancel_job::CancelJob::new(Arc::clone(jobs))),
    ]
}

/// The tools for the built-in agent that edits personas, and for no other.
pub fn persona_tools(port: &Arc<dyn PersonaPort>) -> Vec<Arc<dyn Tool>> {
    persona::tools(port)
}

/// The tools for long outputs that were stored.
pub fn artifact_tools(artifacts: &Artifacts) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(read_artifact::ReadArtifact::new(artifacts.clone()))]
}

/// The tools for homes where people and agents may have skills.
pub fn skill_tools(skills: &Skills) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(skill::OpenSkill::new(skills.clone()))]
}

/// The tools for homes with a content vault.
pub fn menos_tools(menos: &Menos) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(menos::Search::new(menos.clone())), Arc::new(menos::Ingest::new(menos.clone()))]
}

/// The tools for homes whose owner has an application at LinkedIn.
pub fn linkedin_tools(linkedin: &LinkedIn) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(linkedin::ShowProfile::new(linkedin.clone())),
        Arc::new(linkedin::Post::new(linkedin.clone())),
        Arc::new(linkedin::Comment::new(linkedin.clone())),
    ]
}

/// The tools for homes with web access.
pub fn web_tools(web: &Web) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(web_search::WebSearch::new(web.clone())),
        Arc::new(web_fetch::WebFetch::new(web.clone())),
    ]
}

/// The tools for homes on this machine's disk.
pub fn command_tools(runner: &CommandRunner) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(exec::Exec::new(runner.clone())), Arc::new(process::Process::new(runner.clone()))]
}

/// The tools for the repositories of vaults on this machine's disk.
pub fn git_tools(runner: &CommandRunner, remotes: &GitRemotes) -> Vec<Arc<dyn Tool>> {
    let new = |command| git::Git::new(command, runner.clone(), remotes.clone());
    git::Command::ALL.into_iter().map(|command| Arc::new(new(command)) as Arc<dyn Tool>).collect()
}

/// The tools that read the person's own conversations.
pub fn session_tools(store: &Store) -> Vec<Arc<dyn Tool>> {
    let (ledger, turns) = (Arc::clone(&store.ledger), Arc::clone(&store.turns));
    vec![
        Arc::new(sessions_list::SessionsList::new(Arc::clone(&ledger))),
        Arc::new(sessions_history::SessionsHistory::new(ledger, turns)),
    ]
}

/// The tools for machines with containers.
pub fn docker_tools(docker: &Docker) -> Vec<Arc<dyn Tool>> {
    let tools = docker::Command::ALL.map(|command| DockerTool::new(command, docker.clone()));
    tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
}

const MEMORY_FILE: &str = "MEMORY.md";

/// Time limit for tools that work on files. An operation that takes longer hangs.
const FILE_TIMEOUT: Duration = Duration::from_secs(30);

fn spec_of<Arguments: JsonSchema>(
    name: &'static str,
    group: &str,
    usual_effect: ToolEffect,
    description: &str,
) -> ToolSpec {
    ToolSpec {
        name: ToolName::constant(name),
        group: group.to_owned(),
        description: description.to_owned(),
        input_schema: schema_of::<Arguments>().into(),
        usual_effect,
        repeats: false,
        timeout: FILE_TIMEOUT,
        needs: Vec::new(),
        agents: None,
    }
}

/// A plan that only reads.
fn reading(tool: &ToolSpec, target: impl Into<PlanTarget>) -> Plan {
    acting(tool, ToolEffect::Read, target, Preview::None)
}

/// A plan with one effect on one target. It gets the summary and arguments of the call.
fn acting(
    tool: &ToolSpec,
    effect: ToolEffect,
    target: impl Into<PlanTarget>,
    preview: Preview,
) -> Plan {
    let plan = Plan::new(tool.name.clone(), Value::Null, effect, "");
    Plan { targets: vec![target.into()], preview, ..plan }
}

/// A plan to run a command in a folder of the vault.
fn command_plan(
    tool: &ToolSpec,
    argv: &[String],
    folder: Option<&str>,
    cx: &ToolCx,
) -> Result<Plan, ToolError> {
    if argv.iter().any(|word| word.contains('\0')) {
        return Err(ToolError::Arguments("an argument holds a NUL character".into()));
    }
    let folder = folder.map(|folder| cx.paths.check(folder)).transpose()?;
    let line = quoted(argv);
    let place = folder.map_or_else(|| "the vault".to_owned(), |folder| folder.to_string());
    let target = Target::Command(line.clone());
    let preview = Preview::Text { text: format!("{line}\n(in {place}, without network)") };
    let plan = acting(tool, ToolEffect::Execute, target, preview);
    let (summary, command) = (format!("Run {line}"), Some(argv.to_vec()));
    Ok(Plan { summary, command, ..plan })
}

/// A plan that adds to one file.
fn writing(tool: &ToolSpec, target: PlanTarget, summary: String, preview: Preview) -> Plan {
    Plan { summary, ..acting(tool, ToolEffect::Write, target, preview) }
}

/// Adds to a plan the new content of its file; the previous version is kept.
fn changing(mut plan: Plan, after: &str, origin: Origin) -> Plan {
    let files = plan.targets.iter().filter_map(|own| own.target.file());
    let change = |target| FileChange { target, after: Some(after.to_owned()), origin };
    plan.changes = files.map(change).collect();
    plan
}

/// A text argument of a call that was not checked yet.
fn text_argument<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}
