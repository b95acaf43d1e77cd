//! The JSON-RPC messages of MCP, in both eras.

use serde_json::{Map, Value, json};

use crate::McpError;

/// The version that Onyx requests in a handshake. `OLDER` lists the others that it supports.
pub(crate) const HANDSHAKE: &str = "2025-11-25";
pub(crate) const OLDER: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];
/// The version of the era without a handshake.
pub(crate) const STATELESS: &str = "2026-07-28";

/// The longest message of a server.
pub(crate) const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The longest error text of a server.
const LONGEST_ERROR: usize = 500;

pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
pub(crate) const UNSUPPORTED_VERSION: i64 = -32_022;

/// The protocol era of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// The version is not negotiated yet.
    Opening,
    Handshake {
        version: String,
    },
    Stateless,
}

impl Era {
    /// The version for the header of every HTTP request.
    pub(crate) fn version(&self) -> Option<&str> {
        match self {
            Self::Opening => None,
            Self::Handshake { version } => Some(version),
            Self::Stateless => Some(STATELESS),
        }
    }

    /// The parameters of a request of this era.
    pub(crate) fn params(&self, params: Value, elicitations: Elicitations) -> Value {
        match self {
            Self::Stateless => with_meta(params, elicitations),
            Self::Opening | Self::Handshake { .. } => params,
        }
    }
}

/// How the client replies to a server that asks a person something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elicitations {
    /// Declines, because a server's question could look like one of ours.
    #[default]
    Decline,
    /// Accepts with the values that the question itself suggests. Tests of the protocol use this.
    AcceptDefaults,
}

impl Elicitations {
    pub(crate) fn capabilities(self) -> Value {
        match self {
            Self::Decline => json!({}),
            Self::AcceptDefaults => json!({"elicitation": {}}),
        }
    }

    pub(crate) fn answer(self, params: &Value) -> Value {
        if self == Self::Decline {
            return json!({"action": "decline"});
        }
        let fields = params["requestedSchema"]["properties"].as_object();
        let defaults = fields.into_iter().flatten().filter_map(|(name, field)| {
            field.get("default").map(|value| (name.clone(), value.clone()))
        });
        json!({"action": "accept", "content": defaults.collect::<Map<String, Value>>()})
    }
}

pub(crate) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Adds the client's description to a request without a handshake.
fn with_meta(params: Value, elicitations: Elicitations) -> Value {
    let mut params = match params {
        Value::Object(params) => params,
        _ => Map::new(),
    };
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": elicitations.capabilities(),
        "io.modelcontextprotocol/clientInfo": client_info(),
    });
    params.insert("_meta".to_owned(), meta);
    Value::Object(params)
}

pub(crate) fn client_info() -> Value {
    json!({"name": "onyx", "version": env!("CARGO_PKG_VERSION")})
}

pub(crate) fn notification(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

/// A message of a server.
#[derive(Debug)]
pub(crate) enum Incoming {
    Response { id: u64, result: Result<Value, McpError> },
    Request { id: Value, method: String, params: Value },
    Notification { method: String },
}

/// Reads a message; `None` for anything that is not a message of the protocol and is ignored.
pub(crate) fn incoming(mut message: Value) -> Option<Incoming> {
    let fields = message.as_object_mut()?;
    let id = fields.remove("id").filter(|id| !id.is_null());
    let method = fields.get("method").and_then(Value::as_str).map(str::to_owned);
    match (id, method) {
        (Some(id), Some(method)) => {
            let params = fields.remove("params").unwrap_or_default();
            Some(Incoming::Request { id, method, params })
        }
        (None, Some(method)) => Some(Incoming::Notification { method }),
        (Some(id), None) => {
            let result = match (fields.remove("result"), fields.remove("error")) {
                (Some(result), None) => Ok(result),
                (_, Some(error)) => Err(answered(&error)),
                (None, None) => Err(McpError::NotUnderstood("neither result nor error".into())),
            };
            Some(Incoming::Response { id: id.as_u64()?, result })
        }
        (None, None) => None,
    }
}

fn answered(error: &Value) -> McpError {
    let message = error["message"].as_str().unwrap_or("an error without words");
    let end = message.floor_char_boundary(LONGEST_ERROR);
    McpError::Answered {
        code: error["code"].as_i64().unwrap_or_default(),
        message: onyx_types::visible_line(&message[..end]).to_string(),
    }
}

/// The reply to a server's request. Onyx offers nothing to servers: no model, no folder, and no
/// questions to a person, because a server's question could look like one of ours.
pub(crate) fn reply(elicitations: Elicitations, id: &Value, method: &str, params: &Value) -> Value {
    match method {
        "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        "roots/list" => json!({"jsonrpc": "2.0", "id": id, "result": {"roots": []}}),
        "elicitation/create" => {
            json!({"jsonrpc": "2.0", "id": id, "result": elicitations.answer(params)})
        }
        _ => {
            let error = json!({"code": METHOD_NOT_FOUND, "message": "not offered"});
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    }
}
