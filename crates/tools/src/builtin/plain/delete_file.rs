use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, FileChange, Origin, Plan, Preview, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{acting, spec_of, text_argument};
use crate::files::{AgentFiles, apply};
use crate::text::diff::Change;
use crate::{Authorised, Tool, ToolCx, ToolError, TypedTool};

pub(super) const POSITION: u16 = 50;

pub(super) fn tool() -> Arc<dyn Tool> {
    Arc::new(DeleteFile::new())
}

struct DeleteFile(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
}

impl DeleteFile {
    fn new() -> Self {
        let description = "Delete a file. A person is asked first.";
        Self(spec_of::<Arguments>("delete_file", "fs", ToolEffect::Destroy, description))
    }
}

#[async_trait]
impl TypedTool for DeleteFile {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("delete", "deleting", "deleted");
        verb.of(text_argument(arguments, "path")).about_file()
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { path } = arguments;
        let (vault, key) = (AgentFiles::vault(cx)?, cx.paths.check(path)?);
        let held = vault.any_file(&key).await?;
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
        let gone = FileChange { target: vault.name(&key), after: None, origin: Origin::Agent };
        let plan = acting(&self.0, ToolEffect::Destroy, target, preview);
        Ok(Plan { summary: format!("Delete {key}"), changes: vec![gone], ..plan })
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { path } = arguments;
        apply(&plan, cx).await?;
        let output = format!("deleted {}; undoing the run restores it", cx.paths.check(&path)?);
        Ok(ToolOutcome::ok(output, plan.summary))
    }
}
