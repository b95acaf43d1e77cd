use async_trait::async_trait;
use onyx_knowledge::Index;
use onyx_storage::SourceKind;
use onyx_types::{AgentId, CallLabel, Plan, Scope, ScopeSet, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::searching::{IndexQuery, ask, looking, search_tool};
use super::text_argument;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

pub(super) struct MemorySearch {
    spec: ToolSpec,
    index: Index,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    query: String,
    /// Another agent's memory
    agent: Option<String>,
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

impl MemorySearch {
    pub(super) fn new(index: Index) -> Self {
        let description = "Search your memory of this person; cites path and lines.";
        Self { spec: search_tool::<Arguments>("memory_search", "memory", description), index }
    }
}

#[async_trait]
impl TypedTool for MemorySearch {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("search memory for", "searching memory for", "searched memory for");
        verb.of(text_argument(arguments, "query"))
    }

    async fn plan(&self, wanted: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        agent_searched(wanted, cx)?;
        Ok(looking(&self.spec))
    }

    async fn invoke(
        &self,
        wanted: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let agent = agent_searched(&wanted, cx)?;
        let question = IndexQuery {
            text: wanted.query,
            scopes: ScopeSet::new(cx.key.person.clone(), vec![Scope::Agent(agent)]),
            kinds: vec![SourceKind::Memory, SourceKind::Daily],
            limit: wanted.limit,
        };
        ask(&self.index, question, plan.summary).await
    }
}

/// The agent whose memory is searched: the calling one, or one that its config allows.
fn agent_searched(wanted: &Arguments, cx: &ToolCx) -> Result<AgentId, ToolError> {
    let Some(name) = wanted.agent.as_deref().filter(|name| !name.is_empty()) else {
        return Ok(cx.agent.clone());
    };
    let known = cx.memories.iter().chain([&cx.agent]).find(|agent| agent.as_str() == name);
    known.cloned().ok_or_else(|| {
        ToolError::Refused(format!("the memory of {name:?} is not among those you may read"))
    })
}
