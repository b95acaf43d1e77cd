use async_trait::async_trait;
use onyx_storage::ObjectKey;
use onyx_types::{Origin, Plan, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{MEMORY_FILE, reading, text_argument, tool};
use crate::files::Place;
use crate::paths;
use crate::schema::arguments;
use crate::text::daily::DailyLog;
use crate::text::page::page;
use crate::{Authorised, Tool, ToolCx, ToolError};

pub(super) struct MemoryGet(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// MEMORY.md (default) or daily/YYYY-MM-DD.md
    path: Option<String>,
    /// First line
    #[schemars(range(min = 1))]
    from: Option<u32>,
    /// How many lines
    #[schemars(range(min = 1))]
    lines: Option<u32>,
}

impl MemoryGet {
    pub(super) fn new() -> Self {
        let description = "Read your memory of this person.";
        Self(tool::<Arguments>("memory_get", "memory", ToolEffect::Read, description))
    }
}

#[async_trait]
impl Tool for MemoryGet {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn summary(&self, arguments: &Value) -> String {
        match text_argument(arguments, "path") {
            "" => format!("Recall {MEMORY_FILE}"),
            path => format!("Recall {path}"),
        }
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let key = memory_key(&arguments(&input)?, cx)?;
        let name = Place::memory(cx)?.name(&key);
        let target = Target { name, base: None, instruction: false };
        let summary = self.summary(&input);
        Ok(reading(&self.0, input, target, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let wanted: Arguments = arguments(&plan.arguments)?;
        let key = memory_key(&wanted, cx)?;
        let Some(seen) = Place::memory(cx)?.seen(&key).await? else {
            return Ok(ToolOutcome::ok(format!("[nothing in {key} yet]"), plan.summary));
        };
        let origin = origin(&seen.text, seen.origin);
        let output = seen.label() + &page(key.as_str(), &seen.text, wanted.from, wanted.lines)?;
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(origin))
    }
}

/// A path within the memory, or as searches cite it, from the person's folder.
fn memory_key(wanted: &Arguments, cx: &ToolCx) -> Result<ObjectKey, ToolError> {
    let path = wanted.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(MEMORY_FILE);
    let cited = format!("memory/{}/", cx.agent);
    let key = paths::key(path.strip_prefix(cited.as_str()).unwrap_or(path))?;
    if key.is_hidden() {
        return Err(ToolError::Refused(format!("{path:?} is hidden")));
    }
    Ok(key)
}

/// One marked line taints, wherever it stands: a page may show any part of the log.
fn origin(text: &str, of_file: Origin) -> Origin {
    if DailyLog::has_tainted_lines(text) { of_file.max(Origin::AgentTainted) } else { of_file }
}
