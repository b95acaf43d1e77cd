use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use onyx_storage::{Lease, Leases, StoreError};
use onyx_types::{Clock, SessionKey};

use super::{LeasePlace, Op, Turnstile, perform};

#[derive(Default)]
pub(super) struct LeaseTable {
    last_fence: u64,
    held: HashMap<SessionKey, HeldLease>,
}

impl LeaseTable {
    pub(super) fn after(last_fence: u64) -> Self {
        Self { last_fence, held: HashMap::new() }
    }
}

struct HeldLease {
    fence: u64,
    expires: Duration,
    released: bool,
    /// The number of writes under way. Within a single process that owns the home, the session is
    /// not handed over before they have landed; several gateways instead check the fence where a
    /// write lands.
    writes: u32,
}

#[derive(Clone)]
pub(super) struct MemoryLeases {
    table: Arc<Mutex<LeaseTable>>,
    clock: Arc<dyn Clock>,
    turnstile: Arc<dyn Turnstile>,
    place: LeasePlace,
}

impl MemoryLeases {
    pub(super) fn new(
        table: Arc<Mutex<LeaseTable>>,
        clock: Arc<dyn Clock>,
        turnstile: Arc<dyn Turnstile>,
        place: LeasePlace,
    ) -> Self {
        Self { table, clock, turnstile, place }
    }

    pub(super) fn begin_write(&self, lease: &Lease) -> Result<WriteGuard, StoreError> {
        let now = self.clock.now().mono;
        let mut table = self.lock();
        let held = current(&mut table, lease, now)?;
        if self.place == LeasePlace::Process {
            held.writes += 1;
        }
        Ok(WriteGuard { leases: self.clone(), lease: lease.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, LeaseTable> {
        self.table.lock().expect("no holder of this lock panics")
    }
}

fn current<'a>(
    table: &'a mut LeaseTable,
    lease: &Lease,
    now: Duration,
) -> Result<&'a mut HeldLease, StoreError> {
    match table.held.get_mut(&lease.key) {
        Some(held) if held.fence == lease.fence && !held.released && now < held.expires => Ok(held),
        _ => Err(StoreError::LeaseLost),
    }
}

pub(super) struct WriteGuard {
    leases: MemoryLeases,
    lease: Lease,
}

impl WriteGuard {
    /// Checks the lease where the write lands. The session cannot be taken over while the returned
    /// guard exists, because a database checks and writes in one step.
    pub(super) fn still_held(&self) -> Result<Option<MutexGuard<'_, LeaseTable>>, StoreError> {
        match self.leases.place {
            LeasePlace::Process => Ok(None),
            LeasePlace::Disk => {
                let now = self.leases.clock.now().mono;
                let mut table = self.leases.lock();
                current(&mut table, &self.lease, now)?;
                Ok(Some(table))
            }
        }
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        if self.leases.place == LeasePlace::Process
            && let Some(held) = self.leases.lock().held.get_mut(&self.lease.key)
        {
            held.writes -= 1;
        }
    }
}

#[async_trait]
impl Leases for MemoryLeases {
    async fn acquire(&self, key: &SessionKey, time_to_live: Duration) -> Result<Lease, StoreError> {
        perform(&*self.turnstile, Op::Acquire, || {
            let now = self.clock.now().mono;
            let mut table = self.lock();
            if let Some(held) = table.held.get(key)
                && (held.writes > 0 || (!held.released && now < held.expires))
            {
                return Err(StoreError::Busy);
            }
            table.last_fence += 1;
            let fence = table.last_fence;
            let expires = now.saturating_add(time_to_live);
            table
                .held
                .insert(key.clone(), HeldLease { fence, expires, released: false, writes: 0 });
            Ok(Lease { key: key.clone(), fence })
        })
        .await
    }

    async fn renew(&self, lease: &Lease, time_to_live: Duration) -> Result<(), StoreError> {
        perform(&*self.turnstile, Op::Renew, || {
            let now = self.clock.now().mono;
            current(&mut self.lock(), lease, now)?.expires = now.saturating_add(time_to_live);
            Ok(())
        })
        .await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        perform(&*self.turnstile, Op::Release, || {
            if let Some(held) = self.lock().held.get_mut(&lease.key)
                && held.fence == lease.fence
            {
                held.released = true;
            }
            Ok(())
        })
        .await
    }
}
