use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, CallTargetKind, Plan, Preview, SessionId, Target, ToolEffect, ToolOutcome, ToolSpec,
    Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::ask_agent::failed;
use super::{acting, text_argument, tool};
use crate::schema::arguments;
use crate::{Asked, Authorised, Delegates, Tool, ToolCx, ToolError};

pub(super) struct SessionsSend {
    spec: ToolSpec,
    delegates: Arc<dyn Delegates>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Its id, from sessions_list
    session: String,
    #[schemars(length(min = 1))]
    message: String,
}

impl SessionsSend {
    pub(super) fn new(delegates: Arc<dyn Delegates>) -> Self {
        let description = "Leave a message in another conversation, for when it goes on.";
        let spec = tool::<Arguments>("sessions_send", "sessions", ToolEffect::Write, description);
        Self { spec, delegates }
    }
}

#[async_trait]
impl Tool for SessionsSend {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_ready(&self, asked: &Asked<'_>) -> bool {
        self.delegates.has_other_sessions(asked.person)
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let session = text_argument(arguments, "session");
        let label = Verb::new("leave", "leaving", "left")
            .of(format!("a message in conversation {session}"));
        label.about(CallTargetKind::Session, session)
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let (session, message) = words(&input)?;
        if session == cx.key.session {
            return Err(ToolError::Arguments("session: that is this conversation".to_owned()));
        }
        let target = Target { name: format!("session {session}"), base: None, instruction: false };
        let summary = self.summary(&input);
        let preview = Preview::Text { text: message };
        let plan = acting(&self.spec, input, ToolEffect::Write, target, preview);
        Ok(Plan { summary, ..plan })
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let (session, message) = words(&plan.arguments)?;
        self.delegates.post(session, &message, cx).await.map_err(|fault| failed(&fault))?;
        Ok(ToolOutcome::ok(
            format!("left in {session}; it is read when that goes on"),
            plan.summary,
        ))
    }
}

fn words(input: &Value) -> Result<(SessionId, String), ToolError> {
    let Arguments { session, message } = arguments(input)?;
    let id = session.parse().map_err(|_| {
        ToolError::Arguments(format!("{session:?} is no id; sessions_list shows them"))
    })?;
    Ok((id, message))
}
