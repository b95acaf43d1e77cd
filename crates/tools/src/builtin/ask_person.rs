use async_trait::async_trait;
use onyx_types::{
    CallLabel, CallTargetKind, Consent, Plan, Preview, Target, ToolEffect, ToolOutcome, ToolSpec,
    Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{acting, spec_of, text_argument};
use crate::{Authorised, ToolCx, ToolError, TypedTool};

/// A question is a draft whose approval is the answer, so it is shown, waited for and kept like
/// everything else that a person decides.
pub(super) struct AskPerson(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[schemars(length(min = 1, max = 4000))]
    question: String,
}

impl AskPerson {
    pub(super) fn new() -> Self {
        let description = "Ask the person and wait for the answer.";
        Self(spec_of::<Arguments>("ask_person", "agents", ToolEffect::Read, description))
    }
}

#[async_trait]
impl TypedTool for AskPerson {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("ask you:", "asking you:", "asked you:");
        verb.of(text_argument(arguments, "question")).about(CallTargetKind::Person, "you")
    }

    async fn plan(&self, asked: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        let preview = Preview::Text { text: asked.question.clone() };
        let plan = acting(&self.0, ToolEffect::Read, Target::Person, preview);
        Ok(Plan { consent: Consent::Person, ..plan })
    }

    async fn invoke(
        &self,
        _: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let answer =
            cx.decisions.answer.as_deref().map(str::trim).filter(|answer| !answer.is_empty());
        let output = answer.unwrap_or("Yes.").to_owned();
        Ok(ToolOutcome::ok(output, plan.into_inner().summary))
    }
}
