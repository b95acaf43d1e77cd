use std::sync::Arc;

use async_trait::async_trait;
use onyx_storage::{ObjectKey, ObjectMeta, StoreError};
use onyx_types::{CallLabel, Origin, Plan, ToolEffect, ToolOutcome, ToolSpec, Verb};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{reading, spec_of, text_argument};
use crate::files::AgentFiles;
use crate::{Authorised, Tool, ToolCx, ToolError, TypedTool};

const MOST_HITS: usize = 100;
const MOST_FILES: usize = 5_000;
const MOST_ENTRIES: usize = 2_000;
const LINE_CHARS: usize = 200;

pub(super) const POSITION: u16 = 70;

pub(super) fn tool() -> Arc<dyn Tool> {
    Arc::new(SearchFiles::new())
}

struct SearchFiles(ToolSpec);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Case does not matter
    query: String,
    /// Only in this folder
    path: Option<String>,
}

/// The matches so far.
struct FileMatches {
    lines: Vec<String>,
    origin: Origin,
    files: usize,
    is_cut: bool,
}

impl SearchFiles {
    fn new() -> Self {
        let description = "Find a text in the person's files: path, line, text.";
        Self(spec_of::<Arguments>("search_files", "fs", ToolEffect::Read, description))
    }
}

#[async_trait]
impl TypedTool for SearchFiles {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let verb = Verb::new("search files for", "searching files for", "searched files for");
        verb.of(text_argument(arguments, "query"))
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { query, path } = arguments;
        if query.trim().is_empty() {
            return Err(ToolError::Arguments("\"query\" is empty".into()));
        }
        let vault = AgentFiles::vault(cx)?;
        Ok(reading(&self.0, vault.folder(folder(path.as_deref(), cx)?.as_ref())))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let Arguments { query, path } = arguments;
        let found = search(&query.to_lowercase(), folder(path.as_deref(), cx)?, cx).await?;
        let mut output = found.lines.join("\n");
        if found.lines.is_empty() {
            output = format!("[nothing found in {} files]", found.files);
        }
        if found.is_cut {
            output.push_str("\n[there may be more: name a folder, or a rarer text]");
        }
        Ok(ToolOutcome::ok(output, plan.summary).from_origin(found.origin))
    }
}

fn folder(path: Option<&str>, cx: &ToolCx) -> Result<Option<ObjectKey>, ToolError> {
    match path.unwrap_or_default().trim_end_matches('/') {
        "" | "." => Ok(None),
        path => cx.paths.check(path).map(Some),
    }
}

async fn search(
    query: &str,
    top: Option<ObjectKey>,
    cx: &ToolCx,
) -> Result<FileMatches, ToolError> {
    let vault = AgentFiles::vault(cx)?;
    let mut found =
        FileMatches { lines: Vec::new(), origin: Origin::Person, files: 0, is_cut: false };
    let mut folders = vec![top];
    while let Some(folder) = folders.pop() {
        let entries = match (vault.list(folder.as_ref(), MOST_ENTRIES + 1).await, &folder) {
            (Err(StoreError::NotFound), Some(folder)) => {
                return Err(ToolError::NotFound(format!("folder {folder}")));
            }
            (entries, _) => entries?,
        };
        found.is_cut |= entries.len() > MOST_ENTRIES;
        for entry in entries.into_iter().filter(|entry| cx.paths.shows(&entry.key)) {
            if entry.is_folder {
                folders.push(Some(entry.key));
                continue;
            }
            if found.files == MOST_FILES || found.lines.len() >= MOST_HITS {
                found.is_cut = true;
                found.lines.truncate(MOST_HITS);
                return Ok(found);
            }
            found.files += 1;
            look_into(&vault, &entry, query, &mut found).await?;
        }
    }
    found.is_cut |= found.lines.len() > MOST_HITS;
    found.lines.truncate(MOST_HITS);
    Ok(found)
}

async fn look_into(
    vault: &AgentFiles,
    entry: &ObjectMeta,
    query: &str,
    found: &mut FileMatches,
) -> Result<(), ToolError> {
    let key = &entry.key;
    let reading = match vault.read(key).await {
        Ok(Some(reading)) => reading,
        // The file was removed meanwhile, is not text, is too long or is a link, so nothing of it
        // can be quoted.
        Ok(None) | Err(ToolError::Arguments(_) | ToolError::Refused(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    let hits =
        reading.text.lines().enumerate().filter(|(_, line)| line.to_lowercase().contains(query));
    let before = found.lines.len();
    found.lines.extend(hits.take(MOST_HITS + 1 - before).map(|(number, line)| {
        let line: String = line.trim().chars().take(LINE_CHARS).collect();
        format!("{key}:{}: {line}", number + 1)
    }));
    if found.lines.len() > before {
        let named = vault.named_by(std::slice::from_ref(entry)).await?;
        found.origin = found.origin.max(reading.origin).max(named);
    }
    Ok(())
}
