//! The paths of sources. Each source is in the folder of the scope that it is attached to, so that
//! its path decides who may find it.

use onyx_storage::{ObjectKey, Objects, StoreError, space_of_thread};
use onyx_types::{Scope, SourceId, SpaceId};

use crate::SourceError;

const MOST: usize = 5_000;

/// The folder of a scope's sources, within its person's folder.
pub(crate) async fn folder_of(
    person: &dyn Objects,
    scope: &Scope,
    space: Option<&SpaceId>,
) -> Result<ObjectKey, SourceError> {
    let path = match scope {
        Scope::Space(id) => {
            exists(person, &format!("spaces/{id}"), "scope.id", "there is no such space").await?;
            format!("spaces/{id}/sources")
        }
        Scope::Agent(id) => format!("memory/{id}/sources"),
        Scope::Channel(id) => {
            let space = space_of(person, "channels", id.as_str(), space).await?;
            format!("{space}/channels/{id}/sources")
        }
        Scope::Thread(id) => {
            let space = space_of(person, "threads", id.as_str(), space).await?;
            format!("{space}/threads/{id}/sources")
        }
        Scope::Person | Scope::Shared => {
            let why = "a source belongs to a space, channel, thread or agent";
            return Err(SourceError::invalid("scope.type", why));
        }
    };
    Ok(path.parse()?)
}

/// The folder and the id of every source of the person.
pub(crate) async fn all(person: &dyn Objects) -> Result<Vec<(ObjectKey, SourceId)>, SourceError> {
    let mut parents = Vec::new();
    for agent in folders(person, "memory").await? {
        parents.push(format!("{agent}/sources"));
    }
    for space in folders(person, "spaces").await? {
        parents.push(format!("{space}/sources"));
        for kind in ["channels", "threads"] {
            for holder in folders(person, &format!("{space}/{kind}")).await? {
                parents.push(format!("{holder}/sources"));
            }
        }
    }
    let mut found = Vec::new();
    for parent in parents {
        for folder in folders(person, &parent).await? {
            // A folder with another name was not made by Onyx and is not a source.
            if let Some(id) = folder.rsplit('/').next().and_then(|name| name.parse().ok()) {
                found.push((folder.parse()?, id));
            }
        }
    }
    Ok(found)
}

/// The folder for the versions of a source's texts.
pub(crate) fn kept_versions(folder: &ObjectKey) -> Result<ObjectKey, StoreError> {
    Ok(format!("history/files/{folder}").parse()?)
}

/// All files in a folder and its subfolders.
pub(crate) async fn below(
    person: &dyn Objects,
    folder: &ObjectKey,
) -> Result<Vec<ObjectKey>, SourceError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.clone()];
    while let Some(folder) = folders.pop() {
        let children = match person.list(Some(&folder), usize::MAX).await {
            Err(StoreError::NotFound) => continue,
            children => children?,
        };
        for child in children {
            if child.is_folder { folders.push(child.key) } else { files.push(child.key) }
        }
    }
    Ok(files)
}

async fn folders(person: &dyn Objects, path: &str) -> Result<Vec<String>, SourceError> {
    let children = match person.list(Some(&path.parse()?), MOST).await {
        Err(StoreError::NotFound) => return Ok(Vec::new()),
        children => children?,
    };
    let folders = children.into_iter().filter(|child| child.is_folder && !child.key.is_hidden());
    Ok(folders.map(|child| child.key.to_string()).collect())
}

/// The path of the space that a channel or thread is in: the named one, else the one whose list
/// contains it.
async fn space_of(
    person: &dyn Objects,
    kind: &str,
    id: &str,
    named: Option<&SpaceId>,
) -> Result<String, SourceError> {
    if let Some(space) = named {
        let path = format!("spaces/{space}");
        exists(person, &path, "scope.space", "there is no such space").await?;
        return Ok(path);
    }
    if kind == "threads"
        && let Some(space) = space_of_thread(person, id).await?
    {
        return Ok(format!("spaces/{space}"));
    }
    for space in folders(person, "spaces").await? {
        let listed = match person.list(Some(&format!("{space}/{kind}").parse()?), MOST).await {
            Err(StoreError::NotFound) => continue,
            listed => listed?,
        };
        let is_it = |name: &str| name == id || name.strip_suffix(".json") == Some(id);
        if listed.iter().any(|child| child.key.parts().last().is_some_and(is_it)) {
            return Ok(space);
        }
    }
    Err(SourceError::invalid("scope.id", "no space has it; name its space in `scope.space`"))
}

async fn exists(
    person: &dyn Objects,
    path: &str,
    field: &'static str,
    why: &str,
) -> Result<(), SourceError> {
    match person.list(Some(&path.parse()?), 1).await {
        Ok(_) => Ok(()),
        Err(StoreError::NotFound) => Err(SourceError::invalid(field, why)),
        Err(error) => Err(error.into()),
    }
}
