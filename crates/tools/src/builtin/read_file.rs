use async_trait::async_trait;
use onyx_types::{Plan, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, text_argument, tool};
use crate::files::Place;
use crate::schema::arguments;
use crate::text::page::page;
use crate::{Authorised, Tool, ToolCx, ToolError};

pub(super) struct ReadFile(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    /// First line
    #[schemars(range(min = 1))]
    from: Option<u32>,
    /// How many lines
    #[schemars(range(min = 1))]
    lines: Option<u32>,
}

impl ReadFile {
    pub(super) fn new() -> Self {
        let description = "Read a text file of the person's, whole or by lines.";
        Self(tool::<Arguments>("read_file", "fs", ToolEffect::Read, description))
    }
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn summary(&self, arguments: &Value) -> String {
        let path = text_argument(arguments, "path");
        match arguments.get("from").and_then(Value::as_u64) {
            Some(line) if line > 1 => format!("Read {path} from line {line}"),
            Some(_) | None => format!("Read {path}"),
        }
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { path, .. } = arguments(&input)?;
        let target = Place::vault(cx)?.target(cx, &cx.paths.check(&path)?, None);
        let summary = self.summary(&input);
        Ok(reading(&self.0, input, target, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { path, from, lines } = arguments(&plan.arguments)?;
        let key = cx.paths.check(&path)?;
        let Some(seen) = Place::vault(cx)?.seen(&key).await? else {
            return Err(ToolError::NotFound(format!("file {key}; list_files shows what there is")));
        };
        let output = seen.label() + &page(key.as_str(), &seen.text, from, lines)?;
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(seen.origin))
    }
}
