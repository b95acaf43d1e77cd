//! Answers in other makers' formats. The makers' own documents have every detail; these schemas
//! hold what Onyx promises.

use schemars::generate::SchemaGenerator;
use schemars::{Schema, json_schema};
use serde_json::{Value, json};

use crate::problem::openai_error_schema;

/// An object whose fields the maker's own documents describe.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[schemars(rename = "MakersObject")]
pub(crate) struct AnyObject {
    #[serde(flatten)]
    fields: serde_json::Map<String, Value>,
}

pub(super) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

pub(super) fn chat_completion(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["id", "object", "created", "model", "choices", "usage"],
        "properties": {
            "id": {"type": "string"},
            "object": {"const": "chat.completion"},
            "created": {"type": "integer"},
            "model": {"type": "string"},
            "x-onyx-session-id": {"type": "string", "format": "uuid"},
            "choices": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["index", "message", "finish_reason"]}},
            "usage": {"type": "object"},
        },
    })
}

pub(super) fn chat_chunk(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "Frames of `data: <chunk>`; the last is `data: [DONE]`. A failure is a frame `{error}`.",
        "oneOf": [
            {
                "title": "chunk",
                "type": "object",
                "required": ["id", "object", "created", "model", "choices"],
                "properties": {
                    "object": {"const": "chat.completion.chunk"},
                    "choices": {"type": "array", "items": {"type": "object", "required": ["index", "delta"]}},
                },
            },
            openai_error_schema(),
        ],
    })
}

pub(super) fn response(_: &mut SchemaGenerator) -> Schema {
    Schema::try_from(response_object()).unwrap_or_default()
}

fn response_object() -> Value {
    json!({
        "type": "object",
        "required": ["id", "object", "created_at", "status", "model", "output"],
        "properties": {
            "object": {"const": "response"},
            "status": {"enum": ["in_progress", "completed", "incomplete", "failed"]},
            "output": {"type": "array", "items": {"type": "object", "required": ["type", "id"]}},
        },
    })
}

pub(super) fn response_event(_: &mut SchemaGenerator) -> Schema {
    let whole = [
        "response.created",
        "response.in_progress",
        "response.completed",
        "response.incomplete",
        "response.failed",
    ];
    let item = ["response.output_item.added", "response.output_item.done"];
    let part = ["response.content_part.added", "response.content_part.done"];
    let text = ["response.output_text.delta", "response.output_text.done"];
    let call = ["response.function_call_arguments.delta", "response.function_call_arguments.done"];
    let whole = whole.map(|kind| event(kind, "response", response_object()));
    let item = item.map(|kind| event(kind, "item", json!({"type": "object"})));
    let part = part.map(|kind| event(kind, "part", json!({"type": "object"})));
    let text = text.map(|kind| event(kind, "item_id", json!({"type": "string"})));
    let call = call.map(|kind| event(kind, "item_id", json!({"type": "string"})));
    let events: Vec<Value> =
        whole.into_iter().chain(item).chain(part).chain(text).chain(call).collect();
    json_schema!({"oneOf": events, "discriminator": {"propertyName": "type"}})
}

pub(super) fn message(_: &mut SchemaGenerator) -> Schema {
    Schema::try_from(message_object()).unwrap_or_default()
}

fn message_object() -> Value {
    json!({
        "type": "object",
        "required": ["id", "type", "role", "model", "content", "usage"],
        "properties": {
            "type": {"const": "message"},
            "role": {"const": "assistant"},
            "content": {"type": "array", "items": {"type": "object", "required": ["type"]}},
        },
    })
}

pub(super) fn message_event(_: &mut SchemaGenerator) -> Schema {
    let object = || json!({"type": "object"});
    let events = [
        event("message_start", "message", message_object()),
        event("content_block_start", "content_block", object()),
        event("content_block_delta", "delta", object()),
        event("content_block_stop", "index", json!({"type": "integer"})),
        event("message_delta", "delta", object()),
        event("message_stop", "type", json!({"const": "message_stop"})),
        event("error", "error", object()),
    ];
    json_schema!({"oneOf": events, "discriminator": {"propertyName": "type"}})
}

/// One kind of event, identified by its `type`, with one field that it always has.
pub(in crate::routes) fn event(kind: &str, field: &str, schema: Value) -> Value {
    let mut properties = json!({"type": {"const": kind}});
    if field != "type" {
        properties[field] = schema;
    }
    json!({"title": kind, "type": "object", "required": ["type", field], "properties": properties})
}
