use std::sync::Arc;

use async_trait::async_trait;
use onyx_storage::{Area, Files, Objects, Origins, StoreError};
use onyx_types::{AgentId, PersonId};

/// The files of a gateway whose leases were taken over. Here the files themselves refuse nothing.
pub(crate) struct LostLife(pub(crate) Arc<dyn Files>);

#[async_trait]
impl Files for LostLife {
    fn objects(&self, area: &Area) -> Result<Arc<dyn Objects>, StoreError> {
        self.0.objects(area)
    }

    fn incarnation(&self) -> Result<i64, StoreError> {
        Err(StoreError::LeaseLost)
    }

    fn origins(&self) -> Arc<dyn Origins> {
        self.0.origins()
    }

    async fn people(&self) -> Result<Vec<PersonId>, StoreError> {
        self.0.people().await
    }

    async fn agents(&self) -> Result<Vec<AgentId>, StoreError> {
        self.0.agents().await
    }
}
