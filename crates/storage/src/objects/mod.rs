//! Files as the rest of the program sees them: objects under checked keys, and the areas of a person they lie in.
//! No path of the machine comes in here; `local/` stands behind the trait.

mod files;

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use onyx_types::{Hash, Timestamp};

use crate::StoreError;

pub use files::{Area, FileEnd, Files, FoundObject, Wanted};

/// A checked relative path: `/`-separated, no empty, `.` or `..` part, no NUL or other control
/// character, no backslash, at most 1,024 bytes and 255 a part.
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
    /// When content, name or anything else of it last changed. Nobody can set it back, which programs can with
    /// `modified`.
    pub changed: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    pub key: ObjectKey,
    pub size: u64,
    pub modified: Timestamp,
    /// The same as `Object::changed`; a folder's changes also when something in it comes or goes.
    pub changed: Timestamp,
    pub is_folder: bool,
}

/// A file or a folder somewhere below another, without what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub key: ObjectKey,
    pub size: u64,
    /// The hash of what the file holds; `None`: it is a folder.
    pub hash: Option<Hash>,
    pub modified: Timestamp,
}

/// What must hold for a write to happen; otherwise `StoreError::Conflict`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Anything,
    Absent,
    Is(Hash),
}

/// The files under one root. A local root is a directory handle: no key, link or race leads out
/// of it.
#[async_trait]
pub trait Objects: Send + Sync {
    /// `None` when there is none. `StoreError::Refused` for links, devices and files over
    /// `max_bytes`.
    async fn get(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<Object>, StoreError>;

    /// The last bytes of a file of any size; `None` when there is none. Stores that can do not read the rest.
    async fn end(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<FileEnd>, StoreError> {
        let whole = self.get(key, u64::MAX).await?;
        Ok(whole.map(|object| FileEnd::of(object, max_bytes)))
    }

    /// Atomic: a reader sees the old content or the new, whole. Durable when it returns.
    async fn put(&self, key: &ObjectKey, bytes: &[u8], expect: Expect) -> Result<Hash, StoreError>;

    /// Adds to the end under a lock, making the file if needed. Durable when it returns.
    async fn append(&self, key: &ObjectKey, bytes: &[u8]) -> Result<(), StoreError>;

    /// `NotFound` when there is nothing to delete. Folders are refused.
    async fn delete(&self, key: &ObjectKey, expect: Expect) -> Result<(), StoreError>;

    /// Moves a file. `expect` is about `from`; `Conflict` also when `to` exists, since replacing
    /// it would destroy what it holds.
    async fn rename(
        &self,
        from: &ObjectKey,
        to: &ObjectKey,
        expect: Expect,
    ) -> Result<(), StoreError>;

    /// Direct children of a folder (the root for `None`), sorted by name, at most `limit`. Links
    /// and devices are no objects and not listed. `NotFound` when there is no such folder.
    async fn list(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<ObjectMeta>, StoreError>;

    /// Everything below a folder (the root for `None`), each after the folder it lies in, at most `limit`. Empty where
    /// there is no such folder.
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
                    // A file without an object is gone since it was listed.
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

    /// The contents of these files of any size, in their order, each named once; `None` for each that is not a file.
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

    /// Takes a folder away that holds nothing but empty folders; one that holds more stays. Stores
    /// that only have keys have no such thing.
    async fn remove_empty(&self, _folder: &ObjectKey) -> Result<(), StoreError> {
        Ok(())
    }
}
