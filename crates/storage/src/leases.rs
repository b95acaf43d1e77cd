use std::time::Duration;

use async_trait::async_trait;
use onyx_types::SessionKey;

use crate::StoreError;

/// The right to append to one session. The fence grows with every new holder and is checked at
/// each write, so a holder that froze past its time cannot write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub key: SessionKey,
    pub fence: u64,
}

#[async_trait]
pub trait Leases: Send + Sync {
    /// `StoreError::Busy` while another holder has it.
    async fn acquire(&self, key: &SessionKey, time_to_live: Duration) -> Result<Lease, StoreError>;

    /// `StoreError::LeaseLost` when it is no longer ours.
    async fn renew(&self, lease: &Lease, time_to_live: Duration) -> Result<(), StoreError>;

    /// Releasing a lease that was lost already is not an error. If the store cannot be reached, this returns an error and
    /// keeps trying in the background.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;
}
