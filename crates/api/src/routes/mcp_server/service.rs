//! An agent as one caller may use it.

use std::sync::Arc;

use async_trait::async_trait;
use onyx_agent::AgentProfile;
use onyx_mcp::serving::{Exchange, Offer, Refusal, Service, Stop};
use onyx_types::{AgentId, ErrorCode, Fault, ToolCall, ToolOffer, ToolUseId};
use serde_json::{Map, Value, json};

use super::{approval, prompts, resources};
use crate::access::may;
use crate::{Access, ApiState, AuthContext, Problem};

pub(super) struct AgentService {
    pub(super) state: ApiState,
    pub(super) caller: AuthContext,
    agent: Arc<AgentProfile>,
}

impl AgentService {
    pub(super) fn new(
        state: ApiState,
        caller: AuthContext,
        agent: Option<&AgentId>,
    ) -> Result<Self, Problem> {
        let agent = state.agent.agent_or_default(agent).ok_or_else(|| {
            Fault::new(ErrorCode::NotFound, "There is no such agent.")
                .with_hint("`onyx agents` lists them.")
        })?;
        Ok(Self { state, caller, agent })
    }

    /// Whether the caller may read their data: a token may allow tools only.
    fn reads(&self) -> bool {
        may(&self.caller, Access::Read).is_ok()
    }

    fn list(&self) -> Value {
        let offering = self.state.agent.tools_for_peer(&self.caller.person, &self.agent);
        let tool = |tool: &ToolOffer| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "inputSchema": object_schema(&tool.input_schema),
            })
        };
        json!({"tools": offering.offers().iter().map(tool).collect::<Vec<_>>()})
    }

    async fn call(&self, params: &Value, exchange: &Exchange) -> Result<Value, Stop> {
        let Some(name) = params["name"].as_str() else {
            return Err(Refusal::params("params.name: missing; name a tool").into());
        };
        let offering = self.state.agent.tools_for_peer(&self.caller.person, &self.agent);
        if offering.get(name).is_none() {
            let shown: String = name.chars().take(100).collect();
            return Err(Refusal::params(format!("there is no tool {shown:?}")).into());
        }
        if let Some(result) = approval::decided(self, exchange).await? {
            return Ok(result);
        }
        let input = match &params["arguments"] {
            Value::Null => Value::Object(Map::new()),
            arguments => arguments.clone(),
        };
        let id = ToolUseId(self.state.agent.fresh_id());
        let call = ToolCall { id, name: name.to_owned(), input };
        let outcome = self.state.agent.call_for_peer(&self.caller.person, &self.agent, &call).await;
        approval::result(self, &outcome, exchange).await
    }
}

#[async_trait]
impl Service for AgentService {
    fn offer(&self) -> Offer {
        let name = &self.agent.name;
        let mut capabilities = Map::new();
        capabilities.insert("tools".to_owned(), json!({}));
        if self.reads() {
            capabilities.insert("resources".to_owned(), json!({}));
            capabilities.insert("prompts".to_owned(), json!({}));
            capabilities.insert("completions".to_owned(), json!({}));
        }
        Offer {
            info: json!({"name": "onyx", "title": "Onyx", "version": env!("CARGO_PKG_VERSION")}),
            instructions: format!(
                "The tools of {name}, an agent in Onyx, and the files, conversations and actions of \
                 its person. What needs a person's approval is asked of them, or becomes a draft: the \
                 answer names it, and nothing has been done then."
            ),
            capabilities,
        }
    }

    async fn answer(
        &self,
        method: &str,
        params: &Value,
        exchange: &Exchange,
    ) -> Result<Value, Stop> {
        match method {
            "tools/list" => Ok(self.list()),
            "tools/call" => self.call(params, exchange).await,
            "resources/list" if self.reads() => resources::list(self, params).await,
            "resources/templates/list" if self.reads() => Ok(resources::templates()),
            "resources/read" if self.reads() => resources::read(self, params).await,
            "prompts/list" if self.reads() => prompts::list(self).await,
            "prompts/get" if self.reads() => prompts::get(self, params).await,
            "completion/complete" if self.reads() => resources::complete(self, params).await,
            _ => Err(Refusal::no_method(method).into()),
        }
    }
}

/// A schema with `type: object`, which clients require even for tools without arguments.
fn object_schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if schema.get("type").is_none() {
        schema["type"] = json!("object");
    }
    schema
}

/// An internal failure, in the protocol's form.
pub(super) fn failed(fault: &Fault) -> Stop {
    Refusal::params(format!("{} {}", fault.message, fault.hint())).into()
}
