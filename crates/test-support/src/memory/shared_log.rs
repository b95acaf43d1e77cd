//! Appending as several processes on one database do it, with what they must expect: the answer to a
//! commit may be lost, the commit may land later than that, and only the fence of the log's row
//! decides whether it may. A reader gets what was there when its statement ran.

use async_trait::async_trait;
use onyx_storage::{Attempt, Lease, LogState, LogTail, OneAppend, Pos, StoreError};
use onyx_types::{SessionKey, Turn};

use super::leases::MemoryLeases;
use super::turns::Log;
use super::{Disk, MemoryDisk, Moment, Op, Turnstile, pass, perform};

/// What becomes of the commit of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    Answered,
    /// It landed, and its answer is lost.
    AnswerLost,
    /// It never reached the database, and nobody says so.
    RequestLost,
    /// It is not answered, and the database is still at work on it: the next change of the log's
    /// row waits until it has landed.
    UnderWay,
    /// It is not answered, and it has not reached the database: it lands with
    /// [`MemoryDisk::deliver_late`], unless the fence of the row is another one by then.
    OnItsWay,
}

/// How often something happened that a process cannot see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitCounts {
    pub unanswered: u64,
    /// Commits that landed after their process had been left without an answer.
    pub landed_late: u64,
    /// Commits that arrived after the fence had changed.
    pub shut_out: u64,
    /// Reads of the end of a log to which something was appended before their answer arrived.
    pub stale_reads: u64,
}

/// A commit that was not answered and has not landed.
pub(super) struct LateCommit {
    key: SessionKey,
    fence: u64,
    turns: Vec<Turn>,
    place: CommitPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommitPlace {
    Network,
    Database,
}

impl MemoryDisk {
    /// Everything that is still on its way arrives now.
    pub fn deliver_late(&self) {
        let table = self.leases.lock().expect("no holder of this lock panics");
        let mut disk = self.lock();
        for late in std::mem::take(&mut disk.late) {
            let row_fence = table.row_fence(&late.key);
            disk.arrive(late, row_fence);
        }
    }

    pub fn commit_counts(&self) -> CommitCounts {
        self.lock().commits
    }

    /// Whoever changes the row of a log waits for what the database is at work on there.
    pub(super) fn finish_under_way(&self, key: &SessionKey, row_fence: Option<u64>) {
        let mut disk = self.lock();
        let (landing, late): (Vec<_>, Vec<_>) = std::mem::take(&mut disk.late)
            .into_iter()
            .partition(|late| late.place == CommitPlace::Database && late.key == *key);
        disk.late = late;
        for late in landing {
            disk.arrive(late, row_fence);
        }
    }

    /// `None`: the fence is not the row's.
    fn write(&self, key: &SessionKey, turns: Vec<Turn>, fence: u64) -> Option<Pos> {
        let table = self.leases.lock().expect("no holder of this lock panics");
        let row_fence = table.row_fence(key);
        self.finish_under_way(key, row_fence);
        (row_fence == Some(fence)).then(|| self.lock().land(key, turns, fence))
    }

    /// Called when the answer to a read arrives.
    pub(super) fn note_if_stale(&self, key: &SessionKey, end: u64) {
        let mut disk = self.lock();
        let now = disk.logs.get(key).map_or(0, |log| log.turns().len() as u64);
        disk.commits.stale_reads += u64::from(now > end);
    }
}

impl Disk {
    fn arrive(&mut self, late: LateCommit, row_fence: Option<u64>) {
        if row_fence == Some(late.fence) {
            self.commits.landed_late += 1;
            self.land(&late.key, late.turns, late.fence);
        } else {
            self.commits.shut_out += 1;
        }
    }

    pub(super) fn land(&mut self, key: &SessionKey, turns: Vec<Turn>, fence: u64) -> Pos {
        let (end, is_stale) = self.logs.entry(key.clone()).or_default().extend(turns, fence);
        self.stale_appends += u64::from(is_stale);
        end
    }
}

/// One append to a log whose lease is kept beside it.
pub(super) struct SharedAppend<'a> {
    disk: &'a MemoryDisk,
    leases: &'a MemoryLeases,
    turnstile: &'a dyn Turnstile,
    lease: &'a Lease,
    batch: &'a [Turn],
    /// How many turns the log had before.
    from: usize,
}

impl<'a> SharedAppend<'a> {
    pub(super) fn new(
        disk: &'a MemoryDisk,
        leases: &'a MemoryLeases,
        turnstile: &'a dyn Turnstile,
        lease: &'a Lease,
        batch: &'a [Turn],
    ) -> Self {
        let from = disk.lock().logs.get(&lease.key).map_or(0, |log| log.turns().len());
        Self { disk, leases, turnstile, lease, batch, from }
    }
}

#[async_trait]
impl OneAppend for SharedAppend<'_> {
    type Fence = u64;
    type Written = Pos;
    type Error = StoreError;

    async fn attempt(&self, fence: u64) -> Attempt<Pos, StoreError> {
        let (key, turns) = (&self.lease.key, self.batch.to_vec());
        let statement = Statement { disk: self.disk, key, fence, turns };
        if let Err(error) = pass(self.turnstile, Op::Append, Moment::Before).await {
            statement.take_back();
            return Attempt::Failed(error);
        }
        let attempt = statement.commit(self.turnstile.commit());
        let _ = pass(self.turnstile, Op::Append, Moment::After).await;
        attempt
    }

    async fn raise_fence(&self) -> Result<u64, StoreError> {
        self.leases.raise(self.lease).await
    }

    async fn tail(&self) -> Result<LogTail, StoreError> {
        perform(self.turnstile, Op::ReadLog, || {
            let disk = self.disk.lock();
            let turns = disk.logs.get(&self.lease.key).map_or(&[][..], Log::turns);
            let own = turns.get(self.from..).ok_or(StoreError::Conflict)?;
            let state = LogState { len: turns.len() as u64, stamp: 0 };
            Ok(LogTail { state, lines: as_lines(own) })
        })
        .await
    }

    fn lines(&self) -> Vec<Vec<u8>> {
        as_lines(self.batch)
    }

    fn found(&self, _: &LogTail, through: usize) -> Pos {
        Pos((self.from + through) as u64)
    }

    fn give_up(&self) {
        self.leases.give_up(self.lease);
    }
}

fn as_lines(turns: &[Turn]) -> Vec<Vec<u8>> {
    let line = |turn| serde_json::to_vec(turn).expect("a turn is written as JSON");
    turns.iter().map(line).collect()
}

/// A statement that was sent. When its process is killed, it may land, now or later.
struct Statement<'a> {
    disk: &'a MemoryDisk,
    key: &'a SessionKey,
    fence: u64,
    turns: Vec<Turn>,
}

impl Statement<'_> {
    fn commit(mut self, commit: Commit) -> Attempt<Pos, StoreError> {
        let turns = std::mem::take(&mut self.turns);
        match commit {
            Commit::Answered => {
                let written = self.disk.write(self.key, turns, self.fence);
                return written.map_or(Attempt::ShutOut, Attempt::Written);
            }
            Commit::AnswerLost => {
                self.disk.write(self.key, turns, self.fence);
            }
            Commit::RequestLost => {}
            Commit::UnderWay => self.leave(turns, CommitPlace::Database),
            Commit::OnItsWay => self.leave(turns, CommitPlace::Network),
        }
        self.disk.lock().commits.unanswered += 1;
        Attempt::Unanswered(StoreError::Unavailable("the database did not answer".to_owned()))
    }

    fn leave(&self, turns: Vec<Turn>, place: CommitPlace) {
        let late = LateCommit { key: self.key.clone(), fence: self.fence, turns, place };
        self.disk.lock().late.push(late);
    }

    fn take_back(mut self) {
        self.turns.clear();
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        if self.turns.is_empty() {
            return;
        }
        let Some(seed) = self.disk.lock().tearing else { return };
        let turns = std::mem::take(&mut self.turns);
        match seed % 3 {
            0 => {
                self.disk.write(self.key, turns, self.fence);
            }
            1 => self.leave(turns, CommitPlace::Network),
            _ => {}
        }
    }
}
