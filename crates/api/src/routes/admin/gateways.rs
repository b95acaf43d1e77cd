//! `/api/admin/gateways`: the gateways that share the database, what each does, and how one is
//! drained.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::wire::Json;
use crate::{ApiState, GatewayView, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct GatewayList {
    /// Empty where a single process runs without a shared database.
    gateways: Vec<GatewayView>,
}

pub(crate) async fn list(State(state): State<ApiState>) -> Result<Json<GatewayList>, Problem> {
    Ok(Json(GatewayList { gateways: state.readiness.gateways().list().await? }))
}

pub(crate) async fn drain(
    State(state): State<ApiState>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    state.readiness.gateways().drain(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}
