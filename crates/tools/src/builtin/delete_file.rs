use async_trait::async_trait;
use onyx_types::{FileChange, Origin, Plan, Preview, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{acting, text_argument, tool};
use crate::files::{Place, apply};
use crate::schema::arguments;
use crate::text::diff::Change;
use crate::{Authorised, Tool, ToolCx, ToolError};

pub(super) struct DeleteFile(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
}

impl DeleteFile {
    pub(super) fn new() -> Self {
        let description = "Delete a file. A person is asked first.";
        Self(tool::<Arguments>("delete_file", "fs", ToolEffect::Destroy, description))
    }
}

#[async_trait]
impl Tool for DeleteFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn summary(&self, arguments: &Value) -> String {
        format!("Delete {}", text_argument(arguments, "path"))
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { path } = arguments(&input)?;
        let (vault, key) = (Place::vault(cx)?, cx.paths.check(&path)?);
        let held = vault.held(&key).await?;
        let Some(held) = held else {
            return Err(ToolError::NotFound(format!("file {key}")));
        };
        let preview = match &held.text {
            Some(text) => Change::between(key.as_str(), text, "").preview,
            None => {
                Preview::Text { text: format!("{key} is gone ({} bytes, not text)", held.size) }
            }
        };
        let target = vault.target(cx, &key, held.base);
        let change = FileChange { target: target.name.clone(), after: None, origin: Origin::Agent };
        let plan = acting(&self.0, input, ToolEffect::Destroy, target, preview);
        Ok(Plan { summary: format!("Delete {key}"), changes: vec![change], ..plan })
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { path } = arguments(&plan.arguments)?;
        apply(&plan, cx).await?;
        let output = format!("deleted {}; undoing the run restores it", cx.paths.check(&path)?);
        Ok(ToolOutcome::ok(output, plan.summary))
    }
}
