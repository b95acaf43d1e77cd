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

/// Searches everything that the conversation may see, except conversations.
pub(super) struct SearchKnowledge {
    spec: ToolSpec,
    index: Index,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    query: String,
    /// Only these: note, page, task, ref, project, source, memory, daily, shared
    types: Option<Vec<String>>,
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

impl SearchKnowledge {
    pub(super) fn new(index: Index) -> Self {
        let description = "Search this person's notes and documents; cites path and lines.";
        Self { spec: search_tool::<Arguments>("search", "knowledge", description), index }
    }
}

#[async_trait]
impl TypedTool for SearchKnowledge {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("search for", "searching for", "searched for");
        verb.of(text_argument(arguments, "query"))
    }

    async fn plan(&self, wanted: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        kinds(wanted)?;
        Ok(looking(&self.spec))
    }

    async fn invoke(
        &self,
        wanted: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let question = IndexQuery {
            kinds: kinds(&wanted)?,
            text: wanted.query,
            scopes: cx.scopes.clone(),
            limit: wanted.limit,
        };
        ask(&self.index, question, plan.summary).await
    }
}

fn kinds(wanted: &Arguments) -> Result<Vec<SourceKind>, ToolError> {
    let searched = || SourceKind::ALL.into_iter().filter(|kind| *kind != SourceKind::Session);
    let named = wanted.types.iter().flatten().map(|name| {
        let found = searched().find(|kind| kind.as_str() == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = searched().map(SourceKind::as_str).collect();
            ToolError::Arguments(format!("\"types\": {name:?} is not one of {}", known.join(", ")))
        })
    });
    let named: Vec<SourceKind> = named.collect::<Result<_, _>>()?;
    Ok(if named.is_empty() { searched().collect() } else { named })
}
