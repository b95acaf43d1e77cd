//! `POST /v1/completions`, the format before chats: the prompt becomes a user message, and the
//! answer is written in the old form.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures::stream::StreamExt as _;
use http_body_util::BodyExt as _;
use serde_json::{Map, Value, json};

use super::schemas;
use crate::{Access, ApiState, AuthContext, Dialect, JsonBody, Problem, Route, Routes};

/// Fields that have no meaning for a chat model.
const REFUSED: [&str; 3] = ["suffix", "echo", "best_of"];

pub(super) fn routes() -> Routes {
    let rows = [Route::post("/v1/completions", Access::Chat, create)
        .summary("Create a completion (OpenAI's format before chats)")
        .body::<schemas::AnyObject>()
        .answers_json_or_events(schemas::any_object, schemas::any_object)];
    Routes::tagged("chat", rows)
}

async fn create(
    State(state): State<ApiState>,
    caller: AuthContext,
    headers: HeaderMap,
    JsonBody(mut body): JsonBody<Map<String, Value>>,
) -> Result<Response, Problem> {
    for name in REFUSED {
        let neutral = [Value::Null, false.into(), 1.into()];
        if body.remove(name).is_some_and(|value| !neutral.contains(&value)) {
            return Err(Problem::field(name, "not supported here; leave it out"));
        }
    }
    let prompt = match body.remove("prompt") {
        Some(Value::String(text)) => text,
        Some(Value::Array(texts)) if texts.len() == 1 && texts[0].is_string() => {
            texts[0].as_str().unwrap_or_default().to_owned()
        }
        Some(_) => return Err(Problem::field("prompt", "expected a single text")),
        None => return Err(Problem::field("prompt", "missing")),
    };
    body.insert("messages".to_owned(), json!([{"role": "user", "content": prompt}]));
    let response = super::answer(&state, &caller, &headers, body, Dialect::ChatCompletions).await?;
    if is_stream(&response) { Ok(streamed(response)) } else { whole(response).await }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

async fn whole(response: Response) -> Result<Response, Problem> {
    let (mut parts, body) = response.into_parts();
    let bytes = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let chat: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    parts.headers.remove(header::CONTENT_LENGTH);
    Ok((parts.headers, Json(completion(&chat))).into_response())
}

fn streamed(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let mut held = BytesMut::new();
    let frames =
        body.into_data_stream().map(move |piece| piece.map(|bytes| rewrite(&mut held, &bytes)));
    Response::from_parts(parts, Body::from_stream(frames))
}

/// Rewrites the complete frames of these bytes in the old form.
fn rewrite(held: &mut BytesMut, bytes: &Bytes) -> Bytes {
    held.extend_from_slice(bytes);
    let mut out = Vec::new();
    while let Some(end) = held.windows(2).position(|pair| pair == b"\n\n") {
        let frame = held.split_to(end + 2);
        let text = String::from_utf8_lossy(&frame);
        let data =
            text.trim().strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok());
        match data {
            Some(chunk) => {
                let chunk: Value = chunk;
                out.extend_from_slice(format!("data: {}\n\n", completion(&chunk)).as_bytes());
            }
            None => out.extend_from_slice(&frame),
        }
    }
    out.into()
}

/// Turns a chat answer, or a chunk of one, into a completion.
fn completion(chat: &Value) -> Value {
    if chat.get("error").is_some() {
        return chat.clone();
    }
    let choice = |choice: &Value| {
        let said = choice["message"]["content"].as_str().or(choice["delta"]["content"].as_str());
        json!({
            "text": said.unwrap_or_default(),
            "index": choice["index"],
            "logprobs": null,
            "finish_reason": choice["finish_reason"],
        })
    };
    let choices: Vec<Value> =
        chat["choices"].as_array().into_iter().flatten().map(choice).collect();
    let mut body = chat.clone();
    body["object"] = "text_completion".into();
    body["choices"] = choices.into();
    body
}
