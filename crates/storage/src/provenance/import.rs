//! Imports origins from the file histories, once, into homes that are older than the table of
//! origins.

use onyx_types::Origin;

use super::history::MANIFEST;
use super::{OriginNote, prints};
use crate::{Area, Files, ObjectKey, StoreError};

const VERSIONS: &str = "/.versions";
const FILES: &str = "history/files";

/// Imports the histories of every person and agent who has files here.
pub(crate) async fn import_histories(files: &dyn Files) -> Result<(), StoreError> {
    let people = files.people().await?.into_iter().map(Area::Person);
    let areas: Vec<Area> =
        people.chain(files.agents().await?.into_iter().map(Area::Agent)).collect();
    for area in areas {
        import(files, &area).await?;
    }
    Ok(())
}

async fn import(files: &dyn Files, area: &Area) -> Result<(), StoreError> {
    let (objects, history) = (files.objects(area)?, files.history_of(area)?);
    let mut folders: Vec<ObjectKey> = vec![FILES.parse()?];
    while let Some(folder) = folders.pop() {
        let children = match objects.list(Some(&folder), usize::MAX).await {
            Err(StoreError::NotFound) => continue,
            children => children?,
        };
        let Some(path) = folder.as_str().strip_suffix(VERSIONS) else {
            folders.extend(
                children.into_iter().filter(|child| child.is_folder).map(|child| child.key),
            );
            continue;
        };
        let Some(path) = path.strip_prefix(FILES).and_then(|path| path.strip_prefix('/')) else {
            continue;
        };
        let mut notes = Vec::new();
        for version in history.read_list(&folder.join(MANIFEST)?).await? {
            let origin = version.change.origin;
            let is_named = version.before.is_none() && origin.taints();
            notes.push(OriginNote {
                path: path.to_owned(),
                hash: version.after,
                origin,
                prints: Vec::new(),
                names: if is_named { vec![path.to_owned()] } else { Vec::new() },
            });
        }
        if let Some(newest) = notes.last_mut().filter(|note| note.origin.taints())
            && let Ok(Some(object)) = objects.get(&path.parse()?, LARGEST).await
            && newest.hash == Some(object.hash)
            && let Ok(text) = std::str::from_utf8(&object.bytes)
        {
            newest.prints = prints::kept(text);
        }
        let worst = notes.iter().map(|note| note.origin).max();
        if worst.is_some_and(Origin::taints) {
            files.origins().note(&area.path(), notes).await?;
        }
    }
    Ok(())
}

/// The largest text for which prints are made. Longer texts are only recognised byte by byte.
const LARGEST: u64 = 8 * 1024 * 1024;
