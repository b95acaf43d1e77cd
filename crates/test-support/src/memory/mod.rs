//! Stores in memory, for a simulation that ends processes: durable data are in a [`MemoryDisk`]
//! that outlives them, and everything else is lost with the process that opened it. These stores
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
mod shared_log;
mod turns;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use onyx_storage::{LocalDuties, LocalShortLived, Steps, StepwiseRunLog, Store, StoreError};
use onyx_types::{Clock, SessionKey};

use accounts::{Doors, MemoryAccounts};
use chunks::ChunkFolder;
use leases::{LeaseTable, MemoryLeases};
use ledger::{Books, MemoryLedger};
use objects::{Folder, MemoryFiles};
use shared_log::LateCommit;
pub use shared_log::{Commit, CommitCounts};
use turns::{Log, MemoryTurnLog};

/// The operations of a store.
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

/// The two moments at which an operation can be stopped: before anything has happened, or after
/// everything has happened but before the caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    Before,
    After,
}

pub type TurnstileFuture<'a> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'a>>;

/// Decides when an operation continues, and whether it does.
pub trait Turnstile: Send + Sync {
    /// Returns what to wait for; `None` continues at once. An error has an effect only before an
    /// operation. `ReadOnly` before an append stands for a sync that failed: whether the turns are
    /// there is decided when the disk is opened again.
    fn pass(&self, op: Op, moment: Moment) -> Option<TurnstileFuture<'_>>;

    /// Decides what becomes of an append's commit, where several processes share a database
    /// ([`LeasePlace::Disk`]).
    fn commit(&self) -> Commit {
        Commit::Answered
    }
}

/// A turnstile that lets everything pass at once, without failures.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenTurnstile;

impl Turnstile for OpenTurnstile {
    fn pass(&self, _: Op, _: Moment) -> Option<TurnstileFuture<'_>> {
        None
    }
}

/// The place in which leases are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeasePlace {
    /// Leases are kept in the only process that owns the home, and end with it.
    Process,
    /// Leases are kept beside the data, for several gateways, and outlive a process until they
    /// expire.
    Disk,
}

/// The data that survive every process.
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
    /// While this is set, a write that is dropped half-way leaves some of its lines.
    tearing: Option<u64>,
    /// How many appends landed after a newer holder had written, which is always a bug of the
    /// store.
    stale_appends: u64,
    /// Commits that were not answered and have not landed.
    late: Vec<LateCommit>,
    commits: CommitCounts,
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

    /// The stores of one process.
    pub fn open(
        &self,
        clock: Arc<dyn Clock>,
        turnstile: Arc<dyn Turnstile>,
        place: LeasePlace,
    ) -> Store {
        let table = match place {
            // The numbers continue, so that an append of an older process can be distinguished from
            // a newer one's.
            LeasePlace::Process => Arc::new(Mutex::new(LeaseTable::after(self.last_fence()))),
            LeasePlace::Disk => Arc::clone(&self.leases),
        };
        let leases = MemoryLeases::new(
            table,
            self.clone(),
            Arc::clone(&clock),
            Arc::clone(&turnstile),
            place,
        );
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
            short_lived: Arc::new(LocalShortLived::new(Arc::clone(&clock))),
            chunks: self.chunks.open(Arc::clone(&clock)),
            files: Arc::new(MemoryFiles::new(self.clone(), clock, turnstile)),
            steps: Steps::as_they_come(),
        }
    }

    /// From now until `settle`, writes that are dropped half-way leave a part that depends on the
    /// seed.
    pub fn tear(&self, seed: u64) {
        self.lock().tearing = Some(seed);
    }

    /// Called when the processes that were writing are gone: a part of their last writes remains.
    pub fn settle(&self) {
        let mut disk = self.lock();
        let seed = disk.tearing.take().unwrap_or_default();
        for log in disk.logs.values_mut() {
            log.settle(seed);
        }
    }

    /// How many appends landed although a newer holder had already written.
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

/// Performs one operation, with both of its moments.
async fn perform<T>(
    turnstile: &dyn Turnstile,
    op: Op,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    pass(turnstile, op, Moment::Before).await?;
    let done = work()?;
    // The operation has happened, so the turnstile can only delay the answer.
    let _ = pass(turnstile, op, Moment::After).await;
    Ok(done)
}
