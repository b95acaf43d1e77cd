//! A server that we speak with: what was agreed on, its tools, its answers.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::McpError;
use crate::transport::{Outgoing, Transport};
use crate::wire::{
    Era, HANDSHAKE, METHOD_NOT_FOUND, OLDER, STATELESS, UNSUPPORTED_VERSION, client_info,
};

const CONNECT_LIMIT: Duration = Duration::from_secs(20);
const MOST_PAGES: usize = 50;
const MOST_TOOLS: usize = 2_000;

pub(crate) struct Peer {
    transport: Transport,
    era: Era,
}

impl Peer {
    /// Agrees on an era: a handshake first, since nearly every server knows it.
    pub(crate) async fn connect(transport: Transport) -> Result<Self, McpError> {
        let params = json!({
            "protocolVersion": HANDSHAKE,
            "capabilities": {},
            "clientInfo": client_info(),
        });
        let opening = Era::Opening;
        let asked = Outgoing {
            era: &opening,
            method: "initialize",
            params,
            name: None,
            limit: CONNECT_LIMIT,
        };
        match transport.request(asked).await {
            Ok(answer) => {
                let version = answer["protocolVersion"].as_str().unwrap_or_default();
                if version != HANDSHAKE && !OLDER.contains(&version) {
                    let shown: String = version.chars().take(40).collect();
                    let why = format!("it speaks {shown:?}, which nobody here does");
                    return Err(McpError::NotUnderstood(why));
                }
                let era = Era::Handshake { version: version.to_owned() };
                transport.notify(&era, "notifications/initialized").await?;
                Ok(Self { transport, era })
            }
            Err(McpError::Answered { code, .. })
                if [METHOD_NOT_FOUND, UNSUPPORTED_VERSION, 400, 404, 405].contains(&code) =>
            {
                Self::discover(transport).await
            }
            Err(error) => Err(error),
        }
    }

    /// Without a handshake.
    async fn discover(transport: Transport) -> Result<Self, McpError> {
        let peer = Self { transport, era: Era::Stateless };
        let found = peer.request("server/discover", json!({}), None, CONNECT_LIMIT).await?;
        let versions = found["supportedVersions"].as_array();
        if versions.is_some_and(|known| known.iter().any(|version| version == STATELESS)) {
            return Ok(peer);
        }
        Err(McpError::NotUnderstood(format!("it does not speak {STATELESS}")))
    }

    pub(crate) fn version(&self) -> &str {
        self.era.version().unwrap_or_default()
    }

    pub(crate) fn broken(&self) -> Option<String> {
        self.transport.broken()
    }

    pub(crate) fn tools_changed(&self) -> bool {
        self.transport.tools_changed()
    }

    /// Everything that `tools/list` says, page by page.
    pub(crate) async fn tools(&self) -> Result<Vec<Value>, McpError> {
        let (mut tools, mut cursors) = (Vec::new(), BTreeSet::new());
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let page = self.request("tools/list", params, None, CONNECT_LIMIT).await?;
            let Some(listed) = page["tools"].as_array() else {
                return Err(McpError::NotUnderstood("tools/list names no tools".to_owned()));
            };
            tools.extend(listed.iter().cloned());
            if tools.len() > MOST_TOOLS {
                return Err(McpError::NotUnderstood(format!("it has over {MOST_TOOLS} tools")));
            }
            match page["nextCursor"].as_str().filter(|cursor| !cursor.is_empty()) {
                Some(cursor) if cursors.insert(cursor.to_owned()) => {
                    params = json!({"cursor": cursor});
                }
                Some(_) => {
                    return Err(McpError::NotUnderstood("its pages go round".to_owned()));
                }
                None => return Ok(tools),
            }
        }
        Err(McpError::NotUnderstood(format!("its tools fill over {MOST_PAGES} pages")))
    }

    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &Value,
        limit: Duration,
    ) -> Result<Value, McpError> {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.request("tools/call", params.clone(), Some(tool), limit).await?;
        if answer["resultType"] != "input_required" {
            return Ok(answer);
        }
        // It asks for input of a person. That is declined, once: a question of a server could pass
        // for one of ours.
        let mut params = params;
        params["inputResponses"] = declined(&answer["inputRequests"]);
        if let Some(state) = answer.get("requestState") {
            params["requestState"] = state.clone();
        }
        let answer = self.request("tools/call", params, Some(tool), limit).await?;
        if answer["resultType"] == "input_required" {
            let why = "it asks for input that nobody gives it".to_owned();
            return Err(McpError::Answered { code: 0, message: why });
        }
        Ok(answer)
    }

    async fn request(
        &self,
        method: &str,
        params: Value,
        name: Option<&str>,
        limit: Duration,
    ) -> Result<Value, McpError> {
        let outgoing = Outgoing { era: &self.era, method, params, name, limit };
        self.transport.request(outgoing).await
    }
}

fn declined(requests: &Value) -> Value {
    let keys = requests.as_object().into_iter().flat_map(|requests| requests.keys());
    keys.map(|key| (key.clone(), json!({"action": "decline"}))).collect()
}
