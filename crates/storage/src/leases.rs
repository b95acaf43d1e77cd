//! Rights to do what others must not do at the same time: leases of sessions, and duties.

use std::time::Duration;

use async_trait::async_trait;
use onyx_types::SessionKey;

use crate::StoreError;

/// The right to append to one session. The fence grows with every new holder and is checked at each
/// write, so a holder that was frozen past the end of its lease cannot write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub key: SessionKey,
    pub fence: u64,
}

#[async_trait]
pub trait Leases: Send + Sync {
    /// Takes the lease of a session; `StoreError::Busy` while another holder has it.
    async fn acquire(&self, key: &SessionKey, time_to_live: Duration) -> Result<Lease, StoreError>;

    /// Extends the lease; `StoreError::LeaseLost` when the caller no longer holds it.
    async fn renew(&self, lease: &Lease, time_to_live: Duration) -> Result<(), StoreError>;

    /// Gives the lease back. Releasing a lease that was lost is no error. If the store cannot be
    /// reached, this returns an error and keeps trying in the background.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;
}

/// The life of the gateway in which some work began. Once that life is over, others may take the work
/// over, and stores refuse what it still writes with `StoreError::LeaseLost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkLife {
    /// The incarnation that the gateway has when it writes. This is for work that no other gateway
    /// takes over.
    #[default]
    Current,
    /// The incarnation in which the work began.
    Of(i64),
    /// The work began after another process had taken this gateway's name, so it may not write.
    Over,
}

/// How long to wait before a duty is given back again after the database did not answer.
const GIVE_BACK_AGAIN: Duration = Duration::from_secs(1);

/// The right to do work that only one gateway does at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedDuty {
    pub name: String,
    pub fence: u64,
    pub(crate) incarnation: i64,
}

/// Work that only one gateway does at a time, such as the import of a source. Ownership lasts as
/// long as the gateway lives.
#[async_trait]
pub trait Duties: Send + Sync {
    /// Takes a duty. `None`: another living gateway has it. A gateway that already owns the duty
    /// gets the same answer again, so the caller must keep its own tasks apart.
    async fn own(&self, name: &str) -> Result<Option<OwnedDuty>, StoreError>;

    /// Whether the caller still owns the duty. It asks immediately before each effect; the call
    /// costs nothing.
    fn still_owns(&self, owned: &OwnedDuty) -> bool;

    /// Gives a duty up. Giving up one that was lost is no error.
    async fn disown(&self, owned: &OwnedDuty) -> Result<(), StoreError>;

    /// Gives a duty up, and tries again until the database answers, because the other gateways could
    /// not take it as long as this one lives.
    async fn give_back(&self, owned: &OwnedDuty) {
        while let Err(error) = self.disown(owned).await {
            tracing::warn!(duty = owned.name, %error, "a duty could not be given back yet");
            tokio::time::sleep(GIVE_BACK_AGAIN).await;
        }
    }

    /// Whether another living gateway owns the duty.
    async fn is_owned_elsewhere(&self, name: &str) -> Result<bool, StoreError>;
}

/// The duties in a single process, which does all of them itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDuties;

#[async_trait]
impl Duties for LocalDuties {
    async fn own(&self, name: &str) -> Result<Option<OwnedDuty>, StoreError> {
        Ok(Some(OwnedDuty { name: name.to_owned(), fence: 0, incarnation: 0 }))
    }

    fn still_owns(&self, _owned: &OwnedDuty) -> bool {
        true
    }

    async fn disown(&self, _owned: &OwnedDuty) -> Result<(), StoreError> {
        Ok(())
    }

    async fn is_owned_elsewhere(&self, _name: &str) -> Result<bool, StoreError> {
        Ok(false)
    }
}
