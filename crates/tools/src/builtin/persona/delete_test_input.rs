use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use serde_json::Value;

use super::{
    TestInputArguments, base_of, change, existing, failed, files, no_test_input, spec, target,
    test_id, text_argument, writing,
};
use crate::text::diff::Change;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

/// Deletes a test input. This counts as a write and not as destructive, because the last version is
/// kept and can be restored.
pub(super) struct DeleteTestInput(ToolSpec);

impl DeleteTestInput {
    pub(super) fn new() -> Self {
        let description = "Remove a test input. What it held is kept in the history.";
        Self(spec::<TestInputArguments>("delete_test_input", ToolEffect::Write, description))
    }
}

#[async_trait]
impl TypedTool for DeleteTestInput {
    type Arguments = TestInputArguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let id = text_argument(arguments, "id");
        Verb::new("remove", "removing", "removed").of(format!("the test input {id}"))
    }

    async fn plan(&self, arguments: &TestInputArguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let files = files(cx)?;
        let TestInputArguments { id } = arguments;
        let found = existing(&files, id).await?;
        let preview = Change::between(&format!("tests/{id}.md"), &found.content.text, "").preview;
        let target = target(files.test_input_name(&found.id), Some(found.content.hash));
        Ok(writing(&self.0, target, String::new(), preview))
    }

    async fn invoke(
        &self,
        arguments: TestInputArguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let TestInputArguments { id } = arguments;
        let base = base_of(&plan).ok_or_else(|| no_test_input(&id))?;
        let (id, change) = (test_id(&id)?, change(cx, &self.0));
        files(cx)?.delete_test_input(&id, base, change).await.map_err(failed)?;
        Ok(ToolOutcome::ok(format!("the test input {id} was removed"), plan.summary))
    }
}
