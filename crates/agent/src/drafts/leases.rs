use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onyx_types::DraftId;

/// Says who works on a draft: whoever applies or settles one holds its lease, so that nobody takes
/// a draft that is being applied for one that a crash left behind.
///
/// In one process a set is enough. With several processes over one store, another implementation
/// would keep the leases there.
pub(crate) trait DraftLeases: Send + Sync {
    /// Takes the draft's lease; `false`: somebody has it.
    fn acquire(&self, draft: DraftId) -> bool;

    fn release(&self, draft: DraftId);
}

/// The drafts that this process works on.
#[derive(Default)]
pub(crate) struct LocalDraftLeases(Mutex<BTreeSet<DraftId>>);

impl LocalDraftLeases {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<DraftId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DraftLeases for LocalDraftLeases {
    fn acquire(&self, draft: DraftId) -> bool {
        self.lock().insert(draft)
    }

    fn release(&self, draft: DraftId) {
        self.lock().remove(&draft);
    }
}

/// Gives the draft's lease back when it is dropped.
pub(super) struct DraftLease {
    leases: Arc<dyn DraftLeases>,
    draft: DraftId,
}

impl DraftLease {
    /// `None`: somebody works on the draft.
    pub(super) fn acquire(leases: &Arc<dyn DraftLeases>, draft: DraftId) -> Option<Self> {
        leases.acquire(draft).then(|| Self { leases: Arc::clone(leases), draft })
    }
}

impl Drop for DraftLease {
    fn drop(&mut self) {
        self.leases.release(self.draft);
    }
}

#[cfg(test)]
mod tests {
    use onyx_types::{Mint, Timestamp};

    use super::*;

    #[test]
    fn a_draft_has_one_holder_at_a_time() {
        let leases: Arc<dyn DraftLeases> = Arc::new(LocalDraftLeases::default());
        let draft = Mint::new(1).draft(Timestamp::from_millis(1));
        let held = DraftLease::acquire(&leases, draft);
        assert!(held.is_some());
        assert!(DraftLease::acquire(&leases, draft).is_none(), "somebody works on it");
        drop(held);
        assert!(DraftLease::acquire(&leases, draft).is_some(), "it was given back");
    }
}
