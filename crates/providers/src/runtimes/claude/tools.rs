//! Our tools as the CLI's MCP client asks for them. Nothing is executed here: a call waits until
//! the run delivers its result.

use std::collections::HashMap;

use onyx_types::{ToolOffer, ToolUseId};
use serde_json::{Value, json};

use super::protocol::{SERVER, answer};
use crate::wire::portable;

/// A tool's result, as the run delivers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolAnswer {
    pub(super) content: String,
    pub(super) is_error: bool,
}

/// A call of the model's last message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) id: ToolUseId,
    /// The tool's name as the CLI knows it, without its prefix.
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// A call for which the CLI waits.
#[derive(Debug)]
struct Waiting {
    request_id: String,
    rpc_id: Value,
    /// The id of the call; `None` if the CLI does not say which call it is.
    call: Option<String>,
    name: String,
    arguments: Value,
}

#[derive(Debug)]
pub(super) struct HostTools {
    /// The tools in the form of the answer to `tools/list`.
    listed: Value,
    calls: Vec<Call>,
    results: HashMap<String, ToolAnswer>,
    waiting: Vec<Waiting>,
}

impl HostTools {
    pub(super) fn new(offers: &[ToolOffer]) -> Self {
        let tool = |offer: &ToolOffer| {
            json!({"name": portable(&offer.name), "description": offer.description,
                   "inputSchema": &*offer.input_schema})
        };
        let tools: Vec<Value> = offers.iter().map(tool).collect();
        let listed = json!({"tools": tools});
        Self { listed, calls: Vec::new(), results: HashMap::new(), waiting: Vec::new() }
    }

    /// Notes the calls of the model's message; the CLI requests them one by one, before or after.
    pub(super) fn expect(&mut self, calls: Vec<Call>) {
        self.calls = calls;
        self.results.clear();
    }

    /// Takes the results and returns the answers for the requests that wait for them.
    pub(super) fn set_results(&mut self, results: HashMap<String, ToolAnswer>) -> Vec<Value> {
        self.results = results;
        let waiting = std::mem::take(&mut self.waiting);
        let mut answers = Vec::new();
        for call in waiting {
            match self.result_of(&call) {
                Some(answer) => answers.push(answer),
                None => self.waiting.push(call),
            }
        }
        answers
    }

    /// Drops a call that no one waits for any more.
    pub(super) fn forget(&mut self, request_id: &str) {
        self.waiting.retain(|call| call.request_id != request_id);
    }

    /// The answer to a message of the MCP client, unless it must wait for a result.
    pub(super) fn message(&mut self, request_id: String, message: &Value) -> Option<Value> {
        let rpc_id = message.get("id").cloned().unwrap_or(Value::Null);
        let result = match message.get("method").and_then(Value::as_str) {
            Some("initialize") => {
                let version = message.pointer("/params/protocolVersion");
                json!({"protocolVersion": version.cloned().unwrap_or(json!("2025-06-18")),
                       "capabilities": {"tools": {}},
                       "serverInfo": {"name": SERVER, "version": env!("CARGO_PKG_VERSION")}})
            }
            Some("tools/list") => self.listed.clone(),
            Some("tools/call") => {
                let call = waiting(request_id, rpc_id, message);
                let answer = self.result_of(&call);
                if answer.is_none() {
                    self.waiting.push(call);
                }
                return answer;
            }
            Some("ping") => json!({}),
            Some(notice) if notice.starts_with("notifications/") => json!({}),
            Some(_) | None => {
                let error = json!({"code": -32601, "message": "there is no such method"});
                let reply = json!({"jsonrpc": "2.0", "id": rpc_id, "error": error});
                return Some(answer(&request_id, &json!({"mcp_response": reply})));
            }
        };
        Some(reply(&request_id, &rpc_id, &result))
    }

    /// Each result is given once, so that two equal calls get one each.
    fn result_of(&mut self, waiting: &Waiting) -> Option<Value> {
        let is_it = |call: &&Call| match &waiting.call {
            Some(id) => call.id.0 == *id,
            None => {
                call.name == waiting.name
                    && call.arguments == waiting.arguments
                    && self.results.contains_key(&call.id.0)
            }
        };
        let id = self.calls.iter().find(is_it)?.id.0.clone();
        let ToolAnswer { content, is_error } = self.results.remove(&id)?;
        let result = json!({"content": [{"type": "text", "text": content}], "isError": is_error});
        Some(reply(&waiting.request_id, &waiting.rpc_id, &result))
    }
}

fn waiting(request_id: String, rpc_id: Value, message: &Value) -> Waiting {
    let text = |path: &str| message.pointer(path).and_then(Value::as_str).map(str::to_owned);
    Waiting {
        request_id,
        rpc_id,
        call: text("/params/_meta/claudecode~1toolUseId"),
        name: text("/params/name").unwrap_or_default(),
        arguments: message.pointer("/params/arguments").cloned().unwrap_or(json!({})),
    }
}

fn reply(request_id: &str, rpc_id: &Value, result: &Value) -> Value {
    let reply = json!({"jsonrpc": "2.0", "id": rpc_id, "result": result});
    answer(request_id, &json!({"mcp_response": reply}))
}
