use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, CallTargetKind, Capability, PersonId, Plan, Preview, SessionId, Target, ToolEffect,
    ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::ask_agent::failed;
use super::{acting, spec_of, text_argument};
use crate::{Authorised, Delegates, ToolCx, ToolError, TypedTool};

pub(super) struct SessionsSend {
    spec: ToolSpec,
    delegates: Arc<dyn Delegates>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    session: String,
    #[schemars(length(min = 1))]
    message: String,
}

impl SessionsSend {
    pub(super) fn new(delegates: Arc<dyn Delegates>) -> Self {
        let description = "Leave a message in another conversation, for its next run.";
        let spec =
            spec_of::<Arguments>("sessions_send", "sessions", ToolEffect::Write, description);
        let spec = ToolSpec { needs: vec![Capability::OtherSessions], ..spec };
        Self { spec, delegates }
    }
}

#[async_trait]
impl TypedTool for SessionsSend {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        let has_others = self.delegates.has_other_sessions(person);
        if has_others { Ok(()) } else { Err(String::new()) }
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let session = text_argument(arguments, "session");
        let label = Verb::new("leave", "leaving", "left")
            .of(format!("a message in conversation {session}"));
        label.about(CallTargetKind::Session, session)
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let session = session(arguments)?;
        if session == cx.key.session {
            return Err(ToolError::Arguments("session: that is this conversation".to_owned()));
        }
        let preview = Preview::Text { text: arguments.message.clone() };
        Ok(acting(&self.spec, ToolEffect::Write, Target::Session(session), preview))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let session = session(&arguments)?;
        self.delegates
            .post(session, &arguments.message, cx)
            .await
            .map_err(|fault| failed(&fault))?;
        Ok(ToolOutcome::ok(
            format!("left in {session}; it is read when that conversation continues"),
            plan.summary,
        ))
    }
}

fn session(arguments: &Arguments) -> Result<SessionId, ToolError> {
    arguments.session.parse().map_err(|_| {
        let id = &arguments.session;
        ToolError::Arguments(format!("{id:?} is not an id; sessions_list shows them"))
    })
}
