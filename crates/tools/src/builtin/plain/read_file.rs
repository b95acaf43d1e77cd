use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, CallTarget, CallTargetKind, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of, text_argument};
use crate::files::AgentFiles;
use crate::text::page::page;
use crate::{Authorised, Tool, ToolCx, ToolError, TypedTool};

pub(super) const POSITION: u16 = 20;

pub(super) fn tool() -> Arc<dyn Tool> {
    Arc::new(ReadFile::new())
}

struct ReadFile(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    /// First line
    #[schemars(range(min = 1))]
    from: Option<u32>,
    #[schemars(range(min = 1))]
    lines: Option<u32>,
}

impl ReadFile {
    fn new() -> Self {
        let description = "Read a text file of the person's, whole or by lines.";
        Self(spec_of::<Arguments>("read_file", "fs", ToolEffect::Read, description))
    }
}

#[async_trait]
impl TypedTool for ReadFile {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let path = text_argument(arguments, "path");
        let line = arguments.get("from").and_then(Value::as_u64).filter(|line| *line > 1);
        let subject =
            line.map_or_else(|| path.to_owned(), |line| format!("{path} from line {line}"));
        let target = CallTarget { kind: CallTargetKind::File, name: path.to_owned(), line };
        let label = Verb::new("read", "reading", "read").of(subject);
        CallLabel { target: Some(target), ..label }
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { path, .. } = arguments;
        let target = AgentFiles::vault(cx)?.target(cx, &cx.paths.check(path)?, None);
        Ok(reading(&self.0, target))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { path, from, lines } = arguments;
        let key = cx.paths.check(&path)?;
        let Some(seen) = AgentFiles::vault(cx)?.seen(&key).await? else {
            return Err(ToolError::NotFound(format!("file {key}; list_files shows what there is")));
        };
        let output = seen.label() + &page(key.as_str(), &seen.text, from, lines)?;
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(seen.origin))
    }
}
