//! What a plan makes of files: shown, done, and looked at again.

use onyx_storage::Area;
use onyx_types::{FileChange, Hash, Origin, Plan, Preview, Target};

use super::place::FILE_BYTES;
use super::{Place, Writer};
use crate::paths::key;
use crate::text::diff::Change;
use crate::{ToolCx, ToolError};

/// Does what the plan's changes say, and nothing where something has changed since. What holds
/// already what it should is left alone, so that a plan that was cut off can be finished.
pub(crate) async fn apply(plan: &Plan, cx: &ToolCx) -> Result<(), ToolError> {
    let mut open = Vec::new();
    for change in &plan.changes {
        let (place, key) = Place::holding(cx, &change.target)?;
        let base = plan.target(&change.target).and_then(|target| target.base);
        let current = place.get(&key).await?.map(|object| object.hash);
        if current == base {
            open.push((place, key, base, change));
        } else if current != change.after_hash() {
            return Err(ToolError::Conflict(key.to_string()));
        }
    }
    let by = Writer { cx, tool: &plan.tool };
    for (place, key, base, change) in open {
        match &change.after {
            Some(text) => {
                let origin = by.origin().max(change.origin);
                place.put(&key, text, base, &by, origin).await?;
            }
            None if base.is_none() => {}
            None => place.remove(&key, base, &by).await?,
        }
    }
    Ok(())
}

/// What a target holds now.
pub(crate) async fn current_hash(cx: &ToolCx, name: &str) -> Result<Option<Hash>, ToolError> {
    let (place, key) = Place::holding(cx, name)?;
    Ok(place.get(&key).await?.map(|object| object.hash))
}

/// What the plan's changes make of what is on disk now.
pub(crate) async fn diff_to_disk(plan: &Plan, cx: &ToolCx) -> Result<Preview, ToolError> {
    let (mut paths, mut unified) = (Vec::new(), String::new());
    for FileChange { target, after, .. } in &plan.changes {
        let (place, key) = Place::holding(cx, target)?;
        let before = place.shown(&key).await?;
        let change = Change::between(key.as_str(), &before, after.as_deref().unwrap_or_default());
        if let Preview::Diff { unified: one, .. } = change.preview {
            unified.push_str(&one);
        }
        paths.push(key.to_string());
    }
    Ok(Preview::Diff { path: paths.join(", "), unified })
}

/// Where the content that a plan builds on came from: its preview may show any of it.
pub(crate) async fn origin_of_targets(
    cx: &ToolCx,
    targets: &[Target],
) -> Result<Origin, ToolError> {
    let area = Area::Person(cx.key.person.clone());
    let person = format!("{}/", area.path());
    let (history, objects) = (cx.files.history(&cx.key.person)?, cx.files.objects(&area)?);
    let mut origin = Origin::Person;
    for target in targets.iter().filter(|target| target.base.is_some()) {
        let Some(path) = target.name.strip_prefix(&person) else { return Ok(Origin::External) };
        let path = key(path)?;
        // Gone since, it shows nothing.
        let Some(object) = objects.get(&path, FILE_BYTES).await? else { continue };
        origin = origin.max(history.origin(&path, &object).await?);
    }
    Ok(origin)
}
