use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{base_of, change, failed, files, spec, target, writing};
use crate::text::diff::Change;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

pub(super) struct UpdateSystemPrompt(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The whole new text
    system_prompt: String,
}

impl UpdateSystemPrompt {
    pub(super) fn new() -> Self {
        let description =
            "Replace the whole system prompt; read it first. The version before is kept.";
        Self(spec::<Arguments>("update_system_prompt", ToolEffect::Write, description))
    }
}

#[async_trait]
impl TypedTool for UpdateSystemPrompt {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, _: &Value) -> CallLabel {
        Verb::new("rewrite", "rewriting", "rewrote").of("the system prompt")
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { system_prompt } = arguments;
        if system_prompt.trim().is_empty() {
            return Err(ToolError::Arguments("the system prompt must not be empty".to_owned()));
        }
        let files = files(cx)?;
        let before = files.system_prompt().await.map_err(failed)?;
        let text = before.as_ref().map_or("", |before| before.text.as_str());
        let edit = Change::between("SOUL.md", text, system_prompt);
        let summary = format!("Rewrite the system prompt {}", edit.counts());
        let target = target(files.system_prompt_name(), before.map(|before| before.hash));
        Ok(writing(&self.0, target, summary, edit.preview))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { system_prompt } = arguments;
        let change = change(cx, &self.0);
        let written = files(cx)?.set_system_prompt(&system_prompt, base_of(&plan), change).await;
        written.map_err(failed)?;
        Ok(ToolOutcome::ok("the system prompt was replaced", plan.summary))
    }
}
