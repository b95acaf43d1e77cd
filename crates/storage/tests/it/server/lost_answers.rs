//! Tests of commits whose answers are lost: each turn is there exactly once, and the log can be
//! appended to.

use std::time::{Duration, Instant};

use onyx_storage::{
    AccountKey, Area, BeginIn, BeginRun, DatabaseUrl, Expect, FinalWrite, Lease, ModelUse, NewPart,
    ObjectKey, PeerKey, PollPosition, Repeat, RunOutcome, Sealing, SendEnd, ServerSettings,
    SessionMarks, SessionMeta, SessionStatus, StoreError, TitleSource,
};
use onyx_test_support::{FaultProxy, NetworkFault};
use onyx_types::{LaneOrder, ModelId, RunStatus, SessionKey, SessionOrigin, Timestamp, Usage};

use super::servers::{LIFE, OpenGateway, TestDatabase};
use crate::support::{Maker, TTL, audit_entry};

struct Behind {
    proxy: FaultProxy,
    gateway: OpenGateway,
    database: TestDatabase,
}

impl Behind {
    async fn open() -> Self {
        let database = TestDatabase::migrated().await;
        let url = database.servers.url(&database.name);
        let server = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap();
        let proxy = FaultProxy::before(server.parse().unwrap()).await;
        let through = url.replace(server, &proxy.address.to_string());
        let settings = ServerSettings {
            database: DatabaseUrl::parse(&format!("{through}?sslmode=disable")).unwrap(),
            // Sealing is switched off, so that no other requests are sent beside the appends.
            sealing: Sealing::Beside { bytes: u64::MAX },
            ..database.settings("one")
        };
        let gateway = database.open_with(settings).await.unwrap();
        Self { proxy, gateway, database }
    }

    /// Creates a session with one turn, so that the statement is prepared and the next request is
    /// the append itself.
    async fn session(&self, make: &mut Maker) -> (SessionKey, Lease) {
        let key = make.key();
        let lease = self.gateway.store.leases.acquire(&key, TTL).await.unwrap();
        self.gateway.store.turns.append(&lease, &make.users(["first"])).await.unwrap();
        (key, lease)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_whose_answer_or_request_was_lost_is_there_exactly_once() {
    let (behind, mut make) = (Behind::open().await, Maker::new());
    for fault in [NetworkFault::LoseAnswer, NetworkFault::LoseRequest, NetworkFault::LoseAnswer] {
        let (key, lease) = behind.session(&mut make).await;
        let log = &behind.gateway.store.turns;
        let batch = make.users(["second", "third"]);
        behind.proxy.lose(fault);
        let end = log.append(&lease, &batch).await.unwrap();
        assert!(behind.proxy.is_clear(), "the fault happened");
        let page = log.tail(&key, None, 9).await.unwrap();
        assert_eq!(page.turns[1..], batch, "{fault:?}");
        // The same holder continues, under the fence that it raised itself.
        let after = log.append(&lease, &make.users(["fourth"])).await.unwrap();
        assert!(after > end);
        assert_eq!(log.tail(&key, None, 9).await.unwrap().turns.len(), 4);
        behind.gateway.store.leases.renew(&lease, TTL).await.unwrap();
        behind.gateway.store.leases.release(&lease).await.unwrap();
        behind.gateway.store.leases.acquire(&key, TTL).await.unwrap();
    }
}

/// The beginning and the end of a run are each lost in both ways. The run's turns, its row and its
/// session's row are written once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_beginning_or_end_was_not_answered_is_there_exactly_once() {
    let (behind, mut make) = (Behind::open().await, Maker::new());
    let store = &behind.gateway.store;
    let faults = [NetworkFault::LoseAnswer, NetworkFault::LoseRequest];
    // The first round has no faults, so that the statements are prepared afterwards.
    for (at_begin, at_end) in
        [(None, None), (Some(faults[0]), Some(faults[0])), (Some(faults[1]), Some(faults[1]))]
    {
        let (key, lease) = behind.session(&mut make).await;
        let meta = new_session(&mut make, &key);
        store.ledger.put_session(&key.person, &meta).await.unwrap();
        let question = make.users(["a question"]);
        let begin = BeginRun {
            run: make.run(),
            key: key.clone(),
            input_turn: question[0].id,
            started_at: make.tick(),
            session: BeginIn::Existing,
        };
        at_begin.inspect(|fault| behind.proxy.lose(*fault));
        store.runs.begin(&lease, begin.clone(), &question).await.unwrap();
        assert!(behind.proxy.is_clear(), "the fault happened");
        assert_eq!(store.ledger.open_runs(&key).await.unwrap().len(), 1);
        let answer = make.users(["an answer"]);
        let usage = Usage { input: 5, ..Usage::default() };
        let outcome = RunOutcome {
            run: begin.run,
            status: RunStatus::Done,
            ended_at: make.tick(),
            usage,
            used: vec![ModelUse { agent: key.agent.clone(), model: ModelId::new("m"), usage }],
            messages_added: 2,
            preview: None,
            title: None,
        };
        let last = FinalWrite { turns: &answer, outcome, noted_live: false };
        at_end.inspect(|fault| behind.proxy.lose(*fault));
        let left = store.runs.end(&lease, last).await.unwrap();
        assert!(behind.proxy.is_clear(), "the fault happened");
        let page = store.turns.tail(&key, None, 9).await.unwrap();
        assert_eq!((&page.turns[1], &page.turns[2]), (&question[0], &answer[0]), "{at_end:?}");
        assert_eq!(page.turns.len(), 3);
        assert!(store.ledger.open_runs(&key).await.unwrap().is_empty());
        let meta = store.ledger.session(&key.person, key.session).await.unwrap().unwrap();
        assert_eq!((meta.message_count, meta.token_count), (2, 5));
        store.leases.acquire(&key, TTL).await.unwrap();
        assert_eq!(store.turns.state_now(&key), left);
    }
}

fn new_session(make: &mut Maker, key: &SessionKey) -> SessionMeta {
    let now = make.tick();
    SessionMeta {
        session_id: key.session,
        agent: key.agent.clone(),
        origin: SessionOrigin::Chat,
        agents: vec![key.agent.clone()],
        mode: LaneOrder::Sequential,
        title: None,
        titled_by: TitleSource::Words,
        status: SessionStatus::Active,
        created_at: now,
        updated_at: now,
        message_count: 0,
        token_count: 0,
        preview: String::new(),
        root: key.session,
        fork_turn: None,
        last_run: None,
        last_run_status: None,
        marks: SessionMarks::default(),
    }
}

/// The statement waits in the server while its client is cut off, and takes effect later. The
/// question for its outcome waits too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_lands_late_is_waited_for_and_not_written_again() {
    let (behind, mut make) = (Behind::open().await, Maker::new());
    let (key, lease) = behind.session(&mut make).await;
    let mut blocker = behind.database.sql().await;
    let block = blocker.transaction().await.unwrap();
    block.execute("SELECT 1 FROM session_log FOR UPDATE", &[]).await.unwrap();
    behind.proxy.lose(NetworkFault::CutOff);
    let (log, batch) = (behind.gateway.store.turns.clone(), make.users(["late"]));
    let append = {
        let batch = batch.clone();
        tokio::spawn(async move { log.append(&lease, &batch).await })
    };
    // The append and the question for its outcome both wait for the row.
    let watcher = behind.database.sql().await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while watcher.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < 2 {
        tokio::task::yield_now().await;
    }
    block.commit().await.unwrap();
    append.await.unwrap().unwrap();
    let page = behind.gateway.store.turns.tail(&key, None, 9).await.unwrap();
    assert_eq!((page.turns.len(), &page.turns[1]), (2, &batch[0]));
}

/// A holder that gets no answers does not know what is stored of a turn. It still gives the session
/// back, whichever of its requests was lost, so the row must not keep a fence that no gateway
/// knows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_free_after_its_release_whatever_answers_were_lost_before() {
    let (behind, mut make) = (Behind::open().await, Maker::new());
    let other = behind.database.open("two").await;
    let mut failed = 0;
    for let_through in 0..8 {
        let (key, lease) = behind.session(&mut make).await;
        let log = &behind.gateway.store.turns;
        behind.proxy.lose_in_order([
            (0, NetworkFault::LoseRequest),
            (let_through, NetworkFault::LoseAnswer),
        ]);
        let appended = log.append(&lease, &make.users(["second"])).await;
        failed += usize::from(appended.is_err());
        behind.proxy.lose_in_order([]);
        behind.gateway.store.leases.release(&lease).await.unwrap();
        let taken = other.store.leases.acquire(&key, TTL).await;
        assert!(taken.is_ok(), "{taken:?} after {let_through} answers and {appended:?}");
        let turns = other.store.turns.tail(&key, None, 9).await.unwrap().turns.len();
        assert!(turns == 2 || appended.is_err(), "{turns} turns are there after {appended:?}");
    }
    assert!(failed > 0, "no append failed");
}

/// A sender that does not know whether its send began takes it back. Otherwise the peer's next messages would wait for it
/// as long as the gateway lives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_whose_start_was_not_answered_can_be_taken_back() {
    let behind = Behind::open().await;
    let ledger = &behind.gateway.store.connectors;
    let account = AccountKey { network: "webhook".into(), account: "home".into() };
    let peer = PeerKey { account: account.clone(), peer: "7".into() };
    let part = |key: &str| NewPart {
        peer: peer.clone(),
        key: key.to_owned(),
        body: "hello".into(),
        repeat: Repeat::Unsafe,
    };
    let at = Timestamp::from_millis(5);
    let again = SendEnd::Again {
        body: "hello".into(),
        repeat: Repeat::Unsafe,
        not_before: at,
        why: "not begun".into(),
    };
    ledger.queue_parts(vec![part("first"), part("second")], at).await.unwrap();
    // The first round has no fault, so that the statements are prepared afterwards.
    for fault in [None, Some(NetworkFault::LoseAnswer), Some(NetworkFault::LoseRequest)] {
        let id = ledger.next_parts(&account, 9).await.unwrap()[0].id;
        fault.inspect(|fault| behind.proxy.lose(*fault));
        assert_eq!(ledger.begin_send(id).await.is_ok(), fault.is_none());
        assert!(behind.proxy.is_clear(), "the fault happened");
        let taken_back = ledger.end_send(id, again.clone()).await;
        let is_settled = matches!(taken_back, Ok(()) | Err(StoreError::LeaseLost));
        assert!(is_settled, "{fault:?}: {taken_back:?}");
        let next = ledger.next_parts(&account, 9).await.unwrap();
        assert_eq!(next.iter().map(|part| part.id).collect::<Vec<_>>(), [id], "{fault:?}");
    }
}

/// A gateway whose life is over starts again. It must not take its own new row for that of another process, because then
/// it would never serve again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_starts_again_does_so_whatever_answers_are_lost() {
    let (behind, mut make) = (Behind::open().await, Maker::new());
    let membership = &behind.gateway.membership;
    for let_through in 0..12 {
        behind.database.pass(LIFE).await;
        behind.proxy.lose_after(let_through, NetworkFault::LoseAnswer);
        // Whether this heartbeat succeeds depends on what was lost.
        let first = membership.beat().await;
        behind.proxy.lose_in_order([]);
        let second = membership.beat().await;
        assert!(second.is_ok(), "{first:?}, then {second:?} after {let_through} answers");
        behind.gateway.store.leases.acquire(&make.key(), TTL).await.unwrap();
    }
}

/// The lease would last for an hour, and the database says that a living gateway holds it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_taken_without_an_answer_is_free_soon() {
    let (behind, mut make) = (Behind::open().await, Maker::new());
    let other = behind.database.open("two").await;
    behind.session(&mut make).await;
    let (key, hour) = (make.key(), Duration::from_secs(3600));
    behind.proxy.lose(NetworkFault::LoseAnswer);
    assert!(behind.gateway.store.leases.acquire(&key, hour).await.is_err());
    assert!(behind.proxy.is_clear(), "the fault happened");
    let begun = Instant::now();
    while other.store.leases.acquire(&key, TTL).await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody can use the session");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A database that fails over is away for a moment. Whichever request of the append that loses, the
/// turn is there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_waits_for_a_database_that_is_away_for_a_moment() {
    let (behind, mut make) = (Behind::open().await, Maker::new());
    let (key, lease) = behind.session(&mut make).await;
    let (log, batch) = (behind.gateway.store.turns.clone(), make.users(["second"]));
    behind.proxy.cut();
    let append = {
        let batch = batch.clone();
        tokio::spawn(async move { log.append(&lease, &batch).await })
    };
    behind.proxy.refused(2).await;
    behind.proxy.heal();
    append.await.unwrap().unwrap();
    let page = behind.gateway.store.turns.tail(&key, None, 9).await.unwrap();
    assert_eq!(page.turns[1..], batch);
}

/// A gateway may stop at any moment while it numbers changes, without the server noticing. The
/// other gateways must still be able to change the same session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_numbers_changes_and_stops_holds_up_nobody() {
    let (behind, mut make) = (Behind::open().await, Maker::new());
    let other = behind.database.open("two").await;
    let (key, _) = behind.session(&mut make).await;
    let meta = new_session(&mut make, &key);
    let numbering = &behind.gateway.store.ledger;
    let mut last = 0;
    for let_through in 0..8 {
        for _ in 0..2 {
            // The statements are prepared on a connection that has had no fault yet.
            other.store.ledger.put_session(&key.person, &meta).await.unwrap();
            let moved = numbering.moved_sessions(last, 9).await.unwrap();
            assert_eq!(moved.len(), 1, "after {let_through}");
            last = moved[0].seq;
        }
        other.store.ledger.put_session(&key.person, &meta).await.unwrap();
        behind.proxy.lose_after(let_through, NetworkFault::CutOff);
        let _ = numbering.moved_sessions(last, 9).await;
        behind.proxy.lose_in_order([]);
        let begun = Instant::now();
        other.store.ledger.put_session(&key.person, &meta).await.unwrap();
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(3), "{took:?} after {let_through} things were sent");
        last = other.store.ledger.moved_sessions(last, 9).await.unwrap()[0].seq;
    }
}

/// Whichever message of a transaction is lost, its caller learns whether the transaction happened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_there_when_its_writer_is_told_so_and_only_then() {
    let behind = Behind::open().await;
    let area = Area::Vault("anna".parse().unwrap());
    let objects = behind.gateway.store.files.objects(&area).unwrap();
    let key: ObjectKey = "note.md".parse().unwrap();
    objects.put(&key, b"0", Expect::Absent).await.unwrap();
    let direct = behind.database.open("two").await;
    let direct = direct.store.files.objects(&area).unwrap();
    let (mut told, mut failed) = (0, 0);
    // A heartbeat of the gateway may take the fault that was meant for a commit, and then a later
    // round takes it.
    for let_through in (0..12).cycle().take(60) {
        if let_through == 0 && told > 0 && failed > 0 {
            break;
        }
        // The statements are prepared on a connection that has had no fault yet.
        objects.put(&key, b"before", Expect::Anything).await.unwrap();
        let text = format!("{let_through}");
        behind.proxy.lose_after(let_through, NetworkFault::LoseAnswer);
        let put = objects.put(&key, text.as_bytes(), Expect::Anything).await;
        let happened = behind.proxy.is_clear();
        behind.proxy.lose_in_order([]);
        let held = direct.get(&key, 99).await.unwrap().unwrap().bytes;
        assert_eq!(held == text.as_bytes(), put.is_ok(), "{put:?} after {let_through} answers");
        told += usize::from(happened && put.is_ok());
        failed += usize::from(put.is_err());
    }
    assert!(told > 0 && failed > 0, "{told} commits were asked after, {failed} puts failed");
}

/// The database is away while a session is given back. Without another try the session would stay
/// taken until its lease expires, and no gateway could close its run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_did_not_reach_the_database_is_tried_again() {
    let (behind, mut make) = (Behind::open().await, Maker::new());
    let other = behind.database.open("two").await;
    let (key, lease) = behind.session(&mut make).await;
    behind.proxy.cut();
    let log = &behind.gateway.store.turns;
    log.append(&lease, &make.users(["second"])).await.unwrap_err();
    behind.gateway.store.leases.release(&lease).await.unwrap_err();
    other.store.leases.acquire(&key, TTL).await.unwrap_err();
    behind.proxy.heal();
    let taken = async {
        while other.store.leases.acquire(&key, TTL).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(TTL / 2, taken).await.expect("the session is free");
}

/// A gateway that is cut off or frozen in the middle of a transaction must not keep others from the
/// rows that it changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_nobody_ends_lets_go_of_its_rows() {
    let (behind, mut make) = (Behind::open().await, Maker::new());
    let other = behind.database.open("two").await;
    let watcher = behind.database.sql().await;
    let held = "SELECT count(*) FROM pg_stat_activity JOIN pg_locks USING (pid)
                WHERE datname = current_database() AND state = 'idle in transaction'
                AND granted AND locktype IN ('advisory', 'transactionid')";
    let is_held = async || watcher.query_one(held, &[]).await.unwrap().get::<_, i64>(0) > 0;
    for let_through in 0.. {
        assert!(let_through < 20, "no transaction was cut off in its middle");
        behind.proxy.lose_after(let_through, NetworkFault::CutOff);
        let (ledger, entry) =
            (behind.gateway.store.ledger.clone(), audit_entry(&mut make, "owner"));
        // The append is repeated by itself, and then waits for the rows that its own first try
        // holds.
        let appending = tokio::spawn(async move { ledger.append_audit(entry).await });
        while !appending.is_finished() && !is_held().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if is_held().await {
            break;
        }
    }
    let append = other.store.ledger.append_audit(audit_entry(&mut make, "owner"));
    let appended = tokio::time::timeout(Duration::from_secs(15), append).await;
    appended.expect("the rows are let go").unwrap();
}

/// The database's machine vanishes: nothing closes its connections, and nothing is answered on them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_ends_when_the_connection_is_silent_and_the_next_one_uses_another() {
    let behind = Behind::open().await;
    let membership = &behind.gateway.membership;
    let mut heard = PollPosition::default();
    membership.poll(&mut heard, &[]).await.unwrap();
    behind.proxy.silence();
    behind.proxy.heal();
    // A request that waits on a silent connection gives it back only when nobody waits any more.
    let other = behind.gateway.store.ledger.active_runs();
    let waited = tokio::time::timeout(Duration::from_secs(5), async {
        tokio::join!(other, async {
            let silent = membership.poll(&mut heard, &[]).await;
            assert!(matches!(silent, Err(StoreError::Unavailable(_))), "{silent:?}");
        })
    });
    assert!(waited.await.is_err(), "nothing answers on the connection of the request");
    let again = async {
        membership.poll(&mut heard, &[]).await.unwrap();
        behind.gateway.store.ledger.active_runs().await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(2), again).await.expect("new connections are opened");
}
