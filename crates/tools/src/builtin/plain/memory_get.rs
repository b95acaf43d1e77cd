use std::sync::Arc;

use async_trait::async_trait;
use onyx_storage::ObjectKey;
use onyx_types::{CallLabel, Origin, Plan, Target, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{MEMORY_FILE, reading, spec_of, text_argument};
use crate::files::AgentFiles;
use crate::paths;
use crate::text::daily::DailyLog;
use crate::text::page::page;
use crate::{Authorised, Tool, ToolCx, ToolError, TypedTool};

pub(super) const POSITION: u16 = 80;

pub(super) fn tool() -> Arc<dyn Tool> {
    Arc::new(MemoryGet::new())
}

struct MemoryGet(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// MEMORY.md (default) or daily/YYYY-MM-DD.md
    path: Option<String>,
    /// First line
    #[schemars(range(min = 1))]
    from: Option<u32>,
    #[schemars(range(min = 1))]
    lines: Option<u32>,
}

impl MemoryGet {
    fn new() -> Self {
        let description = "Read your memory of this person.";
        Self(spec_of::<Arguments>("memory_get", "memory", ToolEffect::Read, description))
    }
}

#[async_trait]
impl TypedTool for MemoryGet {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("recall", "recalling", "recalled");
        match text_argument(arguments, "path") {
            "" => verb.of(MEMORY_FILE),
            path => verb.of(path),
        }
    }

    async fn plan(&self, wanted: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let key = memory_key(wanted, cx)?;
        Ok(reading(&self.0, Target::File(AgentFiles::memory(cx)?.name(&key))))
    }

    async fn invoke(
        &self,
        wanted: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let key = memory_key(&wanted, cx)?;
        let Some(seen) = AgentFiles::memory(cx)?.seen(&key).await? else {
            return Ok(ToolOutcome::ok(format!("[nothing in {key} yet]"), plan.summary));
        };
        let origin = origin(&seen.text, seen.origin);
        let output = seen.label() + &page(key.as_str(), &seen.text, wanted.from, wanted.lines)?;
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(origin))
    }
}

/// The key of a memory file, from a path in the memory or a path as searches give it.
fn memory_key(wanted: &Arguments, cx: &ToolCx) -> Result<ObjectKey, ToolError> {
    let path = wanted.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(MEMORY_FILE);
    let cited = format!("memory/{}/", cx.agent);
    let key = paths::key(path.strip_prefix(cited.as_str()).unwrap_or(path))?;
    if key.is_hidden() {
        return Err(ToolError::Refused(format!("{path:?} is hidden")));
    }
    Ok(key)
}

/// The origin of a daily log. One marked line taints all of it, because a page may show any part.
fn origin(text: &str, of_file: Origin) -> Origin {
    if DailyLog::has_tainted_lines(text) { of_file.max(Origin::AgentTainted) } else { of_file }
}
