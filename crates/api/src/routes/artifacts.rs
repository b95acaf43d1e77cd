//! `/api/artifacts`: outputs of tools that were too long for a model, kept whole for a while.

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::routing::PathValue;
use crate::{Access, ApiState, AuthContext, Problem, Route, Routes};

const KEY: PathValue = PathValue::Pattern("^[A-Za-z0-9_/-]{1,200}\\.txt$");

pub(super) fn routes() -> Routes {
    let rows = [Route::get("/api/artifacts/{*key}", Access::Read, show)
        .summary("The whole of an output, as a result's `report.artifact` names it")
        .path_value("key", KEY)
        .answers_text("text/plain")];
    Routes::tagged("artifacts", rows)
}

async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(key): Path<String>,
) -> Result<Response, Problem> {
    let kept = state.extensions.artifacts.read(&caller.person, &key).await?;
    // Whatever it holds, a browser is to show it as text and nothing else.
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, kept.text).into_response())
}
