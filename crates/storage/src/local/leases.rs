use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{Clock, SessionKey};

use crate::blocking::lock;
use crate::{Lease, Leases, StoreError};

/// The leases of one process. The home's lock file keeps other processes out, so memory is enough;
/// only held leases take any.
#[derive(Clone, Debug)]
pub(crate) struct LocalLeases {
    clock: Arc<dyn Clock>,
    table: Arc<Mutex<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    last_fence: u64,
    held: HashMap<SessionKey, HeldLease>,
}

#[derive(Debug)]
struct HeldLease {
    fence: u64,
    /// The expiry on the monotonic clock, because a jump of the wall clock must take no lease away.
    expires: Duration,
    released: bool,
    /// The number of writes in progress. While there are any, the session goes to no other holder,
    /// even if the lease expires meanwhile, so a write that began in time cannot land after a new
    /// holder's writes.
    writes: u32,
}

impl LocalLeases {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, table: Arc::default() }
    }

    /// Checks that the lease is still valid and keeps it so for one write.
    pub(crate) fn begin_write(&self, lease: &Lease) -> Result<WriteGuard, StoreError> {
        let now = self.clock.now().mono;
        let mut table = lock(&self.table);
        let held = current(&mut table, lease, now)?;
        held.writes += 1;
        Ok(WriteGuard { table: Arc::clone(&self.table), lease: lease.clone() })
    }
}

fn current<'a>(
    table: &'a mut Table,
    lease: &Lease,
    now: Duration,
) -> Result<&'a mut HeldLease, StoreError> {
    match table.held.get_mut(&lease.key) {
        Some(held) if held.fence == lease.fence && !held.released && now < held.expires => Ok(held),
        _ => Err(StoreError::LeaseLost),
    }
}

/// A write that passed the check and is in progress.
#[derive(Debug)]
pub(crate) struct WriteGuard {
    table: Arc<Mutex<Table>>,
    lease: Lease,
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        let mut table = lock(&self.table);
        // Nobody can have taken the session meanwhile, so the entry is still that of this lease.
        if let Entry::Occupied(mut entry) = table.held.entry(self.lease.key.clone()) {
            entry.get_mut().writes -= 1;
            if entry.get().released && entry.get().writes == 0 {
                entry.remove();
            }
        }
    }
}

#[async_trait]
impl Leases for LocalLeases {
    async fn acquire(&self, key: &SessionKey, time_to_live: Duration) -> Result<Lease, StoreError> {
        let now = self.clock.now().mono;
        let mut table = lock(&self.table);
        if let Some(held) = table.held.get(key)
            && (held.writes > 0 || (!held.released && now < held.expires))
        {
            return Err(StoreError::Busy);
        }
        table.last_fence += 1;
        let fence = table.last_fence;
        let expires = now.saturating_add(time_to_live);
        table.held.insert(key.clone(), HeldLease { fence, expires, released: false, writes: 0 });
        Ok(Lease { key: key.clone(), fence })
    }

    async fn renew(&self, lease: &Lease, time_to_live: Duration) -> Result<(), StoreError> {
        let now = self.clock.now().mono;
        let mut table = lock(&self.table);
        current(&mut table, lease, now)?.expires = now.saturating_add(time_to_live);
        Ok(())
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let mut table = lock(&self.table);
        if let Entry::Occupied(mut entry) = table.held.entry(lease.key.clone())
            && entry.get().fence == lease.fence
        {
            entry.get_mut().released = true;
            if entry.get().writes == 0 {
                entry.remove();
            }
        }
        Ok(())
    }
}
