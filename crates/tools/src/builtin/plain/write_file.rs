use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{CallLabel, Origin, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{changing, spec_of, text_argument, writing};
use crate::files::{AgentFiles, apply};
use crate::text::diff::Change;
use crate::{Authorised, Tool, ToolCx, ToolError, TypedTool};

pub(super) const POSITION: u16 = 30;

pub(super) fn tool() -> Arc<dyn Tool> {
    Arc::new(WriteFile::new())
}

struct WriteFile(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
}

impl WriteFile {
    fn new() -> Self {
        let description = "Create a text file or replace it whole.";
        Self(spec_of::<Arguments>("write_file", "fs", ToolEffect::Write, description))
    }
}

#[async_trait]
impl TypedTool for WriteFile {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("write", "writing", "wrote");
        verb.of(text_argument(arguments, "path")).about_file()
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { path, content } = arguments;
        let (vault, key) = (AgentFiles::vault(cx)?, cx.paths.check(path)?);
        let (base, text) = match vault.read(&key).await? {
            Some(reading) => (Some(reading.hash), reading.text),
            None => (None, String::new()),
        };
        let change = Change::between(key.as_str(), &text, content);
        let verb = if base.is_some() { "Replace" } else { "Create" };
        let summary = format!("{verb} {key} {}", change.counts());
        let target = vault.target(cx, &key, base);
        let plan = writing(&self.0, target, summary, change.preview);
        Ok(changing(plan, content, Origin::Agent))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { path, content } = arguments;
        apply(&plan, cx).await?;
        let output = format!("wrote {} ({} bytes)", cx.paths.check(&path)?, content.len());
        Ok(ToolOutcome::ok(output, plan.summary))
    }
}
