//! The same folder in the vaults of many people, read with few trips to the store.

use onyx_storage::{
    Area, FileLookup, Files, FoundObject, Object, ObjectKey, ObjectMeta, StoreError,
};
use onyx_types::PersonId;

/// How many folders or files are looked up at once.
const TOGETHER: usize = 128;

/// A file in a person's vault.
pub(crate) struct VaultFile {
    pub(crate) person: PersonId,
    pub(crate) key: ObjectKey,
}

/// Lists a folder of each person, in the order of the people. A person who has no such folder has an
/// empty one.
pub(crate) async fn list_folders(
    files: &dyn Files,
    people: &[PersonId],
    folder: &ObjectKey,
    limit: usize,
) -> Result<Vec<Result<Vec<ObjectMeta>, StoreError>>, StoreError> {
    let mut listed = Vec::with_capacity(people.len());
    for some in people.chunks(TOGETHER) {
        let lookup = |person: &PersonId| {
            let folder = FileLookup::Folder { key: folder.clone(), limit };
            (Area::Vault(person.clone()), folder)
        };
        let found = files.find(some.iter().map(lookup).collect()).await?;
        listed.extend(found.into_iter().map(|found| match found {
            Ok(FoundObject::Folder(entries)) => Ok(entries),
            Ok(FoundObject::Nothing | FoundObject::File(_) | FoundObject::End(_))
            | Err(StoreError::NotFound) => Ok(Vec::new()),
            Err(error) => Err(error),
        }));
    }
    Ok(listed)
}

/// Reads files in their order. `None`: there is no such file any more.
pub(crate) async fn read_files(
    files: &dyn Files,
    wanted: &[VaultFile],
    max_bytes: u64,
) -> Result<Vec<Result<Option<Object>, StoreError>>, StoreError> {
    let mut read = Vec::with_capacity(wanted.len());
    for some in wanted.chunks(TOGETHER) {
        let lookup = |file: &VaultFile| {
            let key = file.key.clone();
            (Area::Vault(file.person.clone()), FileLookup::File { key, max_bytes })
        };
        let found = files.find(some.iter().map(lookup).collect()).await?;
        read.extend(found.into_iter().map(|found| match found {
            Ok(FoundObject::File(object)) => Ok(Some(object)),
            Ok(FoundObject::Nothing | FoundObject::Folder(_) | FoundObject::End(_)) => Ok(None),
            Err(error) => Err(error),
        }));
    }
    Ok(read)
}
