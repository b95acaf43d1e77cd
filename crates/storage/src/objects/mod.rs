//! Files as the rest of the program sees them: objects under checked keys, in the areas of people
//! and agents. Paths of the machine do not appear here; `local/` and `postgres/files` implement the
//! traits.

mod files;

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use onyx_types::{Hash, Timestamp};

use crate::StoreError;

pub use files::{Area, FileEnd, FileLookup, Files, FoundObject};

/// A checked relative path, with parts separated by `/`. No part is empty, `.` or `..`; there are
/// no control characters and no backslash. A key has at most 1,024 bytes and a part at most 255.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is not a path inside this folder: {why}")]
pub struct ObjectKeyError {
    path: String,
    why: &'static str,
}

impl ObjectKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Whether some part starts with a dot.
    pub fn is_hidden(&self) -> bool {
        self.parts().any(|part| part.starts_with('.'))
    }

    pub fn join(&self, rest: &str) -> Result<Self, ObjectKeyError> {
        format!("{}/{rest}", self.0).parse()
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ObjectKey {
    type Err = ObjectKeyError;

    fn from_str(path: &str) -> Result<Self, ObjectKeyError> {
        match flaw(path) {
            None => Ok(Self(path.to_owned())),
            Some(why) => Err(ObjectKeyError { path: path.chars().take(200).collect(), why }),
        }
    }
}

fn flaw(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.len() > 1024 {
        return Some("it is longer than 1,024 bytes");
    }
    if path.starts_with('/') {
        return Some("it is absolute");
    }
    if path.contains('\\') {
        return Some("it contains a backslash");
    }
    if path.chars().any(char::is_control) {
        return Some("it contains a control character");
    }
    path.split('/').find_map(|part| match part {
        "" => Some("it has an empty part"),
        "." | ".." => Some("it has a `.` or `..` part"),
        _ if part.len() > 255 => Some("a part is longer than 255 bytes"),
        _ => None,
    })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub bytes: Vec<u8>,
    pub hash: Hash,
    pub modified: Timestamp,
    /// When anything about the file last changed: content, name or other properties. Programs can
    /// set `modified` back, but not this time.
    pub changed: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    pub key: ObjectKey,
    pub size: u64,
    pub modified: Timestamp,
    /// The time of the last change, as in `Object::changed`. A folder also changes when an entry is
    /// added or removed.
    pub changed: Timestamp,
    pub is_folder: bool,
}

/// A file or a folder somewhere below another, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub key: ObjectKey,
    pub size: u64,
    /// The hash of the file's content; `None`: it is a folder.
    pub hash: Option<Hash>,
    pub modified: Timestamp,
}

/// The condition for a write; if it does not hold, the write fails with `StoreError::Conflict`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Anything,
    Absent,
    Is(Hash),
}

/// The files under one root. A local root is a directory handle, so no key, link or race leads out
/// of it.
#[async_trait]
pub trait Objects: Send + Sync {
    /// Reads a file; `None` when there is none. `StoreError::Refused` for links, devices and files
    /// over `max_bytes`.
    async fn get(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<Object>, StoreError>;

    /// Reads the last bytes of a file of any size; `None` when there is no file. Stores that can
    /// avoid it do not read the rest.
    async fn end(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<FileEnd>, StoreError> {
        let whole = self.get(key, u64::MAX).await?;
        Ok(whole.map(|object| FileEnd::of(object, max_bytes)))
    }

    /// Writes a file atomically: a reader sees either the old content or the new one, complete. It
    /// is durable when this returns.
    async fn put(&self, key: &ObjectKey, bytes: &[u8], expect: Expect) -> Result<Hash, StoreError>;

    /// Appends to a file under a lock and creates the file if needed. It is durable when this
    /// returns.
    async fn append(&self, key: &ObjectKey, bytes: &[u8]) -> Result<(), StoreError>;

    /// Deletes a file; `NotFound` when there is none. Folders are refused.
    async fn delete(&self, key: &ObjectKey, expect: Expect) -> Result<(), StoreError>;

    /// Moves a file. `expect` is about the file at `from`. `Conflict` also when `to` exists,
    /// because replacing it would destroy its content.
    async fn rename(
        &self,
        from: &ObjectKey,
        to: &ObjectKey,
        expect: Expect,
    ) -> Result<(), StoreError>;

    /// Lists the direct children of a folder (the root for `None`), sorted by name, at most
    /// `limit`. Links and devices are not listed. `NotFound` when there is no such folder.
    async fn list(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<ObjectMeta>, StoreError>;

    /// Lists everything below a folder (the root for `None`), each entry after the folder that
    /// contains it, at most `limit`. The list is empty if there is no such folder.
    async fn tree(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<TreeEntry>, StoreError> {
        let (mut found, mut folders) = (Vec::new(), vec![folder.cloned()]);
        while let Some(folder) = folders.pop() {
            let children = match self.list(folder.as_ref(), limit - found.len()).await {
                Err(StoreError::NotFound) => continue,
                children => children?,
            };
            for ObjectMeta { key, size, modified, is_folder, .. } in children {
                let hash = if is_folder {
                    folders.push(Some(key.clone()));
                    None
                } else {
                    // A file that cannot be found was removed since it was listed.
                    let Some(object) = self.get(&key, u64::MAX).await? else { continue };
                    Some(object.hash)
                };
                found.push(TreeEntry { key, size, hash, modified });
            }
            if found.len() >= limit {
                break;
            }
        }
        Ok(found)
    }

    /// Reads files of any size, in the order of the keys, which must differ. `None` for each key
    /// that is not a file.
    async fn get_all(&self, keys: &[ObjectKey]) -> Result<Vec<Option<Object>>, StoreError> {
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            found.push(match self.get(key, u64::MAX).await {
                Err(StoreError::Refused(_)) => None,
                read => read?,
            });
        }
        Ok(found)
    }

    /// Removes a folder that contains nothing but empty folders; any other folder stays. Stores
    /// that have only keys and no folders do nothing.
    async fn remove_empty(&self, _folder: &ObjectKey) -> Result<(), StoreError> {
        Ok(())
    }
}
