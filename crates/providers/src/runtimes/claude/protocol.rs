//! The lines that the Claude CLI writes with `--output-format stream-json`, and those that we write.
//! Fields that a version does not have are absent; kinds that we do not know are passed over.

use serde::Deserialize;
use serde_json::{Value, json};

/// The name under which the CLI knows the server of our tools; the CLI calls them
/// `mcp__host__<tool>`.
pub(super) const SERVER: &str = "host";
pub(super) const TOOL_PREFIX: &str = "mcp__host__";

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Line {
    /// An unchanged event of the Messages API.
    StreamEvent {
        event: Value,
        /// Set for messages of a sub-agent of the CLI, which are not the answer.
        parent_tool_use_id: Option<String>,
    },
    /// A whole message. One with `error` was written by the CLI itself to report a failure.
    Assistant {
        error: Option<String>,
    },
    Result(Outcome),
    ControlRequest {
        request_id: String,
        request: Request,
    },
    ControlResponse {
        response: Response,
    },
    ControlCancelRequest {
        request_id: String,
    },
    RateLimitEvent {
        rate_limit_info: RateLimit,
    },
    #[serde(other)]
    Other,
}

/// How a turn of the CLI ended. `subtype` says `success` for failures of the API too: `is_error`
/// decides.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Outcome {
    pub(super) subtype: Option<String>,
    pub(super) is_error: bool,
    pub(super) api_error_status: Option<u16>,
    pub(super) api_error: Option<String>,
    pub(super) terminal_reason: Option<String>,
    pub(super) result: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(super) enum Request {
    McpMessage {
        message: Value,
    },
    CanUseTool {
        tool_name: String,
        input: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response {
    pub(super) subtype: String,
    pub(super) error: Option<String>,
    pub(super) response: Option<Initialized>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Initialized {
    pub(super) account: Option<Account>,
}

/// The account that is signed in, as far as the CLI reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Account {
    pub(super) email: Option<String>,
    pub(super) subscription_type: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RateLimit {
    pub(super) status: String,
    /// Seconds since 1970; some versions write milliseconds.
    pub(super) resets_at: Option<f64>,
    pub(super) rate_limit_type: Option<String>,
    /// The used share, from 0 to 1; some versions write percent.
    pub(super) utilization: Option<f64>,
}

/// The first line we write. The system prompt goes here and not into an argument, which every user
/// of the machine could read.
pub(super) fn initialize(system: &str) -> Value {
    json!({"type": "control_request", "request_id": "initialize", "request": {
        "subtype": "initialize", "hooks": null, "sdkMcpServers": [SERVER],
        "systemPrompt": system,
    }})
}

pub(super) fn user_message(content: &[Value]) -> Value {
    json!({"type": "user", "session_id": "", "parent_tool_use_id": null,
           "message": {"role": "user", "content": content}})
}

pub(super) fn answer(request_id: &str, response: &Value) -> Value {
    json!({"type": "control_response", "response": {
        "subtype": "success", "request_id": request_id, "response": response,
    }})
}

pub(super) fn refusal(request_id: &str, error: &str) -> Value {
    json!({"type": "control_response", "response": {
        "subtype": "error", "request_id": request_id, "error": error,
    }})
}
