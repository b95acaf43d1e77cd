use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use serde_json::{Value, json};

use super::{TestInputArguments, existing, files, reading_of, spec, text_argument};
use crate::{Authorised, ToolCx, ToolError, TypedTool};

pub(super) struct GetTestInput(ToolSpec);

impl GetTestInput {
    pub(super) fn new() -> Self {
        let description = "One test input with its content.";
        Self(spec::<TestInputArguments>("get_test_input", ToolEffect::Read, description))
    }
}

#[async_trait]
impl TypedTool for GetTestInput {
    type Arguments = TestInputArguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let id = text_argument(arguments, "id");
        Verb::new("read", "reading", "read").of(format!("the test input {id}"))
    }

    async fn plan(&self, arguments: &TestInputArguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        reading_of(&self.0, &arguments.id, cx).await
    }

    async fn invoke(
        &self,
        arguments: TestInputArguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let TestInputArguments { id } = arguments;
        let found = existing(&files(cx)?, &id).await?;
        let output = json!({"id": found.id.as_str(), "content": found.content.text});
        Ok(ToolOutcome::ok(output.to_string(), plan.summary).from_origin(found.content.origin))
    }
}
