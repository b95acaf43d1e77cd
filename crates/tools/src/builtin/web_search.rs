use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{Origin, Plan, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, text_argument, tool};
use crate::schema::arguments;
use crate::text::one_line;
use crate::web::Web;
use crate::web::searxng::{self, Hit};
use crate::{Asked, Authorised, Tool, ToolCx, ToolError};

const USUAL_HITS: usize = 8;

const NO_ENGINE: &str = "no search engine is configured; its owner sets tools.web.search.baseUrl";

pub(super) struct WebSearch {
    spec: ToolSpec,
    web: Web,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    /// How many results; default 8
    #[schemars(range(min = 1, max = 20))]
    count: Option<usize>,
}

impl WebSearch {
    pub(super) fn new(web: Web) -> Self {
        let description = "Search the web: titles, addresses, short texts.";
        let spec = tool::<Arguments>("web_search", "web", ToolEffect::Read, description);
        Self { spec: ToolSpec { timeout: Duration::from_secs(40), ..spec }, web }
    }
}

#[async_trait]
impl Tool for WebSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_ready(&self, _: &Asked<'_>) -> bool {
        self.web.has_engine()
    }

    fn lacks(&self) -> String {
        NO_ENGINE.to_owned()
    }

    fn summary(&self, arguments: &Value) -> String {
        format!("Search the web for {}", text_argument(arguments, "query"))
    }

    async fn plan(&self, input: Value, _: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { query, .. } = arguments(&input)?;
        if query.trim().is_empty() {
            return Err(ToolError::Arguments("\"query\" is empty".into()));
        }
        let target = Target { name: "web search".to_owned(), base: None, instruction: false };
        let summary = self.summary(&input);
        Ok(reading(&self.spec, input, target, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { query, count } = arguments(&plan.arguments)?;
        let Some((engine, egress)) = self.web.engine() else {
            return Err(ToolError::Failed(NO_ENGINE.into()));
        };
        let mut hits = searxng::search(&engine, &egress, &query).await?;
        hits.truncate(count.unwrap_or(USUAL_HITS));
        cx.addresses.search_found(hits.iter().map(|hit| hit.url.as_str()));
        let output = match hits.is_empty() {
            true => "[nothing found]".to_owned(),
            false => hits.iter().map(entry).collect::<Vec<_>>().join("\n\n"),
        };
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(Origin::External))
    }
}

fn entry(hit: &Hit) -> String {
    let content = hit.content.as_deref().unwrap_or_default();
    let lines = [one_line(&hit.title), hit.url.clone(), content.trim().to_owned()];
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
