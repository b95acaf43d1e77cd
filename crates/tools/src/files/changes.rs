//! A plan's changes to files: how they are shown, made, and checked again before they are made.

use onyx_storage::Area;
use onyx_types::{FileChange, Hash, HomePath, Origin, Plan, PlanTarget, Preview, diff_lines};

use super::agent_files::FILE_BYTES;
use super::{AgentFiles, Writer};
use crate::paths::key;
use crate::text::diff::Change;
use crate::{ToolCx, ToolError};

/// Makes the changes of a plan, or none of them if a file changed since. Files that hold the new
/// content already are skipped, so that an interrupted plan can be finished.
pub(crate) async fn apply(plan: &Plan, cx: &ToolCx) -> Result<(), ToolError> {
    let mut open = Vec::new();
    for change in &plan.changes {
        let (files, key) = AgentFiles::holding(cx, &change.target)?;
        let base = plan.base_of(&change.target);
        let current = files.get(&key).await?.map(|object| object.hash);
        if current == base {
            open.push((files, key, base, change));
        } else if current != change.after_hash() {
            return Err(ToolError::Conflict(key.to_string()));
        }
    }
    let by = Writer { cx, tool: &plan.tool };
    for (files, key, base, change) in open {
        match &change.after {
            Some(text) => {
                let origin = by.origin().max(change.origin);
                files.put(&key, text, base, &by, origin).await?;
            }
            None if base.is_none() => {}
            None => files.remove(&key, base, &by).await?,
        }
    }
    Ok(())
}

/// The present hash of a target.
pub(crate) async fn current_hash(cx: &ToolCx, file: &HomePath) -> Result<Option<Hash>, ToolError> {
    let (files, key) = AgentFiles::holding(cx, file)?;
    Ok(files.get(&key).await?.map(|object| object.hash))
}

/// The difference between the files on disk and the plan's changes.
pub(crate) async fn diff_to_disk(plan: &Plan, cx: &ToolCx) -> Result<Preview, ToolError> {
    let (mut paths, mut unified, mut documents) = (Vec::new(), String::new(), Vec::new());
    for FileChange { target, after, .. } in &plan.changes {
        let (files, key) = AgentFiles::holding(cx, target)?;
        let before = files.shown(&key).await?;
        let change = Change::between(key.as_str(), &before, after.as_deref().unwrap_or_default());
        if let Preview::Diff { unified: one, document, .. } = change.preview {
            unified.push_str(&one);
            documents.extend(document);
        }
        paths.push(key.to_string());
    }
    // The change of a single document is shown field by field.
    let document = documents.pop().filter(|_| paths.len() == 1);
    let diff_lines = diff_lines(&unified);
    Ok(Preview::Diff { path: paths.join(", "), unified, diff_lines, document })
}

/// The origin of the content that a plan builds on, because its preview may show any of it.
pub(crate) async fn origin_of_targets(
    cx: &ToolCx,
    targets: &[PlanTarget],
) -> Result<Origin, ToolError> {
    let area = Area::Person(cx.key.person.clone());
    let person = format!("{}/", area.path());
    let (history, objects) = (cx.files.history(&cx.key.person)?, cx.files.objects(&area)?);
    let mut origin = Origin::Person;
    for own in targets.iter().filter(|own| own.base.is_some()) {
        let file = own.target.file();
        let path = file.as_ref().and_then(|file| file.as_str().strip_prefix(&person));
        let Some(path) = path else { return Ok(Origin::External) };
        let path = key(path)?;
        // A file that was removed since shows nothing.
        let Some(object) = objects.get(&path, FILE_BYTES).await? else { continue };
        origin = origin.max(history.origin(&path, &object).await?);
    }
    Ok(origin)
}
