use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use onyx_storage::{Lease, Leases, StoreError};
use onyx_types::{Clock, SessionKey};

use super::{LeasePlace, MemoryDisk, Op, Turnstile, perform};

#[derive(Default)]
pub(super) struct LeaseTable {
    last_fence: u64,
    held: HashMap<SessionKey, HeldLease>,
}

impl LeaseTable {
    pub(super) fn after(last_fence: u64) -> Self {
        Self { last_fence, held: HashMap::new() }
    }

    /// The fence that the row of a log has.
    pub(super) fn row_fence(&self, key: &SessionKey) -> Option<u64> {
        self.held.get(key).map(|held| held.row_fence)
    }

    fn next_fence(&mut self) -> u64 {
        self.last_fence += 1;
        self.last_fence
    }
}

struct HeldLease {
    /// The fence that the holder was given.
    fence: u64,
    /// The fence that a write to a shared log is compared with: the holder may raise it, and its
    /// release does.
    row_fence: u64,
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
    disk: MemoryDisk,
    clock: Arc<dyn Clock>,
    turnstile: Arc<dyn Turnstile>,
    place: LeasePlace,
    /// Leases with which this process writes nothing more, by the fences that it was given.
    given_up: Arc<Mutex<HashSet<u64>>>,
}

impl MemoryLeases {
    pub(super) fn new(
        table: Arc<Mutex<LeaseTable>>,
        disk: MemoryDisk,
        clock: Arc<dyn Clock>,
        turnstile: Arc<dyn Turnstile>,
        place: LeasePlace,
    ) -> Self {
        Self { table, disk, clock, turnstile, place, given_up: Arc::default() }
    }

    pub(super) fn place(&self) -> LeasePlace {
        self.place
    }

    pub(super) fn begin_write(&self, lease: &Lease) -> Result<WriteGuard, StoreError> {
        let now = self.clock.now().mono;
        self.check_not_given_up(lease)?;
        let mut table = self.lock();
        let held = current(&mut table, lease, now)?;
        if self.place == LeasePlace::Process {
            held.writes += 1;
        }
        Ok(WriteGuard { leases: self.clone(), lease: lease.clone() })
    }

    /// The fence to write to a shared log with.
    pub(super) fn fence(&self, lease: &Lease) -> Result<u64, StoreError> {
        let now = self.clock.now().mono;
        Ok(current(&mut self.lock(), lease, now)?.row_fence)
    }

    /// Shuts out every write with the fence before, except those that the database is at work on:
    /// they land first.
    pub(super) async fn raise(&self, lease: &Lease) -> Result<u64, StoreError> {
        perform(&*self.turnstile, Op::Renew, || {
            let now = self.clock.now().mono;
            let mut table = self.lock();
            current(&mut table, lease, now)?;
            self.disk.finish_under_way(&lease.key, table.row_fence(&lease.key));
            let raised = table.next_fence();
            current(&mut table, lease, now)?.row_fence = raised;
            Ok(raised)
        })
        .await
    }

    /// What was written with the lease is not known, or another process has the session: this
    /// process writes nothing more with it.
    pub(super) fn give_up(&self, lease: &Lease) -> StoreError {
        self.given_up.lock().expect("no holder of this lock panics").insert(lease.fence);
        StoreError::LeaseLost
    }

    fn check_not_given_up(&self, lease: &Lease) -> Result<(), StoreError> {
        let given_up = self.given_up.lock().expect("no holder of this lock panics");
        if given_up.contains(&lease.fence) { Err(StoreError::LeaseLost) } else { Ok(()) }
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
            self.disk.finish_under_way(key, table.row_fence(key));
            if let Some(held) = table.held.get(key)
                && (held.writes > 0 || (!held.released && now < held.expires))
            {
                return Err(StoreError::Busy);
            }
            let fence = table.next_fence();
            let expires = now.saturating_add(time_to_live);
            let held = HeldLease { fence, row_fence: fence, expires, released: false, writes: 0 };
            table.held.insert(key.clone(), held);
            Ok(Lease { key: key.clone(), fence })
        })
        .await
    }

    async fn renew(&self, lease: &Lease, time_to_live: Duration) -> Result<(), StoreError> {
        perform(&*self.turnstile, Op::Renew, || {
            let now = self.clock.now().mono;
            self.check_not_given_up(lease)?;
            current(&mut self.lock(), lease, now)?.expires = now.saturating_add(time_to_live);
            Ok(())
        })
        .await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        perform(&*self.turnstile, Op::Release, || {
            let mut table = self.lock();
            self.disk.finish_under_way(&lease.key, table.row_fence(&lease.key));
            // Nothing that was sent before lands after this.
            let raised = match self.place {
                LeasePlace::Process => None,
                LeasePlace::Disk => Some(table.next_fence()),
            };
            if let Some(held) = table.held.get_mut(&lease.key)
                && held.fence == lease.fence
            {
                held.released = true;
                held.row_fence = raised.unwrap_or(held.row_fence);
            }
            Ok(())
        })
        .await
    }
}
