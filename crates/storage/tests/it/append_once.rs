//! An append whose answer is lost, against stores in memory that lose it in every way in which a database can: the lines
//! are in the log once, or the caller gets an error and writes nothing more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onyx_storage::{Lease, Store, StoreError};
use onyx_test_support::{
    Commit, CommitCounts, LeasePlace, ManualClock, MemoryDisk, Moment, Op, OpenTurnstile,
    Turnstile, TurnstileFuture,
};
use onyx_types::{SessionKey, Turn};

use crate::support::{Maker, TTL};

/// Decides about the next commits, and does something between a lost answer and the question after it.
#[derive(Clone, Default)]
struct Fates {
    commits: Arc<Mutex<VecDeque<Commit>>>,
    before_asking: Arc<Mutex<Option<TurnstileFuture<'static>>>>,
}

impl Turnstile for Fates {
    fn pass(&self, op: Op, moment: Moment) -> Option<TurnstileFuture<'_>> {
        let is_asking = (op, moment) == (Op::Renew, Moment::Before);
        if is_asking { self.before_asking.lock().unwrap().take() } else { None }
    }

    fn commit(&self) -> Commit {
        self.commits.lock().unwrap().pop_front().unwrap_or(Commit::Answered)
    }
}

/// A gateway whose answers are lost, another one on the same database, and a session that the first one holds.
struct Two {
    disk: MemoryDisk,
    clock: Arc<ManualClock>,
    fates: Fates,
    gateway: Store,
    other: Store,
    key: SessionKey,
    lease: Lease,
    make: Maker,
    first: Vec<Turn>,
}

impl Two {
    async fn open() -> Self {
        let (disk, clock, fates) =
            (MemoryDisk::new(), Arc::new(ManualClock::new()), Fates::default());
        let open =
            |turnstile: Arc<dyn Turnstile>| disk.open(clock.clone(), turnstile, LeasePlace::Disk);
        let (gateway, other) = (open(Arc::new(fates.clone())), open(Arc::new(OpenTurnstile)));
        let mut make = Maker::new();
        let key = make.key();
        let lease = gateway.leases.acquire(&key, TTL).await.unwrap();
        let first = make.users(["first"]);
        gateway.turns.append(&lease, &first).await.unwrap();
        Self { disk, clock, fates, gateway, other, key, lease, make, first }
    }

    async fn append(&self, batch: &[Turn], commits: &[Commit]) -> Result<(), StoreError> {
        self.fates.commits.lock().unwrap().extend(commits);
        self.gateway.turns.append(&self.lease, batch).await.map(drop)
    }

    fn before_asking(&self, interruption: impl Future<Output = ()> + Send + 'static) {
        let interruption: TurnstileFuture<'static> = Box::pin(async move {
            interruption.await;
            Ok::<(), StoreError>(())
        });
        *self.fates.before_asking.lock().unwrap() = Some(interruption);
    }

    /// The turns after the first one, as the other gateway reads them.
    async fn log(&self) -> Vec<Turn> {
        let mut turns = self.other.turns.tail(&self.key, None, usize::MAX).await.unwrap().turns;
        let rest = turns.split_off(1);
        assert_eq!(turns, self.first);
        rest
    }
}

#[tokio::test]
async fn lines_are_there_once_whatever_became_of_their_commit() {
    let fates = [
        (Commit::Answered, CommitCounts::default()),
        (Commit::AnswerLost, CommitCounts { unanswered: 1, ..CommitCounts::default() }),
        (Commit::RequestLost, CommitCounts { unanswered: 1, ..CommitCounts::default() }),
        // The question waits for what the database is at work on.
        (
            Commit::UnderWay,
            CommitCounts { unanswered: 1, landed_late: 1, ..CommitCounts::default() },
        ),
        // The lines are appended again, and the first statement arrives too late.
        (Commit::OnItsWay, CommitCounts { unanswered: 1, shut_out: 1, ..CommitCounts::default() }),
    ];
    for (commit, expected) in fates {
        let mut two = Two::open().await;
        let batch = two.make.users(["second", "third"]);
        two.append(&batch, &[commit]).await.unwrap();
        two.disk.deliver_late();
        assert_eq!(two.log().await, batch, "{commit:?}");
        assert_eq!(two.disk.commit_counts(), expected, "{commit:?}");
        // The same holder goes on.
        let more = two.make.users(["fourth"]);
        two.append(&more, &[]).await.unwrap();
        assert_eq!(two.log().await, [batch, more].concat(), "{commit:?}");
        assert_eq!(two.disk.stale_appends(), 0);
    }
}

#[tokio::test]
async fn a_commit_that_lands_before_the_question_is_found() {
    let mut two = Two::open().await;
    let batch = two.make.users(["second"]);
    let disk = two.disk.clone();
    two.before_asking(async move { disk.deliver_late() });
    two.append(&batch, &[Commit::OnItsWay]).await.unwrap();
    assert_eq!(two.log().await, batch);
    assert_eq!(two.disk.commit_counts().landed_late, 1);
}

#[tokio::test]
async fn a_holder_that_gets_no_answer_at_all_writes_nothing_more() {
    let lost = [Commit::AnswerLost, Commit::RequestLost, Commit::UnderWay, Commit::OnItsWay];
    for commit in lost {
        let mut two = Two::open().await;
        let (batch, more) = (two.make.users(["second"]), two.make.users(["third"]));
        let error = two.append(&batch, &[Commit::RequestLost, commit]).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        let refused = two.append(&more, &[]).await.unwrap_err();
        assert!(matches!(refused, StoreError::LeaseLost), "{refused}");
        two.gateway.leases.renew(&two.lease, TTL).await.unwrap_err();
        // The release waits for what the database is at work on, and shuts out the rest.
        two.gateway.leases.release(&two.lease).await.unwrap();
        two.disk.deliver_late();
        let landed = matches!(commit, Commit::AnswerLost | Commit::UnderWay);
        let expected = if landed { batch } else { Vec::new() };
        assert_eq!(two.log().await, expected, "{commit:?}");
        two.other.leases.acquire(&two.key, TTL).await.unwrap();
    }
}

/// The first holder is too slow: another gateway has the session before it asks.
#[tokio::test]
async fn whoever_lost_the_session_meanwhile_is_told_what_the_log_says() {
    for (commit, is_written) in [(Commit::AnswerLost, true), (Commit::OnItsWay, false)] {
        let mut two = Two::open().await;
        let (batch, others) = (two.make.users(["second"]), two.make.users(["others"]));
        let (clock, other, key) = (two.clock.clone(), two.other.clone(), two.key.clone());
        let theirs = others.clone();
        two.before_asking(async move {
            clock.advance(TTL + Duration::from_secs(1));
            let lease = other.leases.acquire(&key, TTL).await.unwrap();
            other.turns.append(&lease, &theirs).await.unwrap();
        });
        let appended = two.append(&batch, &[commit]).await;
        two.disk.deliver_late();
        let before = if is_written { batch } else { Vec::new() };
        assert_eq!(two.log().await, [before, others].concat(), "{commit:?}");
        match appended {
            Ok(()) => assert!(is_written, "{commit:?}"),
            Err(error) => assert!(matches!(error, StoreError::LeaseLost) && !is_written, "{error}"),
        }
        assert_eq!(two.disk.stale_appends(), 0);
    }
}
