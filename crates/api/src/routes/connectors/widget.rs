//! `/widget/…`: the script that a person puts on their own site, and the routes it calls.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::key;
use super::push::pushed;
use crate::wire::Json;
use crate::{ApiState, JsonBody, Problem, QueryOf};

const SCRIPT: &str = include_str!("widget.js");

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct WrittenByVisitor {
    /// An id that the page generates; a repeated message has the same id.
    id: String,
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(default)]
#[derive(Default)]
pub(crate) struct MailAsked {
    /// The number of the last message that the page has.
    after: i64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MailList {
    messages: Vec<MailJson>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct MailJson {
    id: i64,
    text: String,
}

/// The script is the same for every account; an invalid name has no script.
pub(crate) async fn script(Path(account): Path<String>) -> Result<Response, Problem> {
    key("widget".to_owned(), account)?;
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=300"),
        // Pages of other sites load the script, and it holds nothing private.
        (header::HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ];
    Ok((headers, SCRIPT).into_response())
}

pub(crate) async fn write(
    State(state): State<ApiState>,
    Path(account): Path<String>,
    headers: HeaderMap,
    JsonBody(written): JsonBody<WrittenByVisitor>,
) -> Result<StatusCode, Problem> {
    let body = serde_json::to_vec(&written)
        .map_err(|error| Problem::new(onyx_types::ErrorCode::Internal, error.to_string()))?;
    let pushed = pushed(&headers, body);
    state.connectors.accept(&key("widget".to_owned(), account)?, &pushed).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn read(
    State(state): State<ApiState>,
    Path(account): Path<String>,
    headers: HeaderMap,
    QueryOf(MailAsked { after }): QueryOf<MailAsked>,
) -> Result<Json<MailList>, Problem> {
    let request = pushed(&headers, Vec::new());
    let mail =
        state.connectors.collect(&key("widget".to_owned(), account)?, &request, after).await?;
    let messages = mail.into_iter().map(|mail| MailJson { id: mail.id, text: mail.text }).collect();
    Ok(Json(MailList { messages }))
}
