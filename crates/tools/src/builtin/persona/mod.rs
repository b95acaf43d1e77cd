//! The persona editor's tools. The session decides on which persona they work, and a model cannot
//! choose another.

mod create_test_input;
mod delete_test_input;
mod get_persona;
mod get_test_input;
mod list_test_inputs;
mod run_test_input;
mod update_persona_name;
mod update_system_prompt;
mod update_test_input;

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{Change, PersonaFiles, StoreError, TestInput, TestInputId};
use onyx_types::{
    AgentId, Fault, Hash, HomePath, Origin, Plan, PlanTarget, Taint, Target, ToolEffect, ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{FILE_TIMEOUT, reading, spec_of, text_argument, writing};
use crate::ports::{PERSONA_EDITOR, PERSONA_GROUP};
use crate::{PersonaPort, Tool, ToolCx, ToolError};

pub(super) fn tools(port: &Arc<dyn PersonaPort>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(get_persona::GetPersona::new(Arc::clone(port))),
        Arc::new(update_persona_name::UpdatePersonaName::new(Arc::clone(port))),
        Arc::new(update_system_prompt::UpdateSystemPrompt::new()),
        Arc::new(list_test_inputs::ListTestInputs::new()),
        Arc::new(get_test_input::GetTestInput::new()),
        Arc::new(create_test_input::CreateTestInput::new()),
        Arc::new(update_test_input::UpdateTestInput::new()),
        Arc::new(delete_test_input::DeleteTestInput::new()),
        Arc::new(run_test_input::RunTestInput::new(Arc::clone(port))),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TestInputArguments {
    /// Of the test input
    id: String,
}

fn spec<Arguments: JsonSchema>(
    name: &'static str,
    effect: ToolEffect,
    description: &str,
) -> ToolSpec {
    timed::<Arguments>(name, effect, description, FILE_TIMEOUT)
}

fn timed<Arguments: JsonSchema>(
    name: &'static str,
    usual_effect: ToolEffect,
    description: &str,
    timeout: Duration,
) -> ToolSpec {
    ToolSpec { timeout, ..spec_of::<Arguments>(name, PERSONA_GROUP, usual_effect, description) }
}

/// The persona that the session edits.
fn persona(cx: &ToolCx) -> Result<&AgentId, ToolError> {
    let is_editor = |agent: &AgentId| agent.as_str() == PERSONA_EDITOR;
    if is_editor(&cx.agent) && !is_editor(&cx.key.agent) {
        return Ok(&cx.key.agent);
    }
    Err(ToolError::Refused("personas are edited in the persona editor only".to_owned()))
}

fn files(cx: &ToolCx) -> Result<PersonaFiles, ToolError> {
    PersonaFiles::open(&*cx.files, persona(cx)?).map_err(failed)
}

fn target(name: String, base: Option<Hash>) -> PlanTarget {
    PlanTarget { target: Target::File(HomePath::new(name)), base, instruction: true }
}

fn test_id(text: &str) -> Result<TestInputId, ToolError> {
    text.parse().map_err(|_| no_test_input(text))
}

async fn existing(files: &PersonaFiles, id: &str) -> Result<TestInput, ToolError> {
    let found = files.test_input(&test_id(id)?).await.map_err(failed)?;
    found.ok_or_else(|| no_test_input(id))
}

/// A plan to read one test input.
async fn reading_of(spec: &ToolSpec, id: &str, cx: &ToolCx) -> Result<Plan, ToolError> {
    let files = files(cx)?;
    let found = existing(&files, id).await?;
    let target = target(files.test_input_name(&found.id), Some(found.content.hash));
    Ok(reading(spec, target))
}

fn no_test_input(id: &str) -> ToolError {
    ToolError::NotFound(format!("test input {id:?}; list_test_inputs shows those there are"))
}

fn change(cx: &ToolCx, tool: &ToolSpec) -> Change {
    let origin = match cx.taint {
        Taint::Clean => Origin::Agent,
        Taint::Tainted => Origin::AgentTainted,
    };
    Change {
        ts: cx.clock.wall(),
        author: cx.author(),
        origin,
        run: Some(cx.run),
        tool: tool.name.to_string(),
    }
}

/// The hash of the plan's only target when the plan was made.
fn base_of(plan: &Plan) -> Option<Hash> {
    plan.targets.first().and_then(|target| target.base)
}

fn failed(error: StoreError) -> ToolError {
    match error {
        StoreError::Refused(why) => ToolError::Refused(why),
        StoreError::Conflict => ToolError::Conflict("the persona".to_owned()),
        other => ToolError::Storage(other),
    }
}

/// Turns an error of the port into a message for the model, which can correct its call.
fn tool_error(fault: &Fault) -> ToolError {
    ToolError::Arguments(format!("{} {}", fault.message, fault.hint()).trim().to_owned())
}
