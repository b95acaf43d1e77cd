use async_trait::async_trait;
use onyx_knowledge::Index;
use onyx_storage::SourceKind;
use onyx_types::{CallLabel, Plan, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::searching::{Question, ask, looking, search_tool};
use super::text_argument;
use crate::schema::arguments;
use crate::{Authorised, Tool, ToolCx, ToolError};

pub(super) struct SessionSearch {
    spec: ToolSpec,
    index: Index,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
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
impl Tool for SessionSearch {
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

    async fn plan(&self, input: Value, _: &ToolCx) -> Result<Plan, ToolError> {
        let summary = self.summary(&input);
        Ok(looking(&self.spec, input, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { query, limit } = arguments(&plan.arguments)?;
        let question = Question {
            text: query,
            scopes: cx.scopes.clone(),
            kinds: vec![SourceKind::Session],
            limit,
        };
        ask(&self.index, question, plan.summary).await
    }
}
