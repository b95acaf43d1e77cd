//! Tests of which gateways are alive, what each holds, and who takes over.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{
    AuditWitnesses, BeginIn, BeginRun, BootClock, Delivery, GatewaySettings, InboxRow, LeftMessage,
    ServerClocks, ServerSettings, Store, StoreError,
};
use onyx_types::{SessionOrigin, SystemClock, Timestamp, TurnBody};

use super::servers::{OpenGateway, TestDatabase};
use crate::support::Maker;

/// A life so long that no heartbeat is sent by itself during a test.
const LIFE: Duration = Duration::from_secs(3600);
/// A time that is longer than the life of a gateway.
const LONG: Duration = Duration::from_secs(7200);

async fn open(database: &TestDatabase, id: &str) -> OpenGateway {
    let url = format!("http://{id}.example");
    let gateway = GatewaySettings { life: LIFE, ..GatewaySettings::new(id, url) };
    database.open_with(ServerSettings { gateway, ..database.settings(id) }).await.unwrap()
}

fn is_lost<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::LeaseLost))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_says_nothing_for_its_life_loses_all_it_held() {
    let (database, mut make) = (TestDatabase::migrated().await, Maker::new());
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let (key, other) = (make.key(), make.key());
    one.membership.advertise("http://127.0.0.1:7").await.unwrap();
    let lease = one.store.leases.acquire(&key, LONG).await.unwrap();
    let unwanted = one.store.leases.acquire(&other, LONG).await.unwrap();
    assert!(matches!(two.store.leases.acquire(&key, LONG).await, Err(StoreError::Busy)));
    database.pass(LIFE).await;
    two.membership.beat().await.unwrap();
    let held = two.store.leases.acquire(&key, LONG).await.unwrap();
    assert!(held.fence > lease.fence);
    // The gateway wakes and is alive again, but it holds nothing.
    one.membership.beat().await.unwrap();
    for lost in [&lease, &unwanted] {
        assert!(is_lost(&one.store.turns.append(lost, &make.users(["late"])).await));
        assert!(is_lost(&one.store.leases.renew(lost, LONG).await));
    }
    assert!(matches!(one.store.leases.acquire(&key, LONG).await, Err(StoreError::Busy)));
    one.store.leases.acquire(&other, LONG).await.unwrap();
    let woken = two.membership.holder(&other).await.unwrap().expect("it holds something again");
    assert_eq!(woken.url, "http://127.0.0.1:7", "it is reached where it was");
    two.store.turns.append(&held, &make.users(["kept"])).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_who_find_it_silent_at_once_do_not_take_it_for_somebody_else() {
    let (database, mut make) = (TestDatabase::migrated().await, Maker::new());
    let one = open(&database, "one").await;
    // A heartbeat and several requests come at once when the gateway wakes, on connections that are
    // open.
    let beat = || one.membership.beat();
    let all = tokio::join!(beat(), beat(), beat(), beat());
    assert!(matches!(all, (Ok(()), Ok(()), Ok(()), Ok(()))), "{all:?}");
    for _ in 0..5 {
        database.pass(LIFE).await;
        let all = tokio::join!(beat(), beat(), beat(), beat());
        assert!(matches!(all, (Ok(()), Ok(()), Ok(()), Ok(()))), "{all:?}");
        one.store.leases.acquire(&make.key(), LONG).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_stops_itself_before_the_others_may_take_over() {
    let (database, mut make) = (TestDatabase::migrated().await, Maker::new());
    let one = open(&database, "one").await;
    let key = make.key();
    let lease = one.store.leases.acquire(&key, LONG).await.unwrap();
    one.store.turns.append(&lease, &make.users(["in time"])).await.unwrap();
    assert!(one.store.turns.state_now(&key).is_some());
    // The database still counts the gateway as alive, but by its own clock its life might be over.
    one.clock.advance(LIFE - Duration::from_secs(1));
    assert!(is_lost(&one.store.turns.append(&lease, &make.users(["too late"])).await));
    assert_eq!(one.store.turns.state_now(&key), None, "what others may have written is not known");
    one.membership.beat().await.unwrap();
    one.store.turns.append(&lease, &make.users(["again"])).await.unwrap();
    assert_eq!(one.store.turns.tail(&key, None, 9).await.unwrap().turns.len(), 2);
}

/// Whoever asked for the session went away while the database worked on it, as when a request is cut off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_taker_went_away_is_free_soon() {
    let (database, mut make) = (TestDatabase::migrated().await, Maker::new());
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let key = make.key();
    let lease = one.store.leases.acquire(&key, LONG).await.unwrap();
    one.store.leases.release(&lease).await.unwrap();
    let mut blocker = database.sql().await;
    let block = blocker.transaction().await.unwrap();
    block.execute("SELECT 1 FROM session_log FOR UPDATE", &[]).await.unwrap();
    let taker = tokio::spawn({
        let (leases, key) = (Arc::clone(&one.store.leases), key.clone());
        async move { leases.acquire(&key, LONG).await }
    });
    until_one_waits(&database).await;
    taker.abort();
    assert!(taker.await.unwrap_err().is_cancelled());
    block.commit().await.unwrap();
    let begun = std::time::Instant::now();
    while two.store.leases.acquire(&key, LONG).await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody can use the session");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until a statement waits for a row that somebody holds.
async fn until_one_waits(database: &TestDatabase) {
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let watcher = database.sql().await;
    while watcher.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < 1 {
        tokio::task::yield_now().await;
    }
}

/// A heartbeat whose answer comes after the draining must not make the gateway alive again: the others have taken over what
/// it held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_heartbeat_under_way_does_not_bring_a_drained_gateway_back() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (Arc::new(open(&database, "one").await), open(&database, "two").await);
    let mut blocker = database.sql().await;
    let block = blocker.transaction().await.unwrap();
    block.execute("SELECT 1 FROM gateways WHERE id = 'one' FOR UPDATE", &[]).await.unwrap();
    let beat = tokio::spawn({
        let one = Arc::clone(&one);
        async move { one.membership.beat().await }
    });
    until_one_waits(&database).await;
    let mut drained = Box::pin(one.membership.end_draining());
    // The draining begins while the heartbeat waits for its row.
    tokio::select! {
        biased;
        ended = &mut drained => panic!("{ended:?}"),
        () = std::future::ready(()) => {}
    }
    block.commit().await.unwrap();
    beat.await.unwrap().unwrap();
    drained.await.unwrap();
    let alive = two.membership.gateways().await.unwrap();
    assert_eq!(alive.iter().map(|row| row.is_alive).collect::<Vec<_>>(), [false, true]);
    let beat = one.membership.beat().await;
    assert!(matches!(beat, Err(StoreError::Unavailable(_))), "{beat:?}");
    assert!(one.membership.own("poll x").await.is_err(), "it takes nothing over");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_agree_on_the_databases_time_whatever_their_own_clocks_show() {
    let database = TestDatabase::migrated().await;
    let sql = database.sql().await;
    let now = async || {
        let select = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT";
        sql.query_one(select, &[]).await.unwrap().get::<_, i64>(0)
    };
    // The gateway's clock stands still, so its time is that of the last answer.
    let before = now().await;
    let one = open(&database, "one").await;
    let told = one.membership.database_now();
    assert!((before..=now().await).contains(&told.as_millis()), "{told:?}");
    let minute = Duration::from_secs(60);
    one.clock.advance(minute);
    assert_eq!(one.membership.database_now(), told.saturating_add(minute), "it goes on by itself");
    let before = now().await;
    one.membership.beat().await.unwrap();
    let told = one.membership.database_now();
    assert!((before..=now().await).contains(&told.as_millis()), "a heartbeat sets it right");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drained_gateway_gives_everything_back_at_once() {
    let (database, mut make) = (TestDatabase::migrated().await, Maker::new());
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let key = make.key();
    let lease = one.store.leases.acquire(&key, LONG).await.unwrap();
    let names = async || {
        let all = two.membership.gateways().await.unwrap();
        all.into_iter().map(|row| (row.id, row.url, row.is_alive)).collect::<Vec<_>>()
    };
    let row = |id: &str, is_alive| (id.to_owned(), format!("http://{id}.example"), is_alive);
    assert_eq!(names().await, [row("one", true), row("two", true)]);
    one.membership.drain().await.unwrap();
    assert_eq!(names().await, [row("two", true)]);
    two.store.leases.acquire(&key, LONG).await.unwrap();
    assert!(is_lost(&one.store.turns.append(&lease, &make.users(["late"])).await));
    assert!(is_lost(&one.store.leases.acquire(&make.key(), LONG).await), "it takes nothing more");
    assert!(is_lost(&one.membership.beat().await));
    // A gateway that ended without a word is listed as dead.
    drop(open(&database, "three").await);
    database.pass(LIFE).await;
    two.membership.beat().await.unwrap();
    assert_eq!(names().await, [row("three", false), row("two", true)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_process_of_the_same_name_takes_the_old_ones_place() {
    let (database, mut make) = (TestDatabase::migrated().await, Maker::new());
    let old = open(&database, "one").await;
    let key = make.key();
    let lease = old.store.leases.acquire(&key, LONG).await.unwrap();
    old.store.turns.append(&lease, &make.users(["before"])).await.unwrap();
    // As after a kill, no gateway has to wait until the old one's life ends.
    let new = open(&database, "one").await;
    let held = new.store.leases.acquire(&key, LONG).await.unwrap();
    new.store.turns.append(&held, &make.users(["after"])).await.unwrap();
    assert!(is_lost(&old.store.turns.append(&lease, &make.users(["late"])).await));
    assert!(is_lost(&old.membership.beat().await), "it does not take the name back");
    assert!(is_lost(&old.store.leases.acquire(&make.key(), LONG).await));
    new.membership.beat().await.unwrap();
    assert_eq!(new.store.turns.tail(&key, None, 9).await.unwrap().turns.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_heartbeat_goes_on_by_itself_and_ends_with_the_store() {
    let database = TestDatabase::migrated().await;
    let gateway =
        GatewaySettings { life: Duration::from_secs(3), ..GatewaySettings::new("one", "") };
    let settings = ServerSettings { gateway, ..database.settings("one") };
    let clocks = ServerClocks {
        records: Arc::new(SystemClock::new()),
        leases: Arc::new(BootClock::default()),
    };
    let (store, membership) =
        Store::open_server(settings, clocks, AuditWitnesses::default()).await.unwrap();
    assert_eq!(GatewaySettings::new("one", "").life, Duration::from_secs(15), "as specified");
    let sql = database.sql().await;
    let until = async || {
        let select = "SELECT extract(epoch FROM until)::FLOAT8 FROM gateways";
        sql.query_one(select, &[]).await.unwrap().get::<_, f64>(0)
    };
    let first = until().await;
    let mut second = first;
    while second == first {
        tokio::time::sleep(Duration::from_millis(50)).await;
        second = until().await;
    }
    assert!(second > first);
    drop((store, membership));
    let last = until().await;
    let over = "SELECT until < clock_timestamp() FROM gateways";
    while !sql.query_one(over, &[]).await.unwrap().get::<_, bool>(0) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(until().await, last, "nobody beats for a store that is closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_gateway_does_goes_to_another_when_it_leaves_or_dies() {
    let database = TestDatabase::migrated().await;
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let mut tries = tokio::task::JoinSet::new();
    let (one, two) = (Arc::new(one), Arc::new(two));
    for number in 0..10 {
        let gateway = Arc::clone(if number % 2 == 0 { &one } else { &two });
        tries.spawn(async move { (number % 2, gateway.membership.own("poll x").await.unwrap()) });
    }
    let owners = tries.join_all().await;
    let mut owners: Vec<usize> =
        owners.into_iter().filter_map(|(who, owned)| owned.map(|_| who)).collect();
    owners.dedup();
    assert_eq!(owners.len(), 1, "whoever owns it may ask again");
    let (holder, other) = if owners[0] == 0 { (&one, &two) } else { (&two, &one) };
    let first = holder.membership.own("poll x").await.unwrap().unwrap();
    assert!(holder.membership.still_owns(&first));
    assert_eq!(other.membership.own("poll x").await.unwrap(), None);
    other.membership.own("poll y").await.unwrap().unwrap();
    holder.membership.disown(&first).await.unwrap();
    let second = other.membership.own("poll x").await.unwrap().unwrap();
    assert!(second.fence > first.fence);
    // The other gateway dies.
    database.pass(LIFE).await;
    holder.membership.beat().await.unwrap();
    let third = holder.membership.own("poll x").await.unwrap().unwrap();
    assert!(third.fence > second.fence);
    other.membership.beat().await.unwrap();
    assert!(!other.membership.still_owns(&second), "it lives again and owns nothing");
    other.membership.disown(&second).await.unwrap();
    assert!(holder.membership.still_owns(&third));
    assert_eq!(other.membership.own("poll x").await.unwrap(), None);
    holder.membership.drain().await.unwrap();
    assert!(!holder.membership.still_owns(&third));
    other.membership.own("poll x").await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_left_once_the_gateway_that_works_on_their_session_is_dead() {
    let (database, mut make) = (TestDatabase::migrated().await, Maker::new());
    let (one, two) = (open(&database, "one").await, open(&database, "two").await);
    let key = make.key();
    let begin = BeginRun {
        run: make.run(),
        key: key.clone(),
        input_turn: make.user("x").id,
        started_at: Timestamp::from_millis(5),
        session: BeginIn::New(SessionOrigin::Thread),
    };
    one.store.leases.acquire(&key, LONG).await.unwrap();
    one.store.ledger.begin_run(begin).await.unwrap();
    let waits = make.user("and then?");
    let TurnBody::User(words) = waits.body else { panic!("words") };
    let row = InboxRow {
        turn: waits.id,
        delivery: Delivery::FollowUp,
        words,
        received_at: Timestamp::from_millis(6),
    };
    one.store.ledger.put_inbox(&key, row).await.unwrap();
    assert_eq!(two.store.ledger.left_messages().await.unwrap(), [], "its gateway lives");
    database.pass(LIFE).await;
    two.membership.beat().await.unwrap();
    let left = LeftMessage { person: key.person, session: key.session, turn: waits.id };
    assert_eq!(two.store.ledger.left_messages().await.unwrap(), [left]);
    two.membership.begin_draining();
    assert_eq!(two.store.ledger.left_messages().await.unwrap(), [], "it takes nothing over");
}
