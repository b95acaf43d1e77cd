use async_trait::async_trait;
use onyx_knowledge::Index;
use onyx_storage::SourceKind;
use onyx_types::{CallLabel, Plan, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::searching::{IndexQuery, ask, looking, search_tool};
use super::text_argument;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

pub(super) struct SessionSearch {
    spec: ToolSpec,
    index: Index,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    query: String,
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

impl SessionSearch {
    pub(super) fn new(index: Index) -> Self {
        let description = "Search earlier conversations with this person.";
        Self { spec: search_tool::<Arguments>("session_search", "sessions", description), index }
    }
}

#[async_trait]
impl TypedTool for SessionSearch {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new(
            "search conversations for",
            "searching conversations for",
            "searched conversations for",
        );
        verb.of(text_argument(arguments, "query"))
    }

    async fn plan(&self, _: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        Ok(looking(&self.spec))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { query, limit } = arguments;
        let question = IndexQuery {
            text: query,
            scopes: cx.scopes.clone(),
            kinds: vec![SourceKind::Session],
            limit,
        };
        ask(&self.index, question, plan.summary).await
    }
}
