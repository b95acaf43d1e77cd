//! Handles commands that a crash or a kill cut off. What they wrote is not known, so every file
//! that has changed since they began counts as from outside.

use onyx_types::{Origin, Timestamp};

use crate::{Area, Files, Object, ObjectKey, Objects, StoreError};

/// How many files are recorded in one transaction.
const BATCH: usize = 200;
/// The largest file that is read here. No tool reads a longer one.
const LARGEST: u64 = 8 * 1024 * 1024;
const VAULT: &str = "vault";

/// Settles commands that were cut off. It must run before anything is read; at that time, at the
/// start of a process, no command is running.
pub(crate) async fn settle_commands_cut_off(files: &dyn Files) -> Result<(), StoreError> {
    let origins = files.origins();
    for command in origins.open_commands().await? {
        let people = files.people().await?.into_iter().map(Area::Person);
        let owner = people.into_iter().find(|area| area.path() == command.owner);
        if let Some(area) = owner {
            let changed = note_changed(files, &area, command.started_at, Origin::External).await?;
            tracing::warn!(owner = command.owner, changed, "a command was cut off");
        }
        origins.end_command(command.id).await?;
    }
    Ok(())
}

/// Records every file and folder of a vault that has changed since a time as having this origin.
/// Returns how many files there were.
pub async fn note_changed(
    files: &dyn Files,
    area: &Area,
    since: Timestamp,
    origin: Origin,
) -> Result<usize, StoreError> {
    let (objects, history) = (files.objects(area)?, files.history_of(area)?);
    let mut folders: Vec<ObjectKey> = vec![VAULT.parse()?];
    let (mut batch, mut names, mut count) = (Vec::new(), Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        let children = match objects.list(Some(&folder), usize::MAX).await {
            Err(StoreError::NotFound) => continue,
            children => children?,
        };
        for child in children {
            let has_changed = child.changed >= since;
            if has_changed {
                names.push(child.key.clone());
            }
            if child.is_folder {
                folders.push(child.key);
            } else if has_changed {
                count += 1;
                let object = held(&*objects, &child.key).await?;
                batch.push((child.key, object));
            }
            if batch.len() + names.len() >= BATCH {
                history.written(&batch, &names, origin).await?;
                batch.clear();
                names.clear();
            }
        }
    }
    history.written(&batch, &names, origin).await?;
    Ok(count)
}

async fn held(objects: &dyn Objects, key: &ObjectKey) -> Result<Option<Object>, StoreError> {
    match objects.get(key, LARGEST).await {
        // The file is too long or is not a plain file, so its content is not recorded.
        Err(StoreError::Refused(_) | StoreError::NotFound) => Ok(None),
        read => read,
    }
}
