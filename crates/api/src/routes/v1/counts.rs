//! The length of a prompt before it is sent: `/v1/messages/count_tokens` and
//! `/v1/responses/input_tokens`. Onyx estimates it; an agent's own prompt is not counted.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use onyx_types::{Block, ModelRequest, estimate_tokens};
use serde_json::{Map, Value, json};

use super::schemas;
use super::sent::RequestHead;
use crate::wire::decode::model_request;
use crate::{Access, ApiState, AuthContext, Dialect, JsonBody, Problem, Route, Routes};

type Body = JsonBody<Map<String, Value>>;

/// The estimated tokens of an image. The makers count them by the image's size.
const IMAGE_TOKENS: usize = 1_600;

pub(super) fn routes() -> Routes {
    let rows = [
        Route::post("/v1/messages/count_tokens", Access::Chat, messages)
            .summary("Estimate the tokens of a messages prompt")
            .tag("messages")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
        Route::post("/v1/responses/input_tokens", Access::Chat, responses)
            .summary("Estimate the tokens of a responses prompt")
            .body::<schemas::AnyObject>()
            .answers_json::<schemas::AnyObject>(),
    ];
    Routes::tagged("responses", rows)
}

async fn messages(
    State(state): State<ApiState>,
    _: AuthContext,
    headers: HeaderMap,
    JsonBody(mut body): Body,
) -> Result<Json<Value>, Problem> {
    // The format requires a limit for an answer, and has none for a count.
    body.entry("max_tokens").or_insert_with(|| 1.into());
    let tokens = counted(&state, &headers, body, Dialect::Messages)?;
    Ok(Json(json!({"input_tokens": tokens})))
}

async fn responses(
    State(state): State<ApiState>,
    _: AuthContext,
    headers: HeaderMap,
    JsonBody(body): Body,
) -> Result<Json<Value>, Problem> {
    let tokens = counted(&state, &headers, body, Dialect::Responses)?;
    Ok(Json(json!({"object": "response.input_tokens", "input_tokens": tokens})))
}

fn counted(
    state: &ApiState,
    headers: &HeaderMap,
    body: Map<String, Value>,
    dialect: Dialect,
) -> Result<usize, Problem> {
    // A model that does not exist gets the same error here as in a request.
    RequestHead::read(headers, &body)?.answer_source(state)?;
    Ok(estimate(&model_request(dialect.read(body)?)))
}

fn estimate(request: &ModelRequest) -> usize {
    let system: usize = request.system.iter().map(|block| estimate_tokens(&block.text)).sum();
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| estimate_tokens(&tool.description) + tool.input_schema.tokens())
        .sum();
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    let content: usize = blocks
        .map(|block| match block {
            Block::Text { text } => estimate_tokens(text),
            Block::ToolUse { name, input, .. } => {
                estimate_tokens(name) + estimate_tokens(&input.to_string())
            }
            Block::ToolResult { content, .. } => estimate_tokens(content),
            Block::Image { .. } | Block::Attachment(_) => IMAGE_TOKENS,
            Block::Reasoning { .. } => 0,
        })
        .sum();
    (system + tools + content).max(1)
}
