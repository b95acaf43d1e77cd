//! Adds the earlier conversation to a request of `/v1/responses`, and stores its answer.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures::stream::{StreamExt as _, unfold};
use onyx_types::{Fault, PersonId};
use serde_json::{Map, Value, json};

use super::sent::AnswerSource;
use crate::pass_through::{StoredConversation, StoredResponse, StoredResponses};
use crate::{ApiState, AuthContext, Problem};

/// A longer answer is not stored, because its client has it.
const LARGEST: usize = 4 * 1024 * 1024;

/// What a request to `/v1/responses` continues, and where its answer is stored.
pub(super) struct Thread {
    person: PersonId,
    conversation: Option<StoredConversation>,
    /// The whole conversation, the request's own items included.
    input: Vec<Value>,
    /// The items that the request itself holds.
    fresh: usize,
    store: bool,
}

impl Thread {
    /// Adds what the request refers to to its body, so that any model can answer it. An unknown id
    /// stays in the body: it may be an agent's or the provider's own.
    pub(super) async fn open(
        state: &ApiState,
        caller: &AuthContext,
        source: &AnswerSource,
        body: &mut Map<String, Value>,
    ) -> Result<Self, Problem> {
        let stored = StoredResponses::of(&*state.store.short_lived, &caller.person);
        let mut before = Vec::new();
        let mut conversation = None;
        if let Some(id) = conversation_name(body) {
            let found = stored.conversation(&id).await?;
            let found = found.ok_or_else(|| missing("conversation", &id))?;
            before.clone_from(&found.items);
            conversation = Some(found);
            body.remove("conversation");
        }
        if let Some(id) = body.get("previous_response_id").and_then(Value::as_str)
            && let Some(found) = stored.response(id).await?
            && !(is_of_agent(&found.body) && matches!(source, AnswerSource::Agent { .. }))
        {
            before = found.input;
            before.extend(found.body["output"].as_array().into_iter().flatten().cloned());
            body.remove("previous_response_id");
        }
        let fresh = items(body.get("input"));
        let count = fresh.len();
        let mut input = before;
        input.extend(fresh);
        if input.len() > count {
            body.insert("input".to_owned(), input.clone().into());
        }
        let store = body.get("store").and_then(Value::as_bool).unwrap_or(true);
        let person = caller.person.clone();
        Ok(Self { person, conversation, input, fresh: count, store })
    }

    /// Stores the answer when it is complete.
    pub(super) fn keeping(self, state: &ApiState, response: Response) -> Response {
        if response.status() != StatusCode::OK || !(self.store || self.conversation.is_some()) {
            return response;
        }
        let streams = response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let (parts, body) = response.into_parts();
        let recorder =
            Recorder { state: state.clone(), thread: Some(self), held: BytesMut::new(), streams };
        // The end of an answer is sent once it is stored: its client may continue it at any
        // gateway.
        let recorded = (body.into_data_stream(), recorder);
        let pieces = unfold(recorded, |(mut pieces, mut recorder)| async move {
            let piece = pieces.next().await?;
            if let Ok(bytes) = &piece {
                recorder.saw(bytes).await;
            }
            Some((piece, (pieces, recorder)))
        });
        Response::from_parts(parts, Body::from_stream(pieces))
    }

    async fn keep(mut self, state: &ApiState, body: Value) -> Result<(), Fault> {
        let stored = StoredResponses::of(&*state.store.short_lived, &self.person);
        if let Some(mut conversation) = self.conversation.take() {
            let fresh = self.input.len() - self.fresh;
            conversation.items.extend(self.input[fresh..].iter().cloned());
            conversation.items.extend(body["output"].as_array().into_iter().flatten().cloned());
            stored.put_conversation(&conversation).await?;
        }
        if self.store {
            let id = body["id"].as_str().unwrap_or_default().to_owned();
            stored.put_response(&StoredResponse { id, input: self.input, body }).await?;
        }
        Ok(())
    }
}

/// Records an answer while it is sent.
struct Recorder {
    state: ApiState,
    thread: Option<Thread>,
    /// The bytes since the last complete frame, or the whole body.
    held: BytesMut,
    streams: bool,
}

impl Recorder {
    async fn saw(&mut self, bytes: &Bytes) {
        if self.thread.is_none() {
            return;
        }
        self.held.extend_from_slice(bytes);
        if self.held.len() > LARGEST {
            self.thread = None;
            return;
        }
        let body =
            if self.streams { self.last_frame() } else { serde_json::from_slice(&self.held).ok() };
        if let Some(body) = body
            && let Some(thread) = self.thread.take()
            && let Err(fault) = thread.keep(&self.state, body).await
        {
            // The client has the answer; only its id leads nowhere.
            tracing::warn!(%fault, "a response could not be stored; it cannot be continued by its id");
        }
    }

    /// The response in the frame that ends the stream, once it has arrived.
    fn last_frame(&mut self) -> Option<Value> {
        while let Some(end) = self.held.windows(2).position(|pair| pair == b"\n\n") {
            let frame = self.held.split_to(end + 2);
            let ends = [&b"event: response.completed"[..], b"event: response.incomplete"];
            if ends.iter().any(|start| frame.starts_with(start)) {
                let text = std::str::from_utf8(&frame).ok()?;
                let data = text.lines().find_map(|line| line.strip_prefix("data: "))?;
                let mut event: Value = serde_json::from_str(data).ok()?;
                return Some(event["response"].take());
            }
        }
        None
    }
}

/// Whether the answer is an agent's; the agent then continues in its session.
fn is_of_agent(response: &Value) -> bool {
    response.get("x-onyx-session-id").is_some_and(Value::is_string)
}

/// The input as a list of items.
pub(super) fn items(input: Option<&Value>) -> Vec<Value> {
    match input {
        Some(Value::Array(items)) => items.clone(),
        Some(Value::String(text)) => {
            let part = json!({"type": "input_text", "text": text});
            vec![json!({"type": "message", "role": "user", "content": [part]})]
        }
        Some(_) | None => Vec::new(),
    }
}

fn conversation_name(body: &Map<String, Value>) -> Option<String> {
    let named = body.get("conversation")?;
    let id = named.as_str().or_else(|| named["id"].as_str())?;
    Some(id.to_owned())
}

pub(super) fn missing(field: &str, id: &str) -> Problem {
    Problem::field(field, format!("there is no `{id}`; it is kept for one day only"))
        .with_status(StatusCode::NOT_FOUND)
}
