use std::sync::Arc;

use async_trait::async_trait;
use onyx_storage::{ObjectKey, ObjectMeta, StoreError};
use onyx_types::{CallLabel, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of, text_argument};
use crate::files::AgentFiles;
use crate::{Authorised, Tool, ToolCx, ToolError, TypedTool};

/// The most entries that are listed. More do not help a model.
const MOST_ENTRIES: usize = 500;

pub(super) const POSITION: u16 = 10;

pub(super) fn tool() -> Arc<dyn Tool> {
    Arc::new(ListFiles::new())
}

struct ListFiles(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Folder; default: the top
    path: Option<String>,
}

impl ListFiles {
    fn new() -> Self {
        let description = "List a folder of the person's files, with sizes in bytes.";
        Self(spec_of::<Arguments>("list_files", "fs", ToolEffect::Read, description))
    }
}

#[async_trait]
impl TypedTool for ListFiles {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("list", "listing", "listed");
        match bare(text_argument(arguments, "path")) {
            "" => verb.of("files"),
            path => verb.of(path),
        }
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let vault = AgentFiles::vault(cx)?;
        Ok(reading(&self.0, vault.folder(folder(arguments, cx)?.as_ref())))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let (vault, folder) = (AgentFiles::vault(cx)?, folder(&arguments, cx)?);
        let mut entries = match (vault.list(folder.as_ref(), MOST_ENTRIES + 1).await, folder) {
            (Err(StoreError::NotFound), Some(folder)) => {
                return Err(ToolError::NotFound(format!("folder {folder}")));
            }
            (entries, _) => entries?,
        };
        let found = entries.len();
        entries.truncate(MOST_ENTRIES);
        entries.retain(|entry| cx.paths.shows(&entry.key));
        let origin = vault.named_by(&entries).await?;
        let mut output = listing(&entries);
        if found > MOST_ENTRIES {
            output.push_str(&format!("\n[only the first {MOST_ENTRIES} are shown]"));
        }
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(origin))
    }
}

fn folder(arguments: &Arguments, cx: &ToolCx) -> Result<Option<ObjectKey>, ToolError> {
    match bare(arguments.path.as_deref().unwrap_or_default()) {
        "" => Ok(None),
        path => cx.paths.check(path).map(Some),
    }
}

/// The path without the ways in which models write the top folder, and without a slash at the end.
fn bare(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "." => "",
        path => path,
    }
}

fn listing(entries: &[ObjectMeta]) -> String {
    let lines: Vec<String> = entries.iter().map(line).collect();
    if lines.is_empty() { "[empty]".to_owned() } else { lines.join("\n") }
}

fn line(entry: &ObjectMeta) -> String {
    let name = entry.key.parts().last().unwrap_or_default();
    if entry.is_folder { format!("{name}/") } else { format!("{name}  {}", entry.size) }
}
