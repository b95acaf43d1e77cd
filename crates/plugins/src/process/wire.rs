//! The part of JSON-RPC 2.0 that plugins use.

use serde_json::{Value, json};

use crate::PluginError;

const METHOD_NOT_FOUND: i64 = -32_601;
/// The longest error text of a plugin.
const LONGEST_ERROR: usize = 500;

/// A message of a plugin.
#[derive(Debug)]
pub(super) enum Incoming {
    Response { id: u64, result: Result<Value, PluginError> },
    Request { id: Value, method: String, params: Value },
    Notification,
}

/// Reads a message; `None` for text that is not valid JSON-RPC and is ignored.
pub(super) fn incoming(mut message: Value) -> Option<Incoming> {
    let fields = message.as_object_mut()?;
    let id = fields.remove("id").filter(|id| !id.is_null());
    let method = fields.get("method").and_then(Value::as_str).map(str::to_owned);
    match (id, method) {
        (Some(id), Some(method)) => {
            let params = fields.remove("params").unwrap_or_default();
            Some(Incoming::Request { id, method, params })
        }
        (None, Some(_)) => Some(Incoming::Notification),
        (Some(id), None) => {
            let result = match fields.remove("error") {
                Some(error) => Err(answered(&error)),
                None => Ok(fields.remove("result").unwrap_or_default()),
            };
            Some(Incoming::Response { id: id.as_u64()?, result })
        }
        (None, None) => None,
    }
}

fn answered(error: &Value) -> PluginError {
    let message = error["message"].as_str().unwrap_or("an error without words");
    let end = message.floor_char_boundary(LONGEST_ERROR);
    PluginError::Answered {
        code: error["code"].as_i64().unwrap_or_default(),
        message: onyx_types::visible_line(&message[..end]).to_string(),
    }
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

pub(super) fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

pub(super) fn not_offered(id: &Value, method: &str) -> Value {
    let message = format!("{method} is not offered");
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": METHOD_NOT_FOUND, "message": message}})
}
