use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, Capability, Origin, PersonId, Plan, Preview, Taint, Target, ToolEffect, ToolOutcome,
    ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{acting, reading, spec_of, text_argument};
use crate::text::one_line;
use crate::web::searxng::{self, Hit};
use crate::web::{Web, search_words};
use crate::{Authorised, ToolCx, ToolError, TypedTool};

const USUAL_HITS: usize = 8;

const NO_ENGINE: &str = "no search engine is configured; the owner sets tools.web.search.baseUrl";

pub(super) struct WebSearch {
    spec: ToolSpec,
    web: Web,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    query: String,
    /// How many results; default 8
    #[schemars(range(min = 1, max = 20))]
    count: Option<usize>,
}

impl WebSearch {
    pub(super) fn new(web: Web) -> Self {
        let description = "Search the web: titles, addresses, short texts.";
        let spec = spec_of::<Arguments>("web_search", "web", ToolEffect::Read, description);
        let (timeout, needs) = (Duration::from_secs(40), vec![Capability::SearchEngine]);
        Self { spec: ToolSpec { timeout, needs, ..spec }, web }
    }
}

#[async_trait]
impl TypedTool for WebSearch {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, _: &PersonId) -> Result<(), String> {
        if self.web.has_engine() { Ok(()) } else { Err(NO_ENGINE.to_owned()) }
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("search the web for", "searching the web for", "searched the web for");
        verb.of(text_argument(arguments, "query"))
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let words = search_words::neutral(&arguments.query);
        if words.is_empty() {
            return Err(ToolError::Arguments("\"query\" is empty".into()));
        }
        // The words are sent to the engine and to others that it asks. A run that has read foreign
        // text could hide a message in them, so such a search counts as sending.
        if cx.taint == Taint::Tainted && search_words::could_carry(&words) {
            let preview = Preview::Text { text: format!("Search the web for: {words}") };
            return Ok(acting(&self.spec, ToolEffect::Reach, Target::WebSearch, preview));
        }
        Ok(reading(&self.spec, Target::WebSearch))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { query, count } = arguments;
        let Some((engine, egress)) = self.web.engine() else {
            return Err(ToolError::Failed(NO_ENGINE.into()));
        };
        let words = search_words::neutral(&query);
        let mut hits = searxng::search(&engine, &egress, &words).await?;
        hits.truncate(count.unwrap_or(USUAL_HITS));
        cx.addresses.search_found(hits.iter().map(|hit| hit.url.as_str()));
        let entries: Vec<String> = hits.iter().map(entry).collect();
        let output =
            if entries.is_empty() { "[nothing found]".to_owned() } else { entries.join("\n\n") };
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(Origin::External))
    }
}

fn entry(hit: &Hit) -> String {
    let content = hit.content.as_deref().unwrap_or_default();
    let lines = [one_line(&hit.title), hit.url.clone(), content.trim().to_owned()];
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
