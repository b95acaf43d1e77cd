use std::sync::Arc;

use async_trait::async_trait;
use onyx_storage::{Ledger, TurnLog};
use onyx_types::{
    Author, CallLabel, CallTargetKind, Origin, Plan, SessionId, SessionKey, Target, ToolEffect,
    ToolOutcome, ToolSpec, Turn, TurnBody, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of, text_argument};
use crate::{Authorised, ToolCx, ToolError, TypedTool};

const USUAL: usize = 40;

pub(super) struct SessionsHistory {
    spec: ToolSpec,
    ledger: Arc<dyn Ledger>,
    turns: Arc<dyn TurnLog>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Its id, from sessions_list
    session: String,
    /// Of the last entries; default 40
    #[schemars(range(min = 1, max = 500))]
    count: Option<usize>,
}

fn session(arguments: &Arguments) -> Result<SessionId, ToolError> {
    arguments.session.parse().map_err(|_| {
        let id = &arguments.session;
        ToolError::Arguments(format!("{id:?} is not an id; sessions_list shows them"))
    })
}

impl SessionsHistory {
    pub(super) fn new(ledger: Arc<dyn Ledger>, turns: Arc<dyn TurnLog>) -> Self {
        let description = "Read what was said in one of the person's conversations.";
        let spec =
            spec_of::<Arguments>("sessions_history", "sessions", ToolEffect::Read, description);
        Self { spec, ledger, turns }
    }
}

#[async_trait]
impl TypedTool for SessionsHistory {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let session = text_argument(arguments, "session");
        let label = Verb::new("read", "reading", "read").of(format!("the conversation {session}"));
        label.about(CallTargetKind::Session, session)
    }

    async fn plan(&self, arguments: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        Ok(reading(&self.spec, Target::Session(session(arguments)?)))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let (id, count) = (session(&arguments)?, arguments.count);
        let person = cx.key.person.clone();
        // Only the person's own sessions are searched, so the id of somebody else's is not found.
        let Some(meta) = self.ledger.session(&person, id).await? else {
            return Err(ToolError::NotFound(format!("conversation {id}")));
        };
        let key = SessionKey { person, agent: meta.agent, session: id };
        let page = self.turns.tail(&key, None, count.unwrap_or(USUAL)).await?;
        let lines: Vec<String> = page.turns.iter().filter_map(line).collect();
        let origins = page.turns.iter().map(|turn| turn.origin);
        let output = if lines.is_empty() { "[nothing yet]".to_owned() } else { lines.join("\n\n") };
        let origin = origins.max().unwrap_or(Origin::Person);
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(origin))
    }
}

fn line(turn: &Turn) -> Option<String> {
    let name = match &turn.author {
        Author::Agent(agent) => agent.to_string(),
        Author::Person(_) => "person".to_owned(),
        Author::System => "system".to_owned(),
    };
    let date = turn.ts.utc_date();
    Some(match &turn.body {
        TurnBody::User(user) => format!("[{date} {name}] {}", user.content.text()),
        TurnBody::AssistantText(text) => format!("[{date} {name}] {}", text.content),
        TurnBody::Summary(summary) => format!("[{date} summary] {}", summary.content),
        TurnBody::ToolCall(call) => format!("[{date} {name}] (used {})", call.tool_name),
        TurnBody::ToolResult(_)
        | TurnBody::Decision(_)
        | TurnBody::Reasoning(_)
        | TurnBody::RunStart(_)
        | TurnBody::RunEnd(_)
        | TurnBody::Feedback(_)
        | TurnBody::Unknown(_) => return None,
    })
}
