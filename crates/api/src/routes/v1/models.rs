//! `GET /v1/models`: agents first, then what the providers have.

use axum::Json;
use axum::extract::{Path, State};
use schemars::JsonSchema;
use serde::Serialize;

use super::sent::no_model;
use crate::{ApiState, AuthContext, Problem};

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ModelView {
    id: String,
    object: &'static str,
    /// Nobody knows when a model was made; the wire wants a number.
    created: i64,
    owned_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ModelList {
    object: &'static str,
    data: Vec<ModelView>,
    has_more: bool,
}

pub(super) async fn list(State(state): State<ApiState>, _: AuthContext) -> Json<ModelList> {
    Json(ModelList { object: "list", data: all(&state).await, has_more: false })
}

pub(super) async fn show(
    State(state): State<ApiState>,
    _: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<ModelView>, Problem> {
    let found = all(&state).await.into_iter().find(|model| model.id == id);
    found.map(Json).ok_or_else(|| no_model(&id))
}

async fn all(state: &ApiState) -> Vec<ModelView> {
    let view = |id: String, owned_by: String, context_window| ModelView {
        id,
        object: "model",
        created: 0,
        owned_by,
        context_window,
    };
    let roster = state.agent.roster();
    let agents =
        roster.agents().map(|agent| view(format!("onyx:{}", agent.id), "onyx".into(), None));
    let mut models: Vec<ModelView> = agents.collect();
    let listed = state.upstream.models().await.into_iter();
    models.extend(listed.map(|model| view(model.id, model.owner, model.context_window)));
    models
}
