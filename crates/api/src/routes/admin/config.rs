//! `/api/admin/config`: the config file, for the owner to read and to change.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::wire::{Json, etag, expected};
use crate::{ApiState, AuthContext, ConfigChange, JsonBody, Problem};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewConfig {
    /// The whole file. A shortened key in it stands for the key in the current file.
    text: String,
}

pub(crate) async fn read(State(state): State<ApiState>) -> Result<Response, Problem> {
    let view = state.configuration.view()?;
    Ok(([etag(&view.hash)], Json(view)).into_response())
}

/// An invalid config changes nothing; the answer names the error. The file holds the owner's token,
/// so writing it needs the same grants as that token.
pub(crate) async fn write(
    State(state): State<ApiState>,
    caller: AuthContext,
    headers: HeaderMap,
    JsonBody(new): JsonBody<NewConfig>,
) -> Result<Response, Problem> {
    state.auth.identity().may_set_owner_token(&caller)?;
    let change = ConfigChange::Text(new.text);
    let hash = state.configuration.change(change, expected(&headers)?).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().extend(hash.as_ref().map(etag));
    Ok(response)
}
