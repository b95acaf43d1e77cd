use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use onyx_storage::{
    Area, Expect, Files, Object, ObjectKey, ObjectMeta, Objects, Origins, StoreError,
};
use onyx_types::{AgentId, Hash, PersonId};

/// Another writer that changes a file of the vault at a chosen moment of a call.
pub(crate) struct Meddling {
    inner: Arc<dyn Files>,
    when: When,
    content: &'static str,
    gets: Arc<AtomicUsize>,
}

impl Meddling {
    pub(crate) fn new(inner: Arc<dyn Files>, when: When, content: &'static str) -> Arc<Self> {
        Arc::new(Self { inner, when, content, gets: Arc::default() })
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// The write happens just before the n-th read of a file, counted from 1.
    BeforeGet(usize),
    BeforePut,
}

#[async_trait]
impl Files for Meddling {
    fn objects(&self, area: &Area) -> Result<Arc<dyn Objects>, StoreError> {
        let objects = self.inner.objects(area)?;
        match area {
            Area::Vault(_) | Area::Memory(..) => Ok(Arc::new(MeddledObjects {
                inner: objects,
                when: self.when,
                content: self.content,
                gets: Arc::clone(&self.gets),
            })),
            Area::Agent(_) | Area::Person(_) | Area::Shared => Ok(objects),
        }
    }

    fn origins(&self) -> Arc<dyn Origins> {
        self.inner.origins()
    }

    async fn people(&self) -> Result<Vec<PersonId>, StoreError> {
        self.inner.people().await
    }

    async fn agents(&self) -> Result<Vec<AgentId>, StoreError> {
        self.inner.agents().await
    }
}

struct MeddledObjects {
    inner: Arc<dyn Objects>,
    when: When,
    content: &'static str,
    gets: Arc<AtomicUsize>,
}

impl MeddledObjects {
    async fn meddle(&self, key: &ObjectKey) {
        self.inner.put(key, self.content.as_bytes(), Expect::Anything).await.unwrap();
    }
}

#[async_trait]
impl Objects for MeddledObjects {
    async fn get(&self, key: &ObjectKey, max_bytes: u64) -> Result<Option<Object>, StoreError> {
        let count = self.gets.fetch_add(1, Ordering::Relaxed) + 1;
        if matches!(self.when, When::BeforeGet(n) if n == count) {
            self.meddle(key).await;
        }
        self.inner.get(key, max_bytes).await
    }

    async fn put(&self, key: &ObjectKey, bytes: &[u8], expect: Expect) -> Result<Hash, StoreError> {
        if matches!(self.when, When::BeforePut) {
            self.meddle(key).await;
        }
        self.inner.put(key, bytes, expect).await
    }

    async fn append(&self, key: &ObjectKey, bytes: &[u8]) -> Result<(), StoreError> {
        self.inner.append(key, bytes).await
    }

    async fn delete(&self, key: &ObjectKey, expect: Expect) -> Result<(), StoreError> {
        self.inner.delete(key, expect).await
    }

    async fn rename(
        &self,
        from: &ObjectKey,
        to: &ObjectKey,
        expect: Expect,
    ) -> Result<(), StoreError> {
        self.inner.rename(from, to, expect).await
    }

    async fn list(
        &self,
        folder: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<ObjectMeta>, StoreError> {
        self.inner.list(folder, limit).await
    }
}
