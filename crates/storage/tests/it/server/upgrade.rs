//! Tests of a rolling upgrade: what is in older tables survives the migrations, and older gateways go on working on newer
//! tables.

use std::time::Duration;

use onyx_storage::{
    AccountKey, InboxState, SCHEMA_VERSION, ServerError, ServerSettings, ShortLivedKind,
    migrate_database,
};
use onyx_test_support::{OLD_TABLES, TableContents, copy_into_old_tables, fill_empty_tables};
use onyx_types::Hash;
use tokio_postgres::Client;

use super::servers::TestDatabase;
use crate::conformance::everything::{answers, fill};
use crate::conformance::of_gateway;
use crate::support::{Maker, TTL};

/// A database with older tables in which every table has rows, and whose objects are those of another one.
async fn old_tables(newest: &TestDatabase) -> TestDatabase {
    let old = TestDatabase::empty().await;
    let sql = old.sql().await;
    copy_into_old_tables(&newest.sql().await, &sql).await;
    fill_empty_tables(&sql).await;
    old
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_older_tables_hold_survives_the_migrations_and_is_served() {
    let newest = TestDatabase::migrated().await;
    let before = of_gateway(newest.open("one").await);
    let key = fill(&before).await;
    let expected = answers(&before, &key).await;
    let old = old_tables(&newest).await;
    let sql = old.sql().await;
    let held = TableContents::of(&sql).await;
    assert_eq!(held.empty_tables(), [""; 0]);
    let ran = migrate_database(&old.database_url()).await.unwrap();
    assert_eq!(ran, usize::try_from(SCHEMA_VERSION - OLD_TABLES).unwrap());
    assert_eq!(held.missing_from(&held.again(&sql).await), [""; 0], "nothing is lost or changed");

    // The same gateway in a new process, so that the sessions of the old one are free.
    let settings =
        ServerSettings { objects: newest.settings("one").objects, ..old.settings("one") };
    let after = of_gateway(old.open_with(settings).await.unwrap());
    assert_eq!(answers(&after, &key).await, expected);
    let lease = after.leases.acquire(&key, TTL).await.unwrap();
    after.turns.append(&lease, &Maker::new().users(["after the upgrade"])).await.unwrap();
    assert_eq!(after.turns.tail(&key, None, 99).await.unwrap().turns.len(), 6);
}

#[tokio::test]
async fn a_migration_does_not_wait_for_a_long_transaction_and_changes_nothing() {
    let newest = TestDatabase::migrated().await;
    let old = old_tables(&newest).await;
    let mut other = old.sql().await;
    let other = other.transaction().await.unwrap();
    other.batch_execute("SELECT FROM onyx_schema FOR UPDATE").await.unwrap();
    let refused = migrate_database(&old.database_url()).await.unwrap_err();
    assert_eq!(refused, ServerError::TablesInUse);
    assert!(refused.hint().contains("pg_stat_activity"), "{}", refused.hint());
    let found = other.query_one("SELECT version FROM onyx_schema", &[]).await.unwrap();
    assert_eq!(found.get::<_, i32>(0), OLD_TABLES);
    other.rollback().await.unwrap();
    let ran = migrate_database(&old.database_url()).await.unwrap();
    assert_eq!(ran, usize::try_from(SCHEMA_VERSION - OLD_TABLES).unwrap());
}

#[tokio::test]
async fn newer_tables_take_what_older_gateways_write() {
    let newest = TestDatabase::migrated().await;
    let old = old_tables(&newest).await;
    let sql = old.sql().await;
    let held = TableContents::of(&sql).await;
    let unique = held.unique_indexes(&sql).await;
    migrate_database(&old.database_url()).await.unwrap();
    let row = sql.query_one("SELECT compatible_from FROM onyx_schema", &[]).await.unwrap();
    assert!(row.get::<_, i32>(0) <= OLD_TABLES, "gateways of version {OLD_TABLES} go on");
    assert_eq!(held.new_columns_that_old_inserts_miss(&sql).await, [""; 0]);
    assert_eq!(held.unique_indexes(&sql).await, unique);
}

/// Gateways of all versions read drafts with all columns, and PostgreSQL refuses a prepared statement
/// whose columns have changed.
#[tokio::test]
async fn statements_that_older_gateways_prepared_work_after_the_migrations() {
    let newest = TestDatabase::migrated().await;
    let old = old_tables(&newest).await;
    let sql = old.sql().await;
    let drafts = sql.prepare("SELECT * FROM drafts").await.unwrap();
    let before = sql.query(&drafts, &[]).await.unwrap().len();
    migrate_database(&old.database_url()).await.unwrap();
    assert_eq!(sql.query(&drafts, &[]).await.unwrap().len(), before);
}

/// The statements of gateways that know version 1 about their own row.
const OF_VERSION_1: [&str; 2] = [
    "INSERT INTO gateways (id, incarnation, url, until)
     VALUES ('old', nextval('incarnations'), 'http://old.example',
             clock_timestamp() + 600000 * INTERVAL '1 millisecond')
     ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation,
         url = excluded.url, until = excluded.until
     RETURNING incarnation",
    "UPDATE gateways
     SET until = clock_timestamp() + 600000 * INTERVAL '1 millisecond'
     WHERE id = 'old' AND until > clock_timestamp()",
];

/// The statements of gateways that know versions 2 to 4 about entries that last a short time.
const ENTRY_OF_VERSION_2: &str = "INSERT INTO pending_entries (kind, key, value, until)
    VALUES ('link', $1, $2, clock_timestamp() + 600 * INTERVAL '1 second')
    ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value,
        made = excluded.made, until = excluded.until";
const TAKE_OF_VERSION_2: &str = "DELETE FROM pending_entries WHERE kind = 'link' AND key = $1
    RETURNING value, until > clock_timestamp()";

/// The statements of gateways that know version 3 about messages of connectors.
const UPDATE_OF_VERSION_3: &str = "INSERT INTO connector_inbox
        (network, account, update_id, peer, message, body, state, received_at)
    VALUES ('telegram', 'main', $1, '7', $1, 'a body', 'new', 5)
    ON CONFLICT DO NOTHING";
const BEGIN_OF_VERSION_3: &str =
    "UPDATE connector_inbox SET state = 'working', attempts = attempts + 1
     WHERE update_id = $1 AND state IN ('new', 'working')
     RETURNING id";
const FINISH_OF_VERSION_3: &str = "UPDATE connector_inbox SET state = 'done', body = '', why = ''
     WHERE update_id = $1 AND state IN ('new', 'working')";
const PART_OF_VERSION_3: &str = "INSERT INTO connector_outbox
        (network, account, peer, key, body, repeatable, state, created_at)
    VALUES ('telegram', 'main', '7', $1, 'a body', TRUE, 'queued', 5)
    ON CONFLICT DO NOTHING";

/// Runs a statement that must affect one row.
async fn changes_one(sql: &Client, statement: &str, name: &str) {
    assert_eq!(sql.execute(statement, &[&name]).await.unwrap(), 1, "{statement}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_of_older_gateways_work_beside_a_newer_one() {
    let database = TestDatabase::migrated().await;
    let newer = database.open("newer").await;
    let sql = database.sql().await;
    for statement in OF_VERSION_1 {
        sql.batch_execute(statement).await.unwrap();
    }
    let all = newer.membership.gateways().await.unwrap();
    let old = all.iter().find(|gateway| gateway.id == "old").unwrap();
    assert_eq!((old.is_alive, old.version.as_str()), (true, ""));

    let (key, short_lived) = (Hash::of(b"a link"), &newer.store.short_lived);
    let name = key.to_string();
    for value in ["first", "second"] {
        assert_eq!(sql.execute(ENTRY_OF_VERSION_2, &[&name, &value]).await.unwrap(), 1);
    }
    let entry = short_lived.get(ShortLivedKind::Link, key).await.unwrap().unwrap();
    assert_eq!((entry.person, entry.value.as_str()), (None, "second"));
    assert!(entry.left > Duration::from_secs(60));
    changes_one(&sql, TAKE_OF_VERSION_2, &name).await;
    assert_eq!(short_lived.get(ShortLivedKind::Link, key).await.unwrap(), None);

    let connectors = &newer.store.connectors;
    let account = AccountKey { network: "telegram".to_owned(), account: "main".to_owned() };
    for name in ["1", "2"] {
        changes_one(&sql, UPDATE_OF_VERSION_3, name).await;
        changes_one(&sql, PART_OF_VERSION_3, name).await;
    }
    // What an older gateway began is taken over, and what the newer one began is ended by an older one.
    changes_one(&sql, BEGIN_OF_VERSION_3, "1").await;
    let open = connectors.open_updates(&account, 9).await.unwrap();
    let states: Vec<_> = open.iter().map(|update| (update.state, update.is_elsewhere)).collect();
    assert_eq!(states, [(InboxState::Working, false), (InboxState::New, false)]);
    for update in &open {
        connectors.begin_update(update.id).await.unwrap().unwrap();
    }
    assert!(connectors.finish_update(open[0].id, Vec::new(), open[0].received_at).await.unwrap());
    changes_one(&sql, FINISH_OF_VERSION_3, "2").await;
    assert_eq!(connectors.open_updates(&account, 9).await.unwrap(), []);
    let parts = connectors.next_parts(&account, 9).await.unwrap();
    assert_eq!(parts.iter().map(|part| part.key.as_str()).collect::<Vec<_>>(), ["1"]);
}
