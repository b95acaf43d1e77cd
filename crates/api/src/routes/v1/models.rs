//! `GET /v1/models`: agents first, then the providers' models, then the owner's other names for
//! them. Each has the fields that the clients of both makers look for.

use axum::Json;
use axum::extract::{Path, State};
use schemars::JsonSchema;
use serde::Serialize;

use super::sent::no_model;
use crate::{Access, ApiState, AuthContext, OfferedModel, Problem, Route, Routes};

/// The date of models with an unknown date: the formats require one, and Anthropic uses this one.
const LONG_AGO: &str = "1970-01-01T00:00:00Z";

pub(super) fn routes() -> Routes {
    let rows = [
        Route::get("/v1/models", Access::Read, list)
            .summary("List agents and models")
            .answers_json::<ModelList>(),
        Route::get("/v1/models/{*id}", Access::Read, show)
            .summary("Get an agent or a model")
            .answers_json::<ListedModelView>(),
    ];
    Routes::tagged("models", rows)
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ListedModelView {
    id: String,
    object: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    display_name: String,
    created: i64,
    created_at: &'static str,
    owned_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u32>,
    /// Anthropic's name of the context window.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_input_tokens: Option<u32>,
    /// Anthropic's name of the longest answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    capabilities: Capabilities,
}

/// The known capabilities; unknown ones are absent.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
struct Capabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    images: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
struct ModelList {
    object: &'static str,
    data: Vec<ListedModelView>,
    first_id: Option<String>,
    last_id: Option<String>,
    has_more: bool,
}

async fn list(State(state): State<ApiState>, _: AuthContext) -> Json<ModelList> {
    let data = all(&state).await;
    let id = |model: Option<&ListedModelView>| model.map(|model| model.id.clone());
    let (first_id, last_id) = (id(data.first()), id(data.last()));
    Json(ModelList { object: "list", data, first_id, last_id, has_more: false })
}

async fn show(
    State(state): State<ApiState>,
    _: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<ListedModelView>, Problem> {
    let found = all(&state).await.into_iter().find(|model| model.id == id);
    found.map(Json).ok_or_else(|| no_model(&id))
}

async fn all(state: &ApiState) -> Vec<ListedModelView> {
    let roster = state.agent.roster();
    let agents = roster.agents().map(|agent| ListedModelView {
        display_name: agent.name.clone(),
        owned_by: "onyx".to_owned(),
        capabilities: Capabilities { tools: Some(true), ..Capabilities::default() },
        ..ListedModelView::named(format!("onyx:{}", agent.id))
    });
    let mut models: Vec<ListedModelView> = agents.collect();
    models.extend(state.upstream.models().await.into_iter().map(ListedModelView::of));
    models
}

impl ListedModelView {
    fn named(id: String) -> Self {
        Self {
            display_name: id.clone(),
            id,
            object: "model",
            kind: "model",
            created: 0,
            created_at: LONG_AGO,
            owned_by: String::new(),
            context_window: None,
            max_input_tokens: None,
            max_tokens: None,
            capabilities: Capabilities::default(),
        }
    }

    fn of(model: OfferedModel) -> Self {
        let OfferedModel { id, owner, context_window, max_output_tokens, tools, reasoning, images } =
            model;
        Self {
            owned_by: owner,
            context_window,
            max_input_tokens: context_window,
            max_tokens: max_output_tokens,
            capabilities: Capabilities { tools, reasoning, images },
            ..Self::named(id)
        }
    }
}
