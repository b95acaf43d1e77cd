//! `/api/agent/actions`: the person's prompt files, each shown as a button.

use axum::extract::{Path, State};
use axum::response::Response;
use onyx_agent::{Action, ActionRequest, ActionSpec, Confirmation};
use onyx_types::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines;
use super::request::{dry_run, optional_id};
use crate::routes::owned::OwnedRun;
use crate::wire::encode::Ndjson;
use crate::wire::{FieldNames, Json};
use crate::{ApiState, AuthContext, JsonBody, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct ActionView {
    id: String,
    label: String,
    /// The action's file, among the person's files.
    path: String,
    /// Its prompt has a placeholder for the text that the person has selected.
    asks_for_selection: bool,
    requires_confirmation: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_steps: Option<u32>,
    /// Why it cannot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Settings that work but are probably not what was meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl From<Action> for ActionView {
    fn from(action: Action) -> Self {
        let Action { id, label, path, warnings, recipe, .. } = action;
        let (recipe, error) = match recipe {
            Ok(recipe) => (recipe, None),
            Err(why) => (ActionSpec::default(), Some(why)),
        };
        Self {
            id,
            label,
            path,
            asks_for_selection: recipe.asks_for_selection(),
            requires_confirmation: recipe.requires_confirmation,
            max_steps: recipe.max_steps,
            error,
            warnings,
        }
    }
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Result<Json<Vec<ActionView>>, Problem> {
    let actions = state.agent.actions.list(&caller.person).await?;
    Ok(Json(actions.into_iter().map(ActionView::from).collect()))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct RunAction {
    #[serde(default, deserialize_with = "optional_id")]
    session_id: Option<SessionId>,
    confirm: Option<bool>,
    dry_run: Option<bool>,
    /// The text for `{{selection}}`.
    selection: Option<String>,
}

pub(crate) async fn run(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(action): Path<String>,
    names: FieldNames,
    JsonBody(request): JsonBody<RunAction>,
) -> Result<Response, Problem> {
    let confirmation = if request.confirm == Some(true) {
        Confirmation::Given(caller.approver()?)
    } else {
        Confirmation::NotYet
    };
    let ask = ActionRequest {
        person: caller.person.clone(),
        action,
        session: request.session_id,
        agent: None,
        selection: request.selection,
        confirmation,
        dry_run: dry_run(request.dry_run),
    };
    let request = state.agent.actions.run_request(ask).await?;
    let run = OwnedRun::start(&state.agent.runs, request).await?;
    Ok(lines(run, Ndjson::default().named(names)).await)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct FilledWith {
    /// The text for `{{selection}}`.
    selection: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ActionPrompt {
    prompt: String,
}

pub(crate) async fn prompt(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(action): Path<String>,
    JsonBody(FilledWith { selection }): JsonBody<FilledWith>,
) -> Result<Json<ActionPrompt>, Problem> {
    let actions = &state.agent.actions;
    let prompt = actions.prompt(&caller.person, &action, selection.as_deref()).await?;
    Ok(Json(ActionPrompt { prompt }))
}
