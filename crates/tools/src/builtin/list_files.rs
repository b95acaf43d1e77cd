use async_trait::async_trait;
use onyx_storage::{ObjectKey, ObjectMeta, StoreError};
use onyx_types::{Plan, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, text_argument, tool};
use crate::files::Place;
use crate::schema::arguments;
use crate::{Authorised, Tool, ToolCx, ToolError};

/// More names at once help no model.
const MOST_ENTRIES: usize = 500;

pub(super) struct ListFiles(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Folder; default: the top
    path: Option<String>,
}

impl ListFiles {
    pub(super) fn new() -> Self {
        let description = "List a folder of the person's files, with sizes in bytes.";
        Self(tool::<Arguments>("list_files", "fs", ToolEffect::Read, description))
    }
}

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn summary(&self, arguments: &Value) -> String {
        match bare(text_argument(arguments, "path")) {
            "" => "List files".to_owned(),
            path => format!("List {path}"),
        }
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let vault = Place::vault(cx)?;
        let name = match folder(&input, cx)? {
            Some(folder) => vault.name(&folder),
            None => vault.root().to_owned(),
        };
        let target = Target { name, base: None, instruction: false };
        let summary = self.summary(&input);
        Ok(reading(&self.0, input, target, summary))
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let (vault, folder) = (Place::vault(cx)?, folder(&plan.arguments, cx)?);
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

fn folder(input: &Value, cx: &ToolCx) -> Result<Option<ObjectKey>, ToolError> {
    let Arguments { path } = arguments(input)?;
    match bare(path.as_deref().unwrap_or_default()) {
        "" => Ok(None),
        path => cx.paths.check(path).map(Some),
    }
}

/// Models name the top in many ways, and folders with a slash at the end.
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
