//! `/api/agent/actions`: the person's prompt files, each a button.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use onyx_agent::{Action, ActionRequest, Confirmation};
use onyx_types::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines;
use super::request::{dry_run, optional_id};
use crate::routes::owned::OwnedRun;
use crate::wire::encode::Ndjson;
use crate::{ApiState, AuthContext, JsonBody, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct ActionView {
    id: String,
    label: String,
    requires_confirmation: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_steps: Option<u32>,
    /// Why it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// What works but is probably not what was meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl From<Action> for ActionView {
    fn from(action: Action) -> Self {
        let Action { id, label, warnings, recipe, .. } = action;
        let (requires_confirmation, max_steps, error) = match recipe {
            Ok(recipe) => (recipe.requires_confirmation, recipe.max_steps, None),
            Err(why) => (false, None, Some(why)),
        };
        Self { id, label, requires_confirmation, max_steps, error, warnings }
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
    /// What `{{selection}}` stands for.
    selection: Option<String>,
}

pub(crate) async fn run(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(action): Path<String>,
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
    Ok(lines(OwnedRun::start(&state.agent.runs, request).await?, Ndjson::default()).await)
}
