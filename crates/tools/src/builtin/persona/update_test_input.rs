use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    base_of, change, existing, failed, files, spec, target, test_id, text_argument, writing,
};
use crate::text::diff::Change;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

pub(super) struct UpdateTestInput(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Of the test input
    id: String,
    content: String,
}

impl UpdateTestInput {
    pub(super) fn new() -> Self {
        let description = "Replace the content of a test input. The version before is kept.";
        Self(spec::<Arguments>("update_test_input", ToolEffect::Write, description))
    }
}

#[async_trait]
impl TypedTool for UpdateTestInput {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let id = text_argument(arguments, "id");
        Verb::new("rewrite", "rewriting", "rewrote").of(format!("the test input {id}"))
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { id, content } = arguments;
        if content.trim().is_empty() {
            return Err(ToolError::Arguments("a test input must not be empty".to_owned()));
        }
        let files = files(cx)?;
        let found = existing(&files, id).await?;
        let edit = Change::between(&format!("tests/{id}.md"), &found.content.text, content);
        let summary = format!("Rewrite the test input {id} {}", edit.counts());
        let target = target(files.test_input_name(&found.id), Some(found.content.hash));
        Ok(writing(&self.0, target, summary, edit.preview))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { id, content } = arguments;
        let (id, change) = (test_id(&id)?, change(cx, &self.0));
        let written = files(cx)?.put_test_input(&id, &content, base_of(&plan), change).await;
        written.map_err(failed)?;
        Ok(ToolOutcome::ok(format!("the test input {id} was replaced"), plan.summary))
    }
}
