use async_trait::async_trait;
use onyx_types::{Origin, Plan, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{changing, text_argument, tool, writing};
use crate::files::{Place, apply};
use crate::schema::arguments;
use crate::text::diff::Change;
use crate::{Authorised, Tool, ToolCx, ToolError};

pub(super) struct WriteFile(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
}

impl WriteFile {
    pub(super) fn new() -> Self {
        let description = "Create a text file or replace it whole. The version before is kept.";
        Self(tool::<Arguments>("write_file", "fs", ToolEffect::Write, description))
    }
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn summary(&self, arguments: &Value) -> String {
        format!("Write {}", text_argument(arguments, "path"))
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { path, content } = arguments(&input)?;
        let (vault, key) = (Place::vault(cx)?, cx.paths.check(&path)?);
        let (base, text) = match vault.read(&key).await? {
            Some(reading) => (Some(reading.hash), reading.text),
            None => (None, String::new()),
        };
        let change = Change::between(key.as_str(), &text, &content);
        let verb = if base.is_some() { "Replace" } else { "Create" };
        let summary = format!("{verb} {key} {}", change.counts());
        let target = vault.target(cx, &key, base);
        let plan = writing(&self.0, input, target, summary, change.preview);
        Ok(changing(plan, &content, Origin::Agent))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { path, content } = arguments(&plan.arguments)?;
        apply(&plan, cx).await?;
        let output = format!("wrote {} ({} bytes)", cx.paths.check(&path)?, content.len());
        Ok(ToolOutcome::ok(output, plan.summary))
    }
}
