use std::fmt::Write as _;

use async_trait::async_trait;
use onyx_knowledge::{EntityPage, Fact, Index};
use onyx_storage::StoreError;
use onyx_types::{CallLabel, Origin, Plan, Timestamp, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::searching::{looking, search_tool};
use super::text_argument;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

/// Shows the facts about an entity over time.
pub(super) struct MemoryGraph {
    spec: ToolSpec,
    index: Index,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Or part
    name: String,
}

const MOST_LISTED: usize = 30;
/// The most facts of one entity. Older ones are found by searching.
const MOST_FACTS: usize = 60;

impl MemoryGraph {
    pub(super) fn new(index: Index) -> Self {
        let description = "What is known of a person, place or thing over time.";
        Self { spec: search_tool::<Arguments>("memory_graph", "memory", description), index }
    }
}

#[async_trait]
impl TypedTool for MemoryGraph {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let [plain, doing, did] =
            ["look up", "looking up", "looked up"].map(|verb| format!("{verb} what is known of"));
        Verb::new(&plain, &doing, &did).of(text_argument(arguments, "name"))
    }

    async fn plan(&self, arguments: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        if arguments.name.trim().is_empty() {
            return Err(ToolError::Arguments("\"name\" is empty".into()));
        }
        Ok(looking(&self.spec))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { name } = arguments;
        let page = self.index.graph_entity(&cx.scopes, &name).await.map_err(StoreError::from)?;
        let Some(page) = page else {
            let known = self.index.graph_entities(&cx.scopes, &name, MOST_LISTED).await;
            let known = known.map_err(StoreError::from)?;
            let names: Vec<&str> = known.iter().map(|entity| entity.name.name.as_str()).collect();
            let message = if names.is_empty() {
                "[nothing is known by that name]".to_owned()
            } else {
                format!("[no such name; known: {}]", names.join(", "))
            };
            // The names may come from any text, so a list of them counts as from outside.
            let origin = if names.is_empty() { Origin::Person } else { Origin::External };
            return Ok(ToolOutcome::ok(message, plan.summary).from_origin(origin));
        };
        let shown = &page.facts[..page.facts.len().min(MOST_FACTS)];
        let statements = shown.iter().flat_map(|fact| &fact.said_by);
        let origin = statements.map(|statement| statement.origin).max().unwrap_or(Origin::Person);
        Ok(ToolOutcome::ok(entity_text(&page, shown), plan.summary).from_origin(origin))
    }
}

fn entity_text(page: &EntityPage, facts: &[Fact]) -> String {
    let mut text = page.name.clone();
    if !page.also.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, " (also {})", page.also.join(", "));
    }
    text.push('\n');
    for fact in facts {
        let span = match fact.until {
            Some(until) => format!("{} to {}", day(fact.from), day(until)),
            None => format!("since {}", day(fact.from)),
        };
        let doubt = if fact.is_trusted { "" } else { " [from outside, not confirmed]" };
        let (subject, object) = (&fact.subject.name, &fact.object.name);
        let _ = writeln!(text, "- {subject} {} {object} ({span}){doubt}", fact.relation);
        if let Some(said) = fact.said_by.last() {
            let _ = writeln!(text, "  {}:{} {}", said.source.path, said.row.line, said.row.said);
        }
    }
    if page.facts.len() > facts.len() {
        let _ = writeln!(text, "[{} more]", page.facts.len() - facts.len());
    }
    if page.partial {
        text.push_str("[not every text was looked through yet]\n");
    }
    text
}

fn day(at: Timestamp) -> String {
    at.utc_date()
}
