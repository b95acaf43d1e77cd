use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use serde_json::{Value, json};

use super::{OfOne, existing, files, reading, spec, target, text_argument};
use crate::schema::arguments;
use crate::{Authorised, Tool, ToolCx, ToolError};

pub(super) struct GetTestInput(ToolSpec);

impl GetTestInput {
    pub(super) fn new() -> Self {
        let description = "One test input with its content.";
        Self(spec::<OfOne>("get_test_input", ToolEffect::Read, description))
    }
}

#[async_trait]
impl Tool for GetTestInput {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let id = text_argument(arguments, "id");
        Verb::new("read", "reading", "read").of(format!("the test input {id}"))
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let files = files(cx)?;
        let OfOne { id } = arguments(&input)?;
        let found = existing(&files, &id).await?;
        let target = target(files.test_input_name(&found.id), Some(found.content.hash));
        let summary = self.summary(&input);
        Ok(reading(&self.0, input, target, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let OfOne { id } = arguments(&plan.arguments)?;
        let found = existing(&files(cx)?, &id).await?;
        let output = json!({"id": found.id.as_str(), "content": found.content.text});
        Ok(ToolOutcome::ok(output.to_string(), plan.summary).from_origin(found.content.origin))
    }
}
