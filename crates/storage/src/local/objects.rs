use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::Hash;

use crate::blocking::Blocking;
use crate::{
    Expect, FileEnd, FileLookup, FoundObject, Object, ObjectKey, ObjectMeta, Objects, StoreError,
};

use super::beneath::Dir;
use super::object_files::{ObjectFiles, PathLocks};
use super::ops::{FileOps, SystemFiles};

/// Files under one folder of this machine, through a handle of that folder.
#[derive(Clone)]
pub struct LocalObjects {
    files: Arc<ObjectFiles>,
    blocking: Blocking,
}

impl fmt::Debug for LocalObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalObjects").finish_non_exhaustive()
    }
}

impl LocalObjects {
    /// Opens a root of its own, such as an agent's workspace outside the home.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::open_with(folder, Arc::new(SystemFiles))
    }

    pub fn open_with(folder: &Path, ops: Arc<dyn FileOps>) -> Result<Self, StoreError> {
        let root = Dir::open_root(folder)?;
        let locks = Arc::new(PathLocks::new()?);
        Ok(Self::beneath(root, ops, locks, String::new(), Blocking::new()))
    }

    pub(crate) fn beneath(
        root: Dir,
        ops: Arc<dyn FileOps>,
        locks: Arc<PathLocks>,
        lock_prefix: String,
        blocking: Blocking,
    ) -> Self {
        let files = ObjectFiles::new(root, ops, locks, lock_prefix);
        Self { files: Arc::new(files), blocking }
    }

    pub(crate) fn is_at(&self, folder: &Dir) -> Result<bool, StoreError> {
        self.files.is_at(folder)
    }

    /// Looks a file up. This blocks on the disk.
    pub(crate) fn find(&self, wanted: &FileLookup) -> Result<FoundObject, StoreError> {
        match wanted {
            FileLookup::File { key, max_bytes } => {
                Ok(self.files.get(key, *max_bytes)?.map_or(FoundObject::Nothing, FoundObject::File))
            }
            FileLookup::End { key, max_bytes } => {
                Ok(self.files.end(key, *max_bytes)?.map_or(FoundObject::Nothing, FoundObject::End))
            }
            FileLookup::Folder { key, limit } => match self.files.list(Some(key), *limit) {
                Err(StoreError::NotFound) => Ok(FoundObject::Nothing),
                listed => listed.map(FoundObject::Folder),
            },
        }
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ObjectFiles) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let files = Arc::clone(&self.files);
        self.blocking.run(move || work(&files)).await
    }
}

#[async_trait]
impl Objects for LocalObjects {
    async fn get(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<Object>, StoreError> {
        let key = key.clone();
        self.run(move |files| files.get(&key, max_bytes)).await
    }

    async fn end(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<FileEnd>, StoreError> {
        let key = key.clone();
        self.run(move |files| files.end(&key, max_bytes)).await
    }

    async fn put(&self, key: &ObjectKey, bytes: &[u8], expect: Expect) -> Result<Hash, StoreError> {
        let (key, bytes) = (key.clone(), bytes.to_vec());
        self.run(move |files| files.put(&key, &bytes, expect)).await
    }

    async fn append(&self, key: &ObjectKey, bytes: &[u8]) -> Result<(), StoreError> {
        let (key, bytes) = (key.clone(), bytes.to_vec());
        self.run(move |files| files.append(&key, &bytes)).await
    }

    async fn delete(&self, key: &ObjectKey, expect: Expect) -> Result<(), StoreError> {
        let key = key.clone();
        self.run(move |files| files.delete(&key, expect)).await
    }

    async fn rename(
        &self,
        from: &ObjectKey,
        to: &ObjectKey,
        expect: Expect,
    ) -> Result<(), StoreError> {
        let (from, to) = (from.clone(), to.clone());
        self.run(move |files| files.rename(&from, &to, expect)).await
    }

    async fn list(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<ObjectMeta>, StoreError> {
        let folder = folder.cloned();
        self.run(move |files| files.list(folder.as_ref(), limit)).await
    }

    async fn remove_empty(&self, folder: &ObjectKey) -> Result<(), StoreError> {
        let folder = folder.clone();
        self.run(move |files| files.remove_empty(&folder)).await
    }
}
