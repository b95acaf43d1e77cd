use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, Capability, Origin, PersonId, Plan, Target, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Menos;
use super::service::Hit;
use crate::builtin::{reading, spec_of, text_argument};
use crate::text::one_line;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

const USUAL_HITS: usize = 5;

pub(in crate::builtin) struct Search {
    spec: ToolSpec,
    menos: Menos,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::builtin) struct Arguments {
    query: String,
    /// Only texts with all of these tags
    #[serde(default)]
    tags: Vec<String>,
    /// How many results; default 5
    #[schemars(range(min = 1, max = 20))]
    limit: Option<usize>,
}

impl Search {
    pub(in crate::builtin) fn new(menos: Menos) -> Self {
        let description = "Search the person's content vault menos: transcripts, articles, notes.";
        let spec = spec_of::<Arguments>("menos_search", "menos", ToolEffect::Read, description);
        let (timeout, needs) = (Duration::from_secs(75), vec![Capability::Menos]);
        Self { spec: ToolSpec { timeout, needs, ..spec }, menos }
    }
}

#[async_trait]
impl TypedTool for Search {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        self.menos.check(person)
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("search menos for", "searching menos for", "searched menos for");
        verb.of(text_argument(arguments, "query"))
    }

    async fn plan(&self, arguments: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        if arguments.query.trim().is_empty() {
            return Err(ToolError::Arguments("\"query\" is empty".into()));
        }
        let base = self.menos.base()?;
        let target = Target::Address(onyx_types::Address::new(base.to_string()));
        Ok(reading(&self.spec, target))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let limit = arguments.limit.unwrap_or(USUAL_HITS);
        let hits = self
            .menos
            .service(cx.clock.wall())?
            .search(&arguments.query, &arguments.tags, limit)
            .await;
        let mut hits = match hits {
            Ok(hits) => hits,
            // The error may repeat text of the server, so it counts as from outside.
            Err(error) => {
                return Ok(ToolOutcome::error(error.to_string()).from_origin(Origin::External));
            }
        };
        hits.truncate(limit);
        let entries: Vec<String> = hits.iter().map(entry).collect();
        let output =
            if entries.is_empty() { "[nothing found]".to_owned() } else { entries.join("\n\n") };
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(Origin::External))
    }
}

fn entry(hit: &Hit) -> String {
    let title = one_line(hit.title.as_deref().unwrap_or("Untitled"));
    let head = format!("{title} ({}, {})", one_line(&hit.content_type), one_line(&hit.id));
    match hit.snippet.as_deref().map(str::trim).filter(|snippet| !snippet.is_empty()) {
        Some(snippet) => format!("{head}\n{snippet}"),
        None => head,
    }
}
