//! `/api/admin/secrets`: secrets that the config refers to as `secret:<name>`. Values can be
//! written, never read.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use onyx_identity::SecretView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admin::CONFIG_NAME;
use crate::wire::Json;
use crate::{Access, ApiState, JsonBody, Problem, Route, Routes};

pub(super) fn routes() -> Routes {
    use Access::Owner;
    let rows = [
        Route::get("/api/admin/secrets", Owner, list)
            .summary("List secrets by name, without their values")
            .answers_json::<SecretList>(),
        Route::put("/api/admin/secrets/{name}", Owner, set)
            .summary("Set a secret")
            .path_value("name", CONFIG_NAME)
            .body::<SecretValue>()
            .answers_nothing(),
        Route::delete("/api/admin/secrets/{name}", Owner, remove)
            .summary("Delete a secret")
            .path_value("name", CONFIG_NAME)
            .answers_nothing(),
        Route::post("/api/admin/secrets/rotate", Owner, rotate)
            .summary("Encrypt all secrets with a new key")
            .answers_json::<Rotated>(),
    ];
    Routes::tagged("admin", rows)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SecretList {
    secrets: Vec<SecretView>,
}

pub(super) async fn list(State(state): State<ApiState>) -> Json<SecretList> {
    // The person may have just unlocked their keyring.
    state.secrets.reopen().await;
    Json(SecretList { secrets: state.secrets.list() })
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SecretValue {
    #[schemars(
        length(min = 1, max = 16_384),
        regex(pattern = r"^([^\n\x00]+|-----BEGIN [^\x00]+)$")
    )]
    value: String,
}

pub(super) async fn set(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    JsonBody(body): JsonBody<SecretValue>,
) -> Result<StatusCode, Problem> {
    state.secrets.set(&name, &body.value).await?;
    // It is masked by the time the answer is there, also while the config cannot be taken up.
    state.agent.mask_stored(&body.value);
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn remove(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    state.secrets.remove(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Rotated {
    rotated: usize,
}

pub(super) async fn rotate(State(state): State<ApiState>) -> Result<Json<Rotated>, Problem> {
    Ok(Json(Rotated { rotated: state.secrets.rotate().await? }))
}
