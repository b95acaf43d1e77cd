//! Reports every file that this process writes, so that the next search finds it.

use std::sync::Arc;

use onyx_storage::{
    Area, Expect, FileEnd, FileLookup, Files, FoundObject, Object, ObjectKey, ObjectMeta, Objects,
    Origins, StoreError, TreeEntry, WorkLife,
};
use onyx_types::{AgentId, Hash, PersonId};

use crate::files::changes::{FileChanges, WrittenPlace};
use crate::files::places::key_in;

/// Wraps files, and reports every write through it to `changes`.
pub(crate) struct ObservedFiles {
    files: Arc<dyn Files>,
    changes: Arc<FileChanges>,
}

impl ObservedFiles {
    pub(crate) fn new(files: Arc<dyn Files>, changes: Arc<FileChanges>) -> Self {
        Self { files, changes }
    }
}

#[async_trait::async_trait]
impl Files for ObservedFiles {
    fn objects(&self, area: &Area) -> Result<Arc<dyn Objects>, StoreError> {
        let objects = self.files.objects(area)?;
        let changes = Arc::clone(&self.changes);
        Ok(Arc::new(ObservedObjects { objects, area: area.clone(), changes }))
    }

    async fn find(
        &self,
        wanted: Vec<(Area, FileLookup)>,
    ) -> Result<Vec<Result<FoundObject, StoreError>>, StoreError> {
        self.files.find(wanted).await
    }

    fn incarnation(&self) -> Result<i64, StoreError> {
        self.files.incarnation()
    }

    fn of_this_life(&self) -> Option<Arc<dyn Files>> {
        let files = self.files.of_this_life()?;
        Some(Arc::new(Self { files, changes: Arc::clone(&self.changes) }))
    }

    fn life(&self) -> WorkLife {
        self.files.life()
    }

    fn origins(&self) -> Arc<dyn Origins> {
        self.files.origins()
    }

    async fn people(&self) -> Result<Vec<PersonId>, StoreError> {
        self.files.people().await
    }

    async fn agents(&self) -> Result<Vec<AgentId>, StoreError> {
        self.files.agents().await
    }
}

struct ObservedObjects {
    objects: Arc<dyn Objects>,
    area: Area,
    changes: Arc<FileChanges>,
}

impl ObservedObjects {
    /// Reports a write. It is called after a failed write too, because part of it may have been
    /// written.
    fn wrote(&self, key: &ObjectKey) {
        if matches!(self.area, Area::Agent(_)) {
            self.changes.touch(WrittenPlace::Agents);
        }
        if let Some(key) = key_in(&self.area, key.as_str()) {
            self.changes.file_changed(key);
        }
    }
}

#[async_trait::async_trait]
impl Objects for ObservedObjects {
    async fn get(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<Object>, StoreError> {
        self.objects.get(key, max_bytes).await
    }

    async fn end(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<FileEnd>, StoreError> {
        self.objects.end(key, max_bytes).await
    }

    async fn put(&self, key: &ObjectKey, bytes: &[u8], expect: Expect) -> Result<Hash, StoreError> {
        let put = self.objects.put(key, bytes, expect).await;
        self.wrote(key);
        put
    }

    async fn append(&self, key: &ObjectKey, bytes: &[u8]) -> Result<(), StoreError> {
        let appended = self.objects.append(key, bytes).await;
        self.wrote(key);
        appended
    }

    async fn delete(&self, key: &ObjectKey, expect: Expect) -> Result<(), StoreError> {
        let deleted = self.objects.delete(key, expect).await;
        self.wrote(key);
        deleted
    }

    async fn rename(
        &self,
        from: &ObjectKey,
        to: &ObjectKey,
        expect: Expect,
    ) -> Result<(), StoreError> {
        let renamed = self.objects.rename(from, to, expect).await;
        // The new name is reported first, so that its chunks take over the vectors of the old one.
        self.wrote(to);
        self.wrote(from);
        renamed
    }

    async fn list(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<ObjectMeta>, StoreError> {
        self.objects.list(folder, limit).await
    }

    async fn tree(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<TreeEntry>, StoreError> {
        self.objects.tree(folder, limit).await
    }

    async fn get_all(&self, keys: &[ObjectKey]) -> Result<Vec<Option<Object>>, StoreError> {
        self.objects.get_all(keys).await
    }

    async fn remove_empty(&self, folder: &ObjectKey) -> Result<(), StoreError> {
        self.objects.remove_empty(folder).await
    }
}
