//! Tests of large contents: what the object store holds, and the rows that record it.

use std::time::Duration;

use onyx_storage::{Area, Expect, ObjectKey, Objects, Sealing, ServerSettings, StoreError};
use tokio_postgres::Client;

use super::servers::{OpenGateway, TestDatabase, let_die, two};
use crate::support::{Maker, TTL};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn key(path: &str) -> ObjectKey {
    path.parse().unwrap()
}

fn vault(gateway: &OpenGateway) -> std::sync::Arc<dyn Objects> {
    gateway.store.files.objects(&Area::Vault("anna".parse().unwrap())).unwrap()
}

fn large(letter: &str) -> Vec<u8> {
    letter.repeat(100_000).into_bytes()
}

/// Sweeps as the gateway that owns the duty.
async fn sweep(gateway: &OpenGateway) -> u64 {
    let owned = gateway.membership.own("sweep").await.unwrap().expect("no other gateway has it");
    gateway.membership.sweep_objects(&owned).await.unwrap()
}

/// Returns the path that the only object has in the store.
async fn only_object(sql: &Client, bucket: &str) -> String {
    let row = sql.query_one("SELECT person, sha256 FROM blobs", &[]).await.unwrap();
    let (person, name): (String, String) = (row.get(0), row.get(1));
    format!("/{bucket}/onyx/blobs/{person}/{name}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_goes_a_day_after_nothing_refers_to_it_and_no_sooner() {
    let database = TestDatabase::migrated().await;
    let gateway = database.open("one").await;
    let objects = vault(&gateway);
    objects.put(&key("kept"), &large("k"), Expect::Absent).await.unwrap();
    objects.put(&key("gone"), &large("g"), Expect::Absent).await.unwrap();
    let mut make = Maker::new();
    let lease = gateway.store.leases.acquire(&make.key(), TTL).await.unwrap();
    let turns = make.users(["one", "two", "three", "four"]);
    gateway.store.turns.append(&lease, &turns).await.unwrap();
    let sql = database.sql().await;
    let count = async |table: &str| {
        let select = ["SELECT count(*) FROM ", table].concat();
        sql.query_one(&select, &[]).await.unwrap().get::<_, i64>(0)
    };
    assert_eq!((count("blobs").await, count("segments").await, count("turns").await), (3, 1, 0));
    objects.delete(&key("gone"), Expect::Anything).await.unwrap();
    assert_eq!(sweep(&gateway).await, 0);
    database.pass(DAY + Duration::from_secs(1)).await;
    // The gateway lives again after that day.
    gateway.membership.beat().await.unwrap();
    assert_eq!(sweep(&gateway).await, 1);
    assert_eq!(sweep(&gateway).await, 0);
    let kept = objects.get(&key("kept"), u64::MAX).await.unwrap().unwrap();
    assert_eq!(kept.bytes, large("k"));
    assert_eq!(gateway.store.turns.tail(&lease.key, None, 9).await.unwrap().turns, turns);
    // A content that was swept can be written again.
    objects.put(&key("gone"), &large("g"), Expect::Absent).await.unwrap();
    let again = objects.get(&key("gone"), u64::MAX).await.unwrap().unwrap();
    assert_eq!(again.bytes, large("g"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_waits_for_an_object_that_is_being_deleted() {
    let database = TestDatabase::migrated().await;
    let gateway = database.open("one").await;
    let objects = vault(&gateway);
    objects.put(&key("a"), &large("a"), Expect::Absent).await.unwrap();
    objects.delete(&key("a"), Expect::Anything).await.unwrap();
    let sql = database.sql().await;
    // The state is that of a sweep that was cut off in the middle: the row is marked, and the
    // object may be gone.
    sql.execute("UPDATE blobs SET state = 'deleting'", &[]).await.unwrap();
    let object = only_object(&sql, &database.name).await;
    assert_eq!(database.servers.http("DELETE", &object, ""), 204);
    let write = {
        let objects = vault(&gateway);
        tokio::spawn(async move { objects.put(&key("b"), &large("a"), Expect::Absent).await })
    };
    assert_eq!(objects.get(&key("b"), 9).await.unwrap(), None);
    assert!(!write.is_finished());
    assert_eq!(sweep(&gateway).await, 1);
    write.await.unwrap().unwrap();
    let read = objects.get(&key("b"), u64::MAX).await.unwrap().unwrap();
    assert_eq!(read.bytes, large("a"));
}

/// Marks three objects for deletion, and has the store refuse to delete the first of them. Returns
/// their paths.
async fn three_marked(database: &TestDatabase, gateway: &OpenGateway) -> [String; 3] {
    let objects = vault(gateway);
    let sql = database.sql().await;
    for letter in ["a", "b", "c"] {
        objects.put(&key(letter), &large(letter), Expect::Absent).await.unwrap();
        objects.delete(&key(letter), Expect::Anything).await.unwrap();
    }
    sql.execute("UPDATE blobs SET state = 'deleting'", &[]).await.unwrap();
    let rows = sql.query("SELECT person, sha256 FROM blobs", &[]).await.unwrap();
    let paths: Vec<String> = rows
        .iter()
        .map(|row| format!("blobs/{}/{}", row.get::<_, &str>(0), row.get::<_, &str>(1)))
        .collect();
    let policy = serde_json::json!({"Version": "2012-10-17", "Statement": [{
        "Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject",
        "Resource": format!("arn:aws:s3:::{}/onyx/{}", database.name, paths[0]),
    }]});
    let policies = format!("/{}?policy", database.name);
    let status = database.servers.http("PUT", &policies, &policy.to_string());
    assert!((200..300).contains(&status));
    paths.try_into().unwrap()
}

/// Whether the object store has it.
fn is_there(database: &TestDatabase, path: &str) -> bool {
    database.servers.http("GET", &format!("/{}/onyx/{path}", database.name), "") == 200
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_cannot_be_deleted_does_not_keep_the_others() {
    let database = TestDatabase::migrated().await;
    let gateway = database.open("one").await;
    let paths = three_marked(&database, &gateway).await;
    assert_eq!(sweep(&gateway).await, 2);
    assert_eq!(paths.each_ref().map(|path| is_there(&database, path)), [true, false, false]);
    database.servers.http("DELETE", &format!("/{}?policy", database.name), "");
    assert_eq!(sweep(&gateway).await, 1, "it is tried again");
    assert!(!is_there(&database, &paths[0]));
}

/// The gateway's own clock stands still, as if the gateway was frozen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweeper_that_was_frozen_deletes_nothing_that_was_stored_again_meanwhile() {
    let (database, one, two) = two().await;
    let objects = vault(&one);
    objects.put(&key("a"), &large("a"), Expect::Absent).await.unwrap();
    objects.delete(&key("a"), Expect::Anything).await.unwrap();
    let sql = database.sql().await;
    sql.execute("UPDATE blobs SET state = 'deleting'", &[]).await.unwrap();
    let owned = one.membership.own("sweep").await.unwrap().unwrap();
    let_die(&database, &two).await;
    assert_eq!(sweep(&two).await, 1, "another gateway has taken over");
    vault(&two).put(&key("b"), &large("a"), Expect::Absent).await.unwrap();
    // The frozen gateway read the row before all of that, so it still sees it as marked.
    sql.execute("UPDATE blobs SET state = 'deleting'", &[]).await.unwrap();
    let late = one.membership.sweep_objects(&owned).await;
    assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
    sql.execute("UPDATE blobs SET state = 'stored'", &[]).await.unwrap();
    let read = vault(&two).get(&key("b"), u64::MAX).await.unwrap().unwrap();
    assert_eq!(read.bytes, large("a"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_was_changed_or_lost_is_told_and_never_taken_for_the_content() {
    let database = TestDatabase::migrated().await;
    let gateway = database.open("one").await;
    let objects = vault(&gateway);
    objects.put(&key("a"), &large("a"), Expect::Absent).await.unwrap();
    let object = only_object(&database.sql().await, &database.name).await;
    assert_eq!(database.servers.http("PUT", &object, "something else"), 200);
    let changed = objects.get(&key("a"), u64::MAX).await;
    assert!(matches!(changed, Err(StoreError::Damaged(_))), "{changed:?}");
    assert_eq!(database.servers.http("DELETE", &object, ""), 204);
    let lost = objects.get(&key("a"), u64::MAX).await;
    assert!(matches!(lost, Err(StoreError::Damaged(_))), "{lost:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_nobody_writes_to_is_sealed_and_reads_and_grows_as_before() {
    let database = TestDatabase::migrated().await;
    let settings = ServerSettings { sealing: Sealing::default(), ..database.settings("one") };
    let gateway = database.open_with(settings).await.unwrap();
    let (mut make, minute) = (Maker::new(), Duration::from_secs(60));
    let key = make.key();
    let lease = gateway.store.leases.acquire(&key, DAY).await.unwrap();
    let turns = make.users(["one", "two", "three", "four", "five"]);
    let log = &gateway.store.turns;
    log.append(&lease, &turns[..2]).await.unwrap();
    assert_eq!(gateway.membership.seal_idle_logs(minute).await.unwrap(), 0, "it was just written");
    database.pass(minute).await;
    assert_eq!(gateway.membership.seal_idle_logs(minute).await.unwrap(), 1);
    assert_eq!(gateway.membership.seal_idle_logs(minute).await.unwrap(), 0);
    // The log has rows after segments, and is read in pages of every size.
    log.append(&lease, &turns[2..4]).await.unwrap();
    database.pass(minute).await;
    gateway.membership.seal_idle_logs(minute).await.unwrap();
    log.append(&lease, &turns[4..]).await.unwrap();
    for size in 1..6 {
        let (mut read, mut before) = (Vec::new(), None);
        loop {
            let page = log.tail(&key, before, size).await.unwrap();
            assert_eq!(page.damage, []);
            read.splice(0..0, page.turns);
            before = Some(page.start);
            if !page.has_older {
                break;
            }
        }
        assert_eq!(read, turns, "pages of {size}");
    }
    let other = make.key();
    let copy = gateway.store.leases.acquire(&other, DAY).await.unwrap();
    log.copy_through(&key, turns[3].id, &copy).await.unwrap();
    assert_eq!(log.tail(&other, None, 9).await.unwrap().turns, turns[..4]);
    log.delete(&lease).await.unwrap();
    assert_eq!(log.tail(&key, None, 9).await.unwrap().turns, []);
    let between = log.tail(&key, Some(onyx_storage::Pos(3)), 9).await.unwrap();
    assert_eq!(between.turns, []);
}
