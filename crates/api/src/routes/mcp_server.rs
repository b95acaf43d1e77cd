//! `/mcp`: an agent's tools for other programs, over MCP's streamable HTTP. Both eras: with a
//! handshake (2025-11-25 and before) and without (2026-07-28). No session is kept in either: every
//! request is answered by itself. Every call goes through the gate; what needs a person becomes a
//! draft, and the answer says so.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use onyx_agent::AgentProfile;
use onyx_types::{AgentId, CallState, ToolCall, ToolOutcome, ToolUseId};
use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::wire::{Json, RawBody};
use crate::{Access, ApiState, AuthContext, Problem, QueryOf, Route, Routes};

/// The versions that are spoken with a handshake, newest first, and the one without.
const HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const STATELESS: &str = "2026-07-28";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const METHOD_NOT_FOUND: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;
const HEADER_MISMATCH: i64 = -32_020;
const UNSUPPORTED_VERSION: i64 = -32_022;

pub(super) fn routes() -> Routes {
    let rows = [Route::post("/mcp", Access::Chat, serve)
        .summary("An agent's tools for MCP clients: one JSON-RPC message a request")
        .query::<WhichAgent>()
        .body::<JsonRpc>()
        .answers_json_as(any_object)];
    Routes::tagged("mcp", rows)
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"type": "object"})
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WhichAgent {
    /// Whose tools; the default agent's without it.
    agent: Option<AgentId>,
}

/// A message of JSON-RPC 2.0.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used: a wrong message gets an answer of JSON-RPC")]
pub(crate) struct JsonRpc {
    jsonrpc: String,
    id: Option<Value>,
    method: String,
    params: Option<Map<String, Value>>,
}

/// Why a request has no result.
struct Refusal {
    status: StatusCode,
    code: i64,
    message: String,
    data: Value,
}

impl Refusal {
    fn new(code: i64, message: impl Into<String>) -> Self {
        // Of the era before, every answer that could be read at all is a good one for HTTP.
        Self { status: StatusCode::OK, code, message: message.into(), data: Value::Null }
    }

    fn answer(self, id: &Value) -> Response {
        let mut error = json!({"code": self.code, "message": self.message});
        if !self.data.is_null() {
            error["data"] = self.data;
        }
        (self.status, Json(json!({"jsonrpc": "2.0", "id": id, "error": error}))).into_response()
    }
}

/// How the caller speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    Handshake,
    Stateless,
}

async fn serve(
    State(state): State<ApiState>,
    caller: AuthContext,
    QueryOf(which): QueryOf<WhichAgent>,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Response, Problem> {
    let message: Value = match serde_json::from_slice(&body) {
        Ok(message) => message,
        Err(error) => {
            let refusal = Refusal::new(PARSE_ERROR, format!("not JSON: {error}"));
            let refusal = Refusal { status: StatusCode::BAD_REQUEST, ..refusal };
            return Ok(refusal.answer(&Value::Null));
        }
    };
    let id = message.get("id").cloned().unwrap_or(Value::Null);
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        // An answer to something that we never ask.
        if message.get("result").is_some() || message.get("error").is_some() {
            return Ok(StatusCode::ACCEPTED.into_response());
        }
        let refusal = Refusal::new(INVALID_REQUEST, "a message needs a method");
        return Ok(Refusal { status: StatusCode::BAD_REQUEST, ..refusal }.answer(&id));
    };
    if id.is_null() {
        return Ok(StatusCode::ACCEPTED.into_response());
    }
    let empty = Value::Object(Map::new());
    let params = message.get("params").unwrap_or(&empty);
    let agent = state.agent.agent_or_default(which.agent.as_ref());
    let Some(agent) = agent else {
        return Ok(Refusal::new(INVALID_PARAMS, "there is no such agent").answer(&id));
    };
    let request = Request { state: &state, caller: &caller, agent: &agent, params };
    let answered = match era(&headers, method, params) {
        Ok(era) => request.answer(era, method).await,
        Err(refusal) => Err(refusal),
    };
    Ok(match answered {
        Ok(result) => Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response(),
        Err(refusal) => refusal.answer(&id),
    })
}

/// A request without a handshake names its version in its body, and in its headers the same.
fn era(headers: &HeaderMap, method: &str, params: &Value) -> Result<Era, Refusal> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let version = header("mcp-protocol-version");
    let bad = |code, message: String| Refusal {
        status: StatusCode::BAD_REQUEST,
        ..Refusal::new(code, message)
    };
    let Some(named) = params["_meta"][META_VERSION].as_str() else {
        return match version {
            Some(version) if !HANDSHAKE.contains(&version) && version != STATELESS => {
                Err(Refusal { data: supported(), ..bad(UNSUPPORTED_VERSION, unsupported(version)) })
            }
            Some(STATELESS) => {
                let message = format!("_meta must name {META_VERSION}");
                Err(bad(INVALID_PARAMS, message))
            }
            Some(_) | None => Ok(Era::Handshake),
        };
    };
    if named != STATELESS {
        return Err(Refusal { data: supported(), ..bad(UNSUPPORTED_VERSION, unsupported(named)) });
    }
    let name = params["name"].as_str().or_else(|| params["uri"].as_str());
    let fits = |header: Option<&str>, body: Option<&str>| header.is_none() || header == body;
    if !fits(version, Some(named))
        || !fits(header("mcp-method"), Some(method))
        || !fits(header("mcp-name"), name)
    {
        return Err(bad(
            HEADER_MISMATCH,
            "the headers say something else than the body".to_owned(),
        ));
    }
    Ok(Era::Stateless)
}

fn unsupported(version: &str) -> String {
    let shown: String = version.chars().take(40).collect();
    format!("the version {shown:?} is not spoken here")
}

fn supported() -> Value {
    let versions: Vec<&str> = [STATELESS].into_iter().chain(HANDSHAKE).collect();
    json!({"supported": versions})
}

struct Request<'a> {
    state: &'a ApiState,
    caller: &'a AuthContext,
    agent: &'a AgentProfile,
    params: &'a Value,
}

impl Request<'_> {
    async fn answer(&self, era: Era, method: &str) -> Result<Value, Refusal> {
        let mut result = match (method, era) {
            ("initialize", Era::Handshake) => self.initialize(),
            ("ping", Era::Handshake) => json!({}),
            ("server/discover", _) => self.discover(),
            ("tools/list", _) => self.list(),
            ("tools/call", _) => self.call().await?,
            _ => {
                let message = format!("there is no method {method:?} here");
                let refusal = Refusal::new(METHOD_NOT_FOUND, message);
                let status = match era {
                    Era::Handshake => StatusCode::OK,
                    Era::Stateless => StatusCode::NOT_FOUND,
                };
                return Err(Refusal { status, ..refusal });
            }
        };
        if era == Era::Stateless {
            result["resultType"] = json!("complete");
            if method != "tools/call" {
                // Tools come and go with the config, so nobody should remember them for long.
                result["ttlMs"] = json!(0);
                result["cacheScope"] = json!("private");
            }
        }
        Ok(result)
    }

    fn initialize(&self) -> Value {
        let asked = self.params["protocolVersion"].as_str().unwrap_or_default();
        let version = HANDSHAKE.iter().find(|known| **known == asked).unwrap_or(&HANDSHAKE[0]);
        json!({
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": server_info(),
            "instructions": self.instructions(),
        })
    }

    fn discover(&self) -> Value {
        let mut found = json!({
            "supportedVersions": [STATELESS],
            "capabilities": {"tools": {}},
            "instructions": self.instructions(),
        });
        found["_meta"] = json!({"io.modelcontextprotocol/serverInfo": server_info()});
        found
    }

    fn instructions(&self) -> String {
        let name = &self.agent.name;
        format!(
            "The tools of {name}, an agent in Onyx. What needs a person's approval becomes a draft: \
             the answer names it, and nothing has been done then."
        )
    }

    fn list(&self) -> Value {
        let offering = self.state.agent.tools_for_peer(&self.caller.person, self.agent);
        let tool = |tool: &onyx_types::ToolOffer| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "inputSchema": object_schema(&tool.input_schema),
            })
        };
        json!({"tools": offering.offers().iter().map(tool).collect::<Vec<_>>()})
    }

    async fn call(&self) -> Result<Value, Refusal> {
        let Some(name) = self.params["name"].as_str() else {
            return Err(Refusal::new(INVALID_PARAMS, "params.name: which tool?"));
        };
        let offering = self.state.agent.tools_for_peer(&self.caller.person, self.agent);
        if offering.get(name).is_none() {
            let shown: String = name.chars().take(100).collect();
            return Err(Refusal::new(INVALID_PARAMS, format!("there is no tool {shown:?}")));
        }
        let input = match &self.params["arguments"] {
            Value::Null => Value::Object(Map::new()),
            arguments => arguments.clone(),
        };
        let id = ToolUseId(self.state.agent.fresh_id());
        let call = ToolCall { id, name: name.to_owned(), input };
        let outcome = self.state.agent.call_for_peer(&self.caller.person, self.agent, &call).await;
        Ok(result(&outcome))
    }
}

fn server_info() -> Value {
    json!({"name": "onyx", "title": "Onyx", "version": env!("CARGO_PKG_VERSION")})
}

/// Clients want the type said, also where there are no arguments.
fn object_schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if schema.get("type").is_none() {
        schema["type"] = json!("object");
    }
    schema
}

fn result(outcome: &ToolOutcome) -> Value {
    let mut content = vec![json!({"type": "text", "text": outcome.output})];
    if let Some(draft) = &outcome.draft {
        let id = draft.draft;
        let text = format!(
            "Nothing has been done: a person has to approve the draft {id} first, in the Inbox of \
             Onyx or with `onyx drafts approve {id}`."
        );
        content.push(json!({"type": "text", "text": text}));
    }
    let waits = outcome.report.state == CallState::Waiting;
    json!({"content": content, "isError": outcome.is_error && !waits})
}
