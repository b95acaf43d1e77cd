//! Stores in memory, for a simulation that takes processes away: what is durable lies in a
//! [`MemoryDisk`] that outlives them, everything else goes with the process that opened it. They
//! pass the same conformance suite as the real ones.

mod acceptances;
mod accounts;
mod chunks;
mod connectors;
mod drafts;
mod jobs;
mod leases;
mod ledger;
mod objects;
mod turns;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use onyx_storage::{LocalDuties, Steps, StepwiseRunLog, Store, StoreError};
use onyx_types::{Clock, SessionKey};

use accounts::{Doors, MemoryAccounts};
use chunks::ChunkFolder;
use leases::{LeaseTable, MemoryLeases};
use ledger::{Books, MemoryLedger};
use objects::{Folder, MemoryFiles};
use turns::{Log, MemoryTurnLog};

/// What a store is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    Append,
    CopyLog,
    DeleteLog,
    NoteLive,
    ClearLive,
    ReadLog,
    Acquire,
    Renew,
    Release,
    BeginRun,
    EndRun,
    PutSession,
    PutInbox,
    ClearInbox,
    Audit,
    Draft,
    Job,
    ReadLedger,
    WriteFile,
    ReadFile,
}

/// The two moments of an operation at which the world may stop it: nothing has happened yet, or
/// all of it has and nobody was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    Before,
    After,
}

pub type TurnstileFuture<'a> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'a>>;

/// Decides when an operation continues, and whether it does.
pub trait Turnstile: Send + Sync {
    /// `None`: at once. An error is honoured before an operation only. `ReadOnly` before an append
    /// is a sync that failed: whether the turns are there shows when the disk is opened again.
    fn pass(&self, op: Op, moment: Moment) -> Option<TurnstileFuture<'_>>;
}

/// Everything at once, nothing fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenTurnstile;

impl Turnstile for OpenTurnstile {
    fn pass(&self, _: Op, _: Moment) -> Option<TurnstileFuture<'_>> {
        None
    }
}

/// Where leases are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeasePlace {
    /// Leases are in the one process that owns the home, and end with it.
    Process,
    /// Leases lie beside the data, for several gateways, and outlive a process until their time is
    /// up.
    Disk,
}

/// What survives every process.
#[derive(Clone, Default)]
pub struct MemoryDisk {
    state: Arc<Mutex<Disk>>,
    leases: Arc<Mutex<LeaseTable>>,
    chunks: Arc<ChunkFolder>,
}

#[derive(Default)]
struct Disk {
    logs: BTreeMap<SessionKey, Log>,
    books: Books,
    doors: Doors,
    files: Folder,
    /// While set, a write that is dropped half-way leaves some whole lines of itself behind.
    tearing: Option<u64>,
    /// Appends that landed behind a newer holder's back: always a bug of the store.
    stale_appends: u64,
}

impl fmt::Debug for MemoryDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryDisk").finish_non_exhaustive()
    }
}

impl MemoryDisk {
    pub fn new() -> Self {
        Self::default()
    }

    /// The stores as one process sees them.
    pub fn open(
        &self,
        clock: Arc<dyn Clock>,
        turnstile: Arc<dyn Turnstile>,
        place: LeasePlace,
    ) -> Store {
        let table = match place {
            // Numbers go on, so that an append of an older process can be told from a newer one's.
            LeasePlace::Process => Arc::new(Mutex::new(LeaseTable::after(self.last_fence()))),
            LeasePlace::Disk => Arc::clone(&self.leases),
        };
        let leases = MemoryLeases::new(table, Arc::clone(&clock), Arc::clone(&turnstile), place);
        let ledger =
            Arc::new(MemoryLedger::new(self.clone(), Arc::clone(&clock), Arc::clone(&turnstile)));
        let turns = MemoryTurnLog::new(self.clone(), leases.clone(), Arc::clone(&turnstile));
        let (turns, leases) = (Arc::new(turns), Arc::new(leases));
        Store {
            runs: Arc::new(StepwiseRunLog {
                turns: Arc::clone(&turns) as _,
                ledger: Arc::clone(&ledger) as _,
                leases: Arc::clone(&leases) as _,
            }),
            turns,
            ledger: Arc::clone(&ledger) as _,
            drafts: Arc::clone(&ledger) as _,
            jobs: Arc::clone(&ledger) as _,
            acceptances: ledger,
            connectors: Arc::new(connectors::NoConnectors),
            accounts: Arc::new(MemoryAccounts::new(self.clone())),
            secrets: Arc::new(MemoryAccounts::new(self.clone())),
            leases,
            duties: Arc::new(LocalDuties),
            chunks: self.chunks.open(Arc::clone(&clock)),
            files: Arc::new(MemoryFiles::new(self.clone(), clock, turnstile)),
            steps: Steps::as_they_come(),
        }
    }

    /// From here until `settle`, writes that are dropped half-way are torn as the seed says.
    pub fn tear(&self, seed: u64) {
        self.lock().tearing = Some(seed);
    }

    /// The processes that were writing are gone: what their last writes left is what there is.
    pub fn settle(&self) {
        let mut disk = self.lock();
        let seed = disk.tearing.take().unwrap_or_default();
        for log in disk.logs.values_mut() {
            log.settle(seed);
        }
    }

    /// Appends that landed although a newer holder had written already.
    pub fn stale_appends(&self) -> u64 {
        self.lock().stale_appends
    }

    fn last_fence(&self) -> u64 {
        self.lock().logs.values().map(Log::fence).max().unwrap_or(0)
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.state.lock().expect("no holder of this lock panics")
    }
}

async fn pass(turnstile: &dyn Turnstile, op: Op, moment: Moment) -> Result<(), StoreError> {
    match turnstile.pass(op, moment) {
        Some(passing) => passing.await,
        None => Ok(()),
    }
}

/// One operation from its first moment to its last.
async fn perform<T>(
    turnstile: &dyn Turnstile,
    op: Op,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    pass(turnstile, op, Moment::Before).await?;
    let done = work()?;
    // It has happened: what the turnstile says now can only delay the answer.
    let _ = pass(turnstile, op, Moment::After).await;
    Ok(done)
}
