use async_trait::async_trait;
use onyx_types::{Consent, Plan, Preview, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{acting, text_argument, tool};
use crate::schema::arguments;
use crate::{Authorised, Tool, ToolCx, ToolError};

/// A question is a draft whose approval is the answer, so it is shown, waited for and kept like
/// everything else that a person decides.
pub(super) struct AskPerson(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[schemars(length(min = 1, max = 4000))]
    question: String,
}

impl AskPerson {
    pub(super) fn new() -> Self {
        let description = "Ask the person and wait for the answer.";
        Self(tool::<Arguments>("ask_person", "agents", ToolEffect::Read, description))
    }
}

#[async_trait]
impl Tool for AskPerson {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn summary(&self, arguments: &Value) -> String {
        format!("Ask you: {}", text_argument(arguments, "question"))
    }

    async fn plan(&self, input: Value, _: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { question } = arguments(&input)?;
        let target = Target { name: "the person".to_owned(), base: None, instruction: false };
        let summary = self.summary(&input);
        let plan =
            acting(&self.0, input, ToolEffect::Read, target, Preview::Text { text: question });
        Ok(Plan { summary, consent: Consent::Person, ..plan })
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let answer =
            cx.decisions.answer.as_deref().map(str::trim).filter(|answer| !answer.is_empty());
        let output = answer.unwrap_or("Yes.").to_owned();
        Ok(ToolOutcome::ok(output, plan.into_inner().summary))
    }
}
