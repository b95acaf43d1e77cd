use std::sync::Arc;

use async_trait::async_trait;
use onyx_storage::{Ledger, SessionFilter, SessionMeta};
use onyx_types::{Origin, Plan, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, text_argument, tool};
use crate::schema::arguments;
use crate::text::one_line;
use crate::{Authorised, Tool, ToolCx, ToolError};

const USUAL: u32 = 20;

pub(super) struct SessionsList {
    spec: ToolSpec,
    ledger: Arc<dyn Ledger>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Part of the title or the last words
    text: Option<String>,
    /// How many; default 20
    #[schemars(range(min = 1, max = 100))]
    count: Option<u32>,
}

impl SessionsList {
    pub(super) fn new(ledger: Arc<dyn Ledger>) -> Self {
        let description = "List the person's conversations, newest first.";
        let spec = tool::<Arguments>("sessions_list", "sessions", ToolEffect::Read, description);
        Self { spec, ledger }
    }
}

#[async_trait]
impl Tool for SessionsList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn summary(&self, arguments: &Value) -> String {
        match text_argument(arguments, "text") {
            "" => "List conversations".to_owned(),
            text => format!("List conversations about {text}"),
        }
    }

    async fn plan(&self, input: Value, _: &ToolCx) -> Result<Plan, ToolError> {
        let target = Target { name: "sessions".to_owned(), base: None, instruction: false };
        let summary = self.summary(&input);
        Ok(reading(&self.spec, input, target, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { text, count } = arguments(&plan.arguments)?;
        let limit = count.unwrap_or(USUAL);
        let filter = SessionFilter { text, limit, ..SessionFilter::default() };
        let sessions = self.ledger.sessions(&cx.key.person, &filter).await?;
        let lines: Vec<String> = sessions.iter().map(line).collect();
        let output = if lines.is_empty() { "[none]".to_owned() } else { lines.join("\n") };
        // Titles and previews are made of what was said, and nobody knows after what.
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(Origin::AgentTainted))
    }
}

fn line(session: &SessionMeta) -> String {
    let title = session.title.as_deref().unwrap_or("(no title)");
    let (id, agent, date) = (session.session_id, &session.agent, session.updated_at.utc_date());
    let preview = one_line(&session.preview);
    format!("{id}  {date}  {agent}  {}: {preview}", one_line(title))
}
