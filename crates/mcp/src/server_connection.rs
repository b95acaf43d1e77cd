//! A connected server with the negotiated protocol, its tools and its answers.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::McpError;
use crate::mirrored::mirrored;
use crate::pins::ToolPin;
use crate::transport::{Outgoing, Transport};
use crate::wire::{
    Elicitations, Era, HANDSHAKE, METHOD_NOT_FOUND, OLDER, STATELESS, UNSUPPORTED_VERSION,
    client_info,
};

const CONNECT_LIMIT: Duration = Duration::from_secs(20);
/// How often a server may request input during one call.
const MOST_ROUNDS: usize = 4;
const MOST_PAGES: usize = 50;
const MOST_TOOLS: usize = 2_000;

pub(crate) struct ServerConnection {
    transport: Transport,
    era: Era,
    elicitations: Elicitations,
}

/// The eras that are tried, and their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    Handshake,
    Stateless,
    /// A handshake first, and the stateless era if the server does not know the handshake: a
    /// program may be confused by another method before the handshake.
    HandshakeFirst,
    /// The stateless era first, because over HTTP an unknown method does no harm.
    StatelessFirst,
}

impl ServerConnection {
    pub(crate) async fn connect(
        transport: Transport,
        opening: Opening,
        elicitations: Elicitations,
    ) -> Result<Self, McpError> {
        let mut connection = Self { transport, era: Era::Opening, elicitations };
        match opening {
            Opening::Handshake => connection.greet().await?,
            Opening::Stateless => connection.discover().await?,
            Opening::HandshakeFirst => match connection.greet().await {
                Err(McpError::Answered { code, .. })
                    if (400..500).contains(&code)
                        || [METHOD_NOT_FOUND, UNSUPPORTED_VERSION].contains(&code) =>
                {
                    connection.discover().await?;
                }
                greeted => greeted?,
            },
            Opening::StatelessFirst => match connection.discover().await {
                Err(McpError::Answered { .. } | McpError::NotUnderstood(_)) => {
                    connection.greet().await?
                }
                discovered => discovered?,
            },
        }
        Ok(connection)
    }

    async fn greet(&mut self) -> Result<(), McpError> {
        self.era = Era::Opening;
        let params = json!({
            "protocolVersion": HANDSHAKE,
            "capabilities": self.elicitations.capabilities(),
            "clientInfo": client_info(),
        });
        let answer = self.request("initialize", params, CONNECT_LIMIT).await?;
        let version = answer["protocolVersion"].as_str().unwrap_or_default();
        if version != HANDSHAKE && !OLDER.contains(&version) {
            let shown: String = version.chars().take(40).collect();
            let why = format!("it speaks MCP {shown:?}, which Onyx does not support");
            return Err(McpError::NotUnderstood(why));
        }
        self.era = Era::Handshake { version: version.to_owned() };
        self.transport.notify(&self.era, "notifications/initialized").await?;
        self.transport.listen(&self.era).await;
        Ok(())
    }

    /// Asks the server for its capabilities without a handshake. A server that refuses the version
    /// but names ours is asked again.
    async fn discover(&mut self) -> Result<(), McpError> {
        self.era = Era::Stateless;
        let found = match self.request("server/discover", json!({}), CONNECT_LIMIT).await {
            Err(McpError::Answered { code: UNSUPPORTED_VERSION, .. }) => {
                self.request("server/discover", json!({}), CONNECT_LIMIT).await?
            }
            found => found?,
        };
        let versions = found["supportedVersions"].as_array();
        if versions.is_some_and(|known| known.iter().any(|version| version == STATELESS)) {
            return Ok(());
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

    /// The tools of all pages of `tools/list`.
    pub(crate) async fn tools(&self) -> Result<Vec<Value>, McpError> {
        let (mut tools, mut cursors) = (Vec::new(), BTreeSet::new());
        let mut params = json!({});
        for _ in 0..MOST_PAGES {
            let page = self.request("tools/list", params, CONNECT_LIMIT).await?;
            let Some(listed) = page["tools"].as_array() else {
                return Err(McpError::NotUnderstood(
                    "its answer to tools/list has no tools".to_owned(),
                ));
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
                    return Err(McpError::NotUnderstood(
                        "its list of tools repeats the same page".to_owned(),
                    ));
                }
                None => return Ok(tools),
            }
        }
        Err(McpError::NotUnderstood(format!("its list of tools has over {MOST_PAGES} pages")))
    }

    pub(crate) async fn call(
        &self,
        tool: &ToolPin,
        arguments: &Value,
        limit: Duration,
    ) -> Result<Value, McpError> {
        let plain = json!({"name": tool.name, "arguments": arguments});
        let mut params = plain.clone();
        for _ in 0..MOST_ROUNDS {
            let headers = match self.era {
                Era::Stateless => mirrored(&tool.input_schema, arguments),
                Era::Opening | Era::Handshake { .. } => Vec::new(),
            };
            let outgoing = Outgoing {
                era: &self.era,
                method: "tools/call",
                params: self.era.params(params, self.elicitations),
                name: Some(&tool.name),
                headers,
                limit,
            };
            let answer = self.transport.request(outgoing).await?;
            if answer["resultType"] != "input_required" {
                return Ok(answer);
            }
            // The server requests input first, so it is called again with that input.
            params = plain.clone();
            params["inputResponses"] = self.client_answers(&answer["inputRequests"])?;
            if let Some(state) = answer.get("requestState") {
                params["requestState"] = state.clone();
            }
        }
        let why = "it asks for input too many times".to_owned();
        Err(McpError::Answered { code: 0, message: why })
    }

    /// The answers to the requests for input that a server made during a call.
    fn client_answers(&self, requests: &Value) -> Result<Value, McpError> {
        let mut given = Map::new();
        for (name, asked) in requests.as_object().into_iter().flatten() {
            let answer = match asked["method"].as_str() {
                Some("elicitation/create") => self.elicitations.answer(&asked["params"]),
                Some("roots/list") => json!({"roots": []}),
                _ => {
                    let message = "it asks to call a model, which servers may not do".to_owned();
                    return Err(McpError::Answered { code: 0, message });
                }
            };
            given.insert(name.clone(), answer);
        }
        Ok(Value::Object(given))
    }

    async fn request(
        &self,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, McpError> {
        let params = self.era.params(params, self.elicitations);
        let outgoing =
            Outgoing { era: &self.era, method, params, name: None, headers: Vec::new(), limit };
        self.transport.request(outgoing).await
    }
}
