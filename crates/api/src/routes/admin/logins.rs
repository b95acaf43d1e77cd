//! `/api/admin/providers/{name}/login`: signing in at a provider with a code. And
//! `/api/admin/providers/found`: what needs neither key nor sign-in. No address comes from a request.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::wire::Json;
use crate::{ApiState, FoundView, LoginBegun, LoginView, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct FoundProviders {
    found: Vec<FoundView>,
}

pub(crate) async fn found(State(state): State<ApiState>) -> Json<FoundProviders> {
    Json(FoundProviders { found: state.catalogue.found().await })
}

pub(crate) async fn begin(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<(StatusCode, Json<LoginBegun>), Problem> {
    Ok((StatusCode::CREATED, Json(state.catalogue.begin_login(&name).await?)))
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<Json<LoginView>, Problem> {
    Ok(Json(state.catalogue.login(&name)?))
}

pub(crate) async fn end(
    State(state): State<ApiState>,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    // Known, or refused: what is not there cannot be signed out of.
    state.catalogue.login(&name)?;
    state.catalogue.end_login(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
