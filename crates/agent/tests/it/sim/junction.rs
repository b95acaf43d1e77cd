//! The place where all operations wait until the schedule releases them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use onyx_storage::StoreError;
use onyx_test_support::{Commit, LeasePlace, Moment, Op, Turnstile, TurnstileFuture};
use tokio::sync::oneshot;

use super::book::{Book, UnusualEvent};
use super::chance::Chance;
use super::time::SimClock;

/// The number of a gateway process, counted by starts.
pub(super) type Process = usize;

/// The operations that a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Store(Op, Moment),
    Model,
    Tool,
}

struct Waiting {
    process: Process,
    what: What,
    go: oneshot::Sender<Result<(), StoreError>>,
}

/// The state that all processes of a schedule share.
pub(super) struct Junction {
    pub(super) chance: Chance,
    pub(super) clock: SimClock,
    pub(super) book: Mutex<Book>,
    waiting: Mutex<Vec<Waiting>>,
    /// How many of a hundred operations proceed without waiting.
    calm: AtomicUsize,
    disk_full: AtomicBool,
    may_fail: AtomicBool,
}

impl Junction {
    pub(super) fn new(chance: Chance) -> Arc<Self> {
        let calm = 30 + chance.below(60);
        Arc::new(Self {
            chance,
            clock: SimClock::default(),
            book: Mutex::default(),
            waiting: Mutex::default(),
            calm: AtomicUsize::new(calm),
            disk_full: AtomicBool::new(false),
            may_fail: AtomicBool::new(true),
        })
    }

    pub(super) fn count(&self, event: UnusualEvent) {
        self.book.lock().unwrap().count(event);
    }

    pub(super) fn set_disk_full(&self, full: bool) {
        self.disk_full.store(full, Ordering::Relaxed);
    }

    /// Lets all operations succeed without waiting from now on.
    pub(super) fn calm_down(&self) {
        self.set_disk_full(false);
        self.may_fail.store(false, Ordering::Relaxed);
        self.calm.store(100, Ordering::Relaxed);
    }

    pub(super) fn may_fail(&self) -> bool {
        self.may_fail.load(Ordering::Relaxed)
    }

    pub(super) fn is_anybody_waiting(&self, among: &[Process]) -> bool {
        self.waiting.lock().unwrap().iter().any(|waiting| among.contains(&waiting.process))
    }

    /// Releases one of the waiting operations; `false` if none waits.
    pub(super) fn release_one(&self, among: &[Process], sync_may_fail: bool) -> bool {
        let waiting = {
            let mut all = self.waiting.lock().unwrap();
            all.retain(|waiting| !waiting.go.is_closed());
            let candidates: Vec<usize> =
                (0..all.len()).filter(|at| among.contains(&all[*at].process)).collect();
            let Some(at) = self.chance.pick(&candidates) else { return false };
            all.remove(*at)
        };
        let verdict = self.verdict(waiting.what, sync_may_fail);
        // The waiting task may have ended meanwhile.
        let _ = waiting.go.send(verdict);
        true
    }

    pub(super) fn forget(&self, process: Process) {
        self.waiting.lock().unwrap().retain(|waiting| waiting.process != process);
    }

    fn verdict(&self, what: What, sync_may_fail: bool) -> Result<(), StoreError> {
        let What::Store(op, Moment::Before) = what else { return Ok(()) };
        if self.disk_full.load(Ordering::Relaxed) && takes_room(op) {
            self.count(UnusualEvent::FullDisk);
            return Err(StoreError::Full);
        }
        if op == Op::Append && sync_may_fail && self.may_fail() && self.chance.percent(5) {
            self.count(UnusualEvent::FailedSync);
            return Err(StoreError::ReadOnly("the sync failed".to_owned()));
        }
        if takes_room(op) && self.may_fail() && self.chance.percent(1) {
            self.count(UnusualEvent::FailedWrite);
            return Err(StoreError::Failed("no answer from the store".to_owned()));
        }
        Ok(())
    }

    async fn wait(&self, process: Process, what: What) -> Result<(), StoreError> {
        let (go, gone) = oneshot::channel();
        self.waiting.lock().unwrap().push(Waiting { process, what, go });
        // The sender is gone because the process was dropped.
        gone.await.unwrap_or_else(|_| Err(StoreError::Failed("taken away".to_owned())))
    }
}

fn takes_room(op: Op) -> bool {
    match op {
        Op::Append
        | Op::CopyLog
        | Op::NoteLive
        | Op::BeginRun
        | Op::EndRun
        | Op::PutSession
        | Op::PutInbox
        | Op::ClearInbox
        | Op::Audit
        | Op::Draft
        | Op::Job
        | Op::WriteFile => true,
        Op::DeleteLog
        | Op::ClearLive
        | Op::ReadLog
        | Op::Acquire
        | Op::Renew
        | Op::Release
        | Op::ReadLedger
        | Op::ReadFile => false,
    }
}

/// A process's access to the junction.
#[derive(Clone)]
pub(super) struct Track {
    pub(super) junction: Arc<Junction>,
    pub(super) process: Process,
    pub(super) leases: LeasePlace,
}

impl Track {
    /// Waits at the junction; for models and tools.
    pub(super) async fn pause(&self, what: What) {
        if !self.goes_at_once() {
            let _ = self.junction.wait(self.process, what).await;
        }
    }

    fn goes_at_once(&self) -> bool {
        self.junction.chance.percent(self.junction.calm.load(Ordering::Relaxed))
    }
}

impl Turnstile for Track {
    fn pass(&self, op: Op, moment: Moment) -> Option<TurnstileFuture<'_>> {
        // Files are read at every start of a run, and reading changes nothing that is checked here.
        // The leases of a single process are in its memory, so they need no disk.
        let of_lease = matches!(op, Op::Acquire | Op::Renew | Op::Release);
        if op == Op::ReadFile || (of_lease && self.leases == LeasePlace::Process) {
            return None;
        }
        let what = What::Store(op, moment);
        if self.goes_at_once() {
            return match self.junction.verdict(what, false) {
                Ok(()) => None,
                Err(error) => Some(Box::pin(async { Err(error) })),
            };
        }
        Some(Box::pin(self.junction.wait(self.process, what)))
    }

    fn commit(&self) -> Commit {
        const UNANSWERED: &[(usize, Commit)] = &[
            (1, Commit::AnswerLost),
            (1, Commit::RequestLost),
            (1, Commit::UnderWay),
            (1, Commit::OnItsWay),
        ];
        let chance = &self.junction.chance;
        if self.junction.may_fail() && chance.percent(6) {
            chance.weighted(UNANSWERED)
        } else {
            Commit::Answered
        }
    }
}
