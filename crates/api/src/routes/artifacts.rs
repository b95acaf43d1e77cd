//! `/api/artifacts`: tool outputs that were too long for a model, kept whole for a while.

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::routing::PathValue;
use crate::{Access, ApiState, AuthContext, Problem, Route, Routes};

const KEY: PathValue = PathValue::Pattern("^[A-Za-z0-9_/-]{1,200}\\.txt$");

pub(super) fn routes() -> Routes {
    let rows = [Route::get("/api/artifacts/{*key}", Access::Read, show)
        .summary("Read the whole of a tool's long output, by the `report.artifact` of its result")
        .path_value("key", KEY)
        .answers_text("text/plain")];
    Routes::tagged("artifacts", rows)
}

async fn show(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(key): Path<String>,
) -> Result<Response, Problem> {
    let artifact = state.extensions.artifacts.read(&caller.person, &key).await?;
    // A browser must show the content as text, even if it is HTML.
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, artifact.text).into_response())
}
