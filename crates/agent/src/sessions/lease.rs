use std::ops::Deref;
use std::sync::Arc;

use onyx_storage::{Lease, Leases};
use tokio::runtime::Handle;

/// A session's lease that is given back when it is dropped. A client may disconnect during any
/// request, and its session must be free for the next one.
pub(crate) struct LeaseGuard {
    leases: Arc<dyn Leases>,
    lease: Lease,
    /// Whether this guard still has to give the lease back.
    ours: bool,
}

impl LeaseGuard {
    pub(super) fn new(leases: Arc<dyn Leases>, lease: Lease) -> Self {
        Self { leases, lease, ours: true }
    }

    pub(crate) async fn release(mut self) {
        release(&*self.leases, &self.lease).await;
        self.ours = false;
    }

    /// Hands the lease to the run's driver, which gives it back.
    pub(crate) fn hand_over(mut self) -> Lease {
        self.ours = false;
        self.lease.clone()
    }
}

impl Deref for LeaseGuard {
    type Target = Lease;

    fn deref(&self) -> &Lease {
        &self.lease
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        // Without a runtime the process is ending. The lease then ends with the process, or when it
        // expires.
        if self.ours
            && let Ok(runtime) = Handle::try_current()
        {
            let (leases, lease) = (Arc::clone(&self.leases), self.lease.clone());
            runtime.spawn(async move { release(&*leases, &lease).await });
        }
    }
}

async fn release(leases: &dyn Leases, lease: &Lease) {
    if let Err(error) = leases.release(lease).await {
        tracing::warn!(session = %lease.key.session, %error, "a lease could not be released");
    }
}
