use async_trait::async_trait;
use onyx_types::{Plan, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{changing, text_argument, tool, writing};
use crate::files::{Place, apply};
use crate::schema::arguments;
use crate::text::diff::Change;
use crate::text::edit::replace_once;
use crate::{Authorised, Tool, ToolCx, ToolError};

pub(super) struct EditFile(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    /// Exact text; must match once
    old: String,
    /// What to put there
    new: String,
}

impl EditFile {
    pub(super) fn new() -> Self {
        let description = "Replace one exact piece of a text file. The version before is kept.";
        Self(tool::<Arguments>("edit_file", "fs", ToolEffect::Write, description))
    }
}

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn summary(&self, arguments: &Value) -> String {
        let path = text_argument(arguments, "path");
        let (old, new) = (text_argument(arguments, "old"), text_argument(arguments, "new"));
        format!("Edit {path} {}", Change::between(path, old, new).counts())
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { path, old, new } = arguments(&input)?;
        let (vault, key) = (Place::vault(cx)?, cx.paths.check(&path)?);
        let Some(before) = vault.seen(&key).await? else {
            return Err(ToolError::NotFound(format!("file {key}; create it with write_file")));
        };
        let after = replace_once(key.as_str(), &before.text, &old, &new)?;
        let change = Change::between(key.as_str(), &before.text, &after);
        let summary = format!("Edit {key} {}", change.counts());
        let target = vault.target(cx, &key, before.base);
        let plan = writing(&self.0, input, target, summary, change.preview);
        Ok(changing(plan, &after, before.origin))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { path, .. } = arguments(&plan.arguments)?;
        apply(&plan, cx).await?;
        Ok(ToolOutcome::ok(format!("edited {}", cx.paths.check(&path)?), plan.summary))
    }
}
