//! The messages between Onyx and the sidecar; `sidecars/pi/src/protocol.ts` is the other end.

use onyx_types::{Block, Message, ModelRequest, Role, ToolChoice};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::wire::portable;

/// The version of the protocol that both ends speak.
pub(super) const VERSION: u64 = 1;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Reply {
    Ready { version: u64 },
    Text { id: u64, delta: String },
    Thinking { id: u64, delta: String },
    Call { id: u64, call: Envelope },
    Done { id: u64, reason: Reason, usage: Tokens },
    Failed { id: u64, trouble: PiErrorKind, message: String, retry_after_ms: Option<u64> },
    Status { id: u64, sign_ins: Vec<SignIn> },
}

/// A call of a tool, for Onyx to execute.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Envelope {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reason {
    Stop,
    Length,
    ToolCalls,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PiErrorKind {
    Auth,
    RateLimited,
    Overloaded,
    InvalidRequest,
    ContextLength,
    UnknownModel,
    Unavailable,
    Cancelled,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct SignIn {
    pub(super) provider: String,
}

impl Reply {
    /// The id of the request that the message belongs to.
    pub(super) const fn id(&self) -> Option<u64> {
        match self {
            Self::Ready { .. } => None,
            Self::Text { id, .. }
            | Self::Thinking { id, .. }
            | Self::Call { id, .. }
            | Self::Done { id, .. }
            | Self::Failed { id, .. }
            | Self::Status { id, .. } => Some(*id),
        }
    }

    pub(super) const fn is_last(&self) -> bool {
        match self {
            Self::Done { .. } | Self::Failed { .. } | Self::Status { .. } => true,
            Self::Ready { .. } | Self::Text { .. } | Self::Thinking { .. } | Self::Call { .. } => {
                false
            }
        }
    }
}

pub(super) fn ask(id: u64, model: &str, request: &ModelRequest) -> Value {
    let system: Vec<&str> = request.system.iter().map(|block| block.text.as_str()).collect();
    let offered = request.tool_use.choice != ToolChoice::None;
    let tools = request.tools.iter().filter(|_| offered).map(|offer| {
        json!({"name": portable(&offer.name), "description": offer.description,
               "parameters": &*offer.input_schema})
    });
    let mut order = json!({
        "type": "ask", "id": id, "model": model, "system": system.join("\n\n"),
        "messages": request.messages.iter().flat_map(messages).collect::<Vec<_>>(),
        "tools": tools.collect::<Vec<_>>(),
    });
    if request.max_output_tokens > 0 {
        order["max_tokens"] = request.max_output_tokens.into();
    }
    if let Some(temperature) = request.temperature {
        order["temperature"] = temperature.into();
    }
    if let Some(session) = &request.cache_key {
        order["session"] = session.as_str().into();
    }
    order
}

pub(super) fn cancel(id: u64) -> Value {
    json!({"type": "cancel", "id": id})
}

pub(super) fn status(id: u64) -> Value {
    json!({"type": "status", "id": id})
}

/// A message of ours may hold results and words of the person; Pi has a message for each of the
/// two.
fn messages(message: &Message) -> Vec<Value> {
    if message.role == Role::Assistant {
        return vec![assistant(message)];
    }
    let results: Vec<Value> = message.content.iter().filter_map(result).collect();
    let content: Vec<Value> = message.content.iter().filter_map(content).collect();
    let results = (!results.is_empty()).then(|| json!({"role": "tool", "results": results}));
    let content = (!content.is_empty()).then(|| json!({"role": "user", "content": content}));
    results.into_iter().chain(content).collect()
}

fn assistant(message: &Message) -> Value {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for block in &message.content {
        match block {
            Block::Text { text: words } => text.push_str(words),
            Block::ToolUse { id, name, input, .. } => {
                calls.push(json!({"id": id, "name": portable(name), "arguments": input}));
            }
            Block::Image { .. }
            | Block::Attachment(_)
            | Block::Reasoning { .. }
            | Block::ToolResult { .. } => {}
        }
    }
    json!({"role": "assistant", "text": text, "calls": calls})
}

fn result(block: &Block) -> Option<Value> {
    let Block::ToolResult { id, content, is_error } = block else { return None };
    let field = if *is_error { "error" } else { "content" };
    Some(json!({"id": id, "ok": !is_error, field: content}))
}

fn content(block: &Block) -> Option<Value> {
    match block {
        Block::Text { text } => Some(json!({"type": "text", "text": text})),
        Block::Image { media_type, data } => {
            Some(json!({"type": "image", "media_type": media_type, "data": data}))
        }
        // Attachments were refused before the request was sent.
        Block::Attachment(_) => None,
        Block::Reasoning { .. } | Block::ToolUse { .. } | Block::ToolResult { .. } => None,
    }
}
