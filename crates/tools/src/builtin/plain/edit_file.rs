use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{CallLabel, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{changing, spec_of, text_argument, writing};
use crate::files::{AgentFiles, apply};
use crate::text::diff::Change;
use crate::text::edit::replace_once;
use crate::{Authorised, Tool, ToolCx, ToolError, TypedTool};

pub(super) const POSITION: u16 = 40;

pub(super) fn tool() -> Arc<dyn Tool> {
    Arc::new(EditFile::new())
}

struct EditFile(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    /// Exact text; must match once
    old: String,
    new: String,
}

impl EditFile {
    fn new() -> Self {
        let description = "Replace one exact piece of a text file.";
        Self(spec_of::<Arguments>("edit_file", "fs", ToolEffect::Write, description))
    }
}

#[async_trait]
impl TypedTool for EditFile {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let path = text_argument(arguments, "path");
        let (old, new) = (text_argument(arguments, "old"), text_argument(arguments, "new"));
        let change = Change::between(path, old, new).shown();
        let label = Verb::new("edit", "editing", "edited").of(path).about_file();
        CallLabel { change: Some(change), ..label }
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { path, old, new } = arguments;
        let (vault, key) = (AgentFiles::vault(cx)?, cx.paths.check(path)?);
        let Some(before) = vault.seen(&key).await? else {
            return Err(ToolError::NotFound(format!("file {key}; create it with write_file")));
        };
        let after = replace_once(key.as_str(), &before.text, old, new)?;
        let change = Change::between(key.as_str(), &before.text, &after);
        let summary = format!("Edit {key} {}", change.counts());
        let target = vault.target(cx, &key, before.base);
        let plan = writing(&self.0, target, summary, change.preview);
        Ok(changing(plan, &after, before.origin))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { path, .. } = arguments;
        apply(&plan, cx).await?;
        Ok(ToolOutcome::ok(format!("edited {}", cx.paths.check(&path)?), plan.summary))
    }
}
