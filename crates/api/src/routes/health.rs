//! `/health` and `/ready`: whether the server is alive, and whether it can work.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::wire::Json;
use crate::{Access, ApiState, AuthContext, Dependency, DependencyState, Route, Routes};

pub(super) fn routes() -> Routes {
    Routes::tagged(
        "health",
        [
            Route::get("/health", Access::Public, health)
                .summary("Check that the server is alive")
                .answers_json::<Health>(),
            Route::get("/ready", Access::Public, ready)
                .summary("Check that the server can work, with the state of each dependency")
                .tag("ready")
                .answers_json::<Ready>(),
            Route::get("/api/health", Access::Read, everything)
                .summary("Get the state of each dependency, with hints")
                .answers_json::<HealthReport>(),
        ],
    )
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Health {
    status: &'static str,
    version: &'static str,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Ready {
    status: &'static str,
    dependencies: Vec<Dependency>,
}

pub(super) async fn health() -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Everything")]
pub(crate) struct HealthReport {
    dependencies: Vec<Dependency>,
}

pub(super) async fn everything(
    State(state): State<ApiState>,
    caller: AuthContext,
) -> Json<HealthReport> {
    Json(HealthReport { dependencies: state.readiness.health(&caller.person).await })
}

pub(super) async fn ready(State(state): State<ApiState>) -> Response {
    let dependencies = state.readiness.dependencies().await;
    let worst = dependencies.iter().map(|dependency| dependency.state).max();
    let (code, status) = match worst.unwrap_or(DependencyState::Ok) {
        DependencyState::Off | DependencyState::Ok => (StatusCode::OK, "ready"),
        DependencyState::Degraded => (StatusCode::OK, "degraded"),
        DependencyState::Down => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    };
    (code, Json(Ready { status, dependencies })).into_response()
}
