use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use onyx_storage::StoreError;
use onyx_types::DraftId;
use tokio::runtime::Handle;

/// Leases of drafts. A task that applies or settles a draft holds its lease, so that a draft that
/// is being applied is not taken for one that a crash left behind.
///
/// In one process a set is enough. Several gateways keep the leases in the store they share, and a
/// gateway that dies loses its own.
#[async_trait]
pub trait DraftLeases: Send + Sync {
    /// Takes the draft's lease; `false` if another task holds it.
    async fn acquire(&self, draft: DraftId) -> Result<bool, StoreError>;

    /// Gives the draft's lease back.
    async fn release(&self, draft: DraftId);
}

/// The leases of this process, until others are chosen.
#[derive(Default)]
pub(crate) struct ChosenDraftLeases {
    chosen: OnceLock<Arc<dyn DraftLeases>>,
    local: LocalDraftLeases,
}

impl ChosenDraftLeases {
    /// Sets the leases to use. It must be called before the first draft is worked on.
    pub(crate) fn choose(&self, leases: Arc<dyn DraftLeases>) {
        let _ = self.chosen.set(leases);
    }
}

#[async_trait]
impl DraftLeases for ChosenDraftLeases {
    async fn acquire(&self, draft: DraftId) -> Result<bool, StoreError> {
        match self.chosen.get() {
            Some(chosen) => chosen.acquire(draft).await,
            None => self.local.acquire(draft).await,
        }
    }

    async fn release(&self, draft: DraftId) {
        match self.chosen.get() {
            Some(chosen) => chosen.release(draft).await,
            None => self.local.release(draft).await,
        }
    }
}

/// The drafts that tasks of this process hold.
#[derive(Default)]
struct LocalDraftLeases(Mutex<BTreeSet<DraftId>>);

impl LocalDraftLeases {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<DraftId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl DraftLeases for LocalDraftLeases {
    async fn acquire(&self, draft: DraftId) -> Result<bool, StoreError> {
        Ok(self.lock().insert(draft))
    }

    async fn release(&self, draft: DraftId) {
        self.lock().remove(&draft);
    }
}

/// Gives the draft's lease back when it is dropped.
pub(super) struct DraftLease {
    leases: Arc<dyn DraftLeases>,
    draft: DraftId,
    ours: bool,
}

impl DraftLease {
    /// Takes the draft's lease; `None` if another task holds it.
    pub(super) async fn acquire(
        leases: &Arc<dyn DraftLeases>,
        draft: DraftId,
    ) -> Result<Option<Self>, StoreError> {
        let is_ours = leases.acquire(draft).await?;
        Ok(is_ours.then(|| Self { leases: Arc::clone(leases), draft, ours: true }))
    }

    pub(super) async fn release(mut self) {
        self.ours = false;
        self.leases.release(self.draft).await;
    }
}

impl Drop for DraftLease {
    fn drop(&mut self) {
        // The work was cancelled before it released the lease. Without a runtime the process is
        // ending, and its leases end with it.
        if self.ours
            && let Ok(runtime) = Handle::try_current()
        {
            let (leases, draft) = (Arc::clone(&self.leases), self.draft);
            runtime.spawn(async move { leases.release(draft).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use onyx_types::{IdGenerator, Timestamp};

    use super::*;

    #[tokio::test]
    async fn a_draft_has_one_holder_at_a_time() {
        let leases: Arc<dyn DraftLeases> = Arc::new(LocalDraftLeases::default());
        let draft = IdGenerator::new(1).draft(Timestamp::from_millis(1));
        let held = DraftLease::acquire(&leases, draft).await.unwrap().expect("it is free");
        assert!(DraftLease::acquire(&leases, draft).await.unwrap().is_none(), "the lease is taken");
        held.release().await;
        let again = DraftLease::acquire(&leases, draft).await.unwrap();
        assert!(again.is_some(), "it was given back");
        drop(again);
        tokio::task::yield_now().await;
        assert!(
            DraftLease::acquire(&leases, draft).await.unwrap().is_some(),
            "a dropped lease is free again"
        );
    }
}
