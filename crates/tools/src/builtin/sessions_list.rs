use std::sync::Arc;

use async_trait::async_trait;
use onyx_storage::{Ledger, SessionFilter, SessionMeta};
use onyx_types::{CallLabel, Origin, Plan, Target, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of, text_argument};
use crate::text::one_line;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

const USUAL: u32 = 20;

pub(super) struct SessionsList {
    spec: ToolSpec,
    ledger: Arc<dyn Ledger>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Part of the title or the last words
    text: Option<String>,
    /// Default 20
    #[schemars(range(min = 1, max = 100))]
    count: Option<u32>,
}

impl SessionsList {
    pub(super) fn new(ledger: Arc<dyn Ledger>) -> Self {
        let description = "List the person's conversations, newest first.";
        let spec = spec_of::<Arguments>("sessions_list", "sessions", ToolEffect::Read, description);
        Self { spec, ledger }
    }
}

#[async_trait]
impl TypedTool for SessionsList {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("list", "listing", "listed");
        match text_argument(arguments, "text") {
            "" => verb.of("conversations"),
            text => verb.of(format!("conversations about {text}")),
        }
    }

    async fn plan(&self, _: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        Ok(reading(&self.spec, Target::Sessions))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { text, count } = arguments;
        let limit = count.unwrap_or(USUAL);
        let filter = SessionFilter { text, limit, ..SessionFilter::default() };
        let sessions = self.ledger.sessions(&cx.key.person, &filter).await?;
        let lines: Vec<String> = sessions.iter().map(line).collect();
        let output = if lines.is_empty() { "[none]".to_owned() } else { lines.join("\n") };
        // Titles and previews come from conversations whose taint is not known here.
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(Origin::AgentTainted))
    }
}

fn line(session: &SessionMeta) -> String {
    let title = session.title.as_deref().unwrap_or("(no title)");
    let (id, agent, date) = (session.session_id, &session.agent, session.updated_at.utc_date());
    let preview = one_line(&session.preview);
    format!("{id}  {date}  {agent}  {}: {preview}", one_line(title))
}
