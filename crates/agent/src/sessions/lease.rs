//! A lease that is given back when whoever took it goes away: a client may hang up in the middle
//! of any request, and its session must be free for the next one.

use std::ops::Deref;

use onyx_storage::Lease;
use tokio::runtime::Handle;

use crate::RunManager;

pub(crate) struct HeldLease {
    manager: RunManager,
    lease: Lease,
    /// Nobody has given it back yet, or taken that over.
    ours: bool,
}

impl HeldLease {
    pub(crate) fn new(manager: RunManager, lease: Lease) -> Self {
        Self { manager, lease, ours: true }
    }

    pub(crate) async fn release(mut self) {
        self.manager.release(&self.lease).await;
        self.ours = false;
    }

    /// From here on somebody else gives it back.
    pub(crate) fn hand_over(mut self) {
        self.ours = false;
    }
}

impl Deref for HeldLease {
    type Target = Lease;

    fn deref(&self) -> &Lease {
        &self.lease
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and the lease ends with it or by its time.
        if let (true, Ok(runtime)) = (self.ours, Handle::try_current()) {
            let (manager, lease) = (self.manager.clone(), self.lease.clone());
            runtime.spawn(async move { manager.release(&lease).await });
        }
    }
}
