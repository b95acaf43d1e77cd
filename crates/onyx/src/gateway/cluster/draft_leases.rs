//! Leases of drafts among all gateways. A lease is named after its draft in the database, which lets
//! a gateway take the same lease twice, so this also keeps the gateway's own tasks apart.
//!
//! If the answer to the taking of a lease is lost, the database may say that this gateway has it while
//! no task does. Such a lease is given back, because nobody else could take it as long as this gateway
//! lives.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use onyx_agent::DraftLeases;
use onyx_storage::{Draft, OwnedDuty, StoreError};
use onyx_types::DraftId;
use tokio::runtime::Handle;

use crate::gateway::storage::SharedStorage;

/// How long the decision of a draft waits for the release of its lease.
const RELEASE_PATIENCE: Duration = Duration::from_millis(500);
/// When to look for the first time whether a lease was taken without an answer.
const FIRST_LOOK: Duration = Duration::from_millis(250);
const SLOWEST_LOOKS: Duration = Duration::from_secs(4);
/// How often to look, because the request may also arrive late. The last look is after half a minute.
const LOOKS: u32 = 11;

/// Cloning is cheap.
#[derive(Clone)]
pub(super) struct SharedDraftLeases {
    shared: Arc<SharedStorage>,
    taken: Arc<Mutex<BTreeMap<String, TakenLease>>>,
}

/// A lease that no other task of this gateway gets now.
enum TakenLease {
    /// A task asks the database for it.
    Asked,
    /// A task works on its draft, or it is being given back.
    Held(OwnedDuty),
}

impl SharedDraftLeases {
    pub(super) fn new(shared: Arc<SharedStorage>) -> Self {
        Self { shared, taken: Arc::default() }
    }

    /// `false` if this or another gateway has the lease.
    async fn take(&self, name: &str) -> Result<bool, StoreError> {
        let Some(asked) = AskedLease::begin(self, name) else { return Ok(false) };
        let owned = self.shared.membership.own(name).await?;
        Ok(asked.answered(owned))
    }

    /// While the database is away this tries again, even if the caller does not wait any more, and
    /// until then no other task of this gateway gets the lease.
    async fn give_back(&self, name: &str) {
        let owned = match self.taken().get(name) {
            Some(TakenLease::Held(owned)) => owned.clone(),
            Some(TakenLease::Asked) | None => return,
        };
        let leases = self.clone();
        let released = tokio::spawn(async move {
            leases.shared.membership.give_back(&owned).await;
            leases.taken().remove(&owned.name);
        });
        // If the database is away, whoever decided the draft should not wait for it.
        let _ = tokio::time::timeout(RELEASE_PATIENCE, released).await;
    }

    /// Gives a lease back that this gateway may have taken without an answer. A task that asks for it
    /// meanwhile gets it, and gives it back itself.
    async fn give_back_unanswered(self, name: String) {
        let mut wait = FIRST_LOOK;
        for _ in 0..LOOKS {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(SLOWEST_LOOKS);
            if self.is_left_behind(&name).await && matches!(self.take(&name).await, Ok(true)) {
                self.give_back(&name).await;
                tracing::info!(name, "a lease that was taken without an answer is free again");
                return;
            }
        }
    }

    /// Whether the database says that this gateway has the lease, and no task of it does.
    async fn is_left_behind(&self, name: &str) -> bool {
        if self.taken().contains_key(name) {
            return false;
        }
        match self.shared.membership.owner(name).await {
            Ok(owner) => owner.as_deref() == Some(self.shared.membership.id()),
            Err(error) => {
                tracing::debug!(name, %error, "the owner of a lease could not be looked up");
                false
            }
        }
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<String, TakenLease>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl DraftLeases for SharedDraftLeases {
    async fn acquire(&self, draft: DraftId) -> Result<bool, StoreError> {
        self.take(&Draft::lease_name(draft)).await
    }

    async fn release(&self, draft: DraftId) {
        self.give_back(&Draft::lease_name(draft)).await;
    }
}

/// A lease that the database is asked for. If the answer is lost, or nobody waits for it any more, the
/// lease is given back.
struct AskedLease<'a> {
    leases: &'a SharedDraftLeases,
    name: &'a str,
    is_answered: bool,
}

impl<'a> AskedLease<'a> {
    /// `None` if another task of this gateway has the lease or asks for it.
    fn begin(leases: &'a SharedDraftLeases, name: &'a str) -> Option<Self> {
        match leases.taken().entry(name.to_owned()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(free) => free.insert(TakenLease::Asked),
        };
        Some(Self { leases, name, is_answered: false })
    }

    /// Whether the lease is this gateway's now.
    fn answered(mut self, owned: Option<OwnedDuty>) -> bool {
        self.is_answered = true;
        let mut taken = self.leases.taken();
        match owned {
            Some(owned) => {
                taken.insert(self.name.to_owned(), TakenLease::Held(owned));
                true
            }
            None => {
                taken.remove(self.name);
                false
            }
        }
    }
}

impl Drop for AskedLease<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        self.leases.taken().remove(self.name);
        // Without a runtime the process is ending, and its leases end with it.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(self.leases.clone().give_back_unanswered(self.name.to_owned()));
        }
    }
}
