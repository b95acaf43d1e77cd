//! The JSON-RPC messages of the server side.

use serde_json::{Value, json};

pub(super) const PARSE_ERROR: i64 = -32_700;
pub(super) const INVALID_REQUEST: i64 = -32_600;
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;
pub(super) const INVALID_PARAMS: i64 = -32_602;
pub(super) const INTERNAL_ERROR: i64 = -32_603;
pub(super) const HEADER_MISMATCH: i64 = -32_020;
pub(super) const MISSING_CAPABILITY: i64 = -32_021;
pub(super) const UNSUPPORTED_VERSION: i64 = -32_022;
/// Error codes of the eras with a handshake.
pub(super) const RESOURCE_NOT_FOUND: i64 = -32_002;
pub(super) const SESSION_NOT_FOUND: i64 = -32_001;

/// An error of JSON-RPC.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub(super) code: i64,
    message: String,
    data: Value,
}

impl Refusal {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null }
    }

    pub(super) fn with(self, data: Value) -> Self {
        Self { data, ..self }
    }

    /// The parameters are invalid.
    pub fn params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    pub fn no_method(method: &str) -> Self {
        let shown: String = method.chars().take(100).collect();
        Self::new(METHOD_NOT_FOUND, format!("there is no method {shown:?} here"))
    }

    /// The refusal of a request that needs a capability which the client did not declare.
    pub fn needs_capability(capability: &str) -> Self {
        let message = format!("this needs a client with the capability {capability:?}");
        let data = json!({"requiredCapabilities": {capability: {}}});
        Self::new(MISSING_CAPABILITY, message).with(data)
    }

    /// Reads an error object.
    pub(super) fn of(error: &Value) -> Self {
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        let code = error["code"].as_i64().unwrap_or(INVALID_REQUEST);
        Self { code, message, data: error["data"].clone() }
    }

    pub(super) fn message_of(&self, id: &Value) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if !self.data.is_null() {
            error["data"] = self.data.clone();
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

pub(super) fn result(id: &Value, result: Value) -> Value {
    object([("jsonrpc", "2.0".into()), ("id", id.clone()), ("result", result)])
}

pub(super) fn notification(method: &str, params: Value) -> Value {
    object([("jsonrpc", "2.0".into()), ("method", method.into()), ("params", params)])
}

/// Makes an object without copying its values: results may be long, and `json!` would copy them.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect())
}
