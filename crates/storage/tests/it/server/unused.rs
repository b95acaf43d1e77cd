//! Looking for passing sessions that nobody uses reads no others.

use std::time::Duration;

use onyx_test_support::wait_for;
use onyx_types::Timestamp;

use super::servers::TestDatabase;

/// Two passing sessions of two people, of which one is old, beside 20,000 ordinary ones.
const SESSIONS: &str = "INSERT INTO sessions (person, session, agent, origin, status, created_at,
        updated_at, message_count, token_count, preview, root)
    SELECT CASE WHEN n = 1 THEN 'anna' ELSE 'bert' END, id, 'main',
           CASE WHEN n <= 2 THEN 'api' ELSE 'chat' END, 'active', n, n, 1, 1, '', id
    FROM (SELECT n, gen_random_uuid()::TEXT AS id FROM generate_series(1, 20000) AS n) AS made";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unused_sessions_are_listed_by_their_index_alone() {
    let database = TestDatabase::migrated().await;
    let gateway = database.open("one").await;
    let sql = database.sql().await;
    sql.batch_execute(SESSIONS).await.unwrap();
    sql.batch_execute("ANALYZE sessions").await.unwrap();

    let until = Timestamp::from_millis(2);
    let unused = gateway.store.ledger.unused_sessions(until, None, 200).await;
    drop(gateway);
    assert_eq!(unused.unwrap().len(), 1);

    // A connection of the gateway reports what it read when it is closed.
    let select = "SELECT coalesce(seq_tup_read, 0), coalesce(idx_tup_fetch, 0),
               (SELECT idx_scan FROM pg_stat_user_indexes
                WHERE indexrelname = 'sessions_passing')
        FROM pg_stat_user_tables WHERE relname = 'sessions'";
    let read = wait_for("the database to count", Duration::from_secs(30), async || {
        let row = sql.query_one(select, &[]).await.unwrap();
        let scans: i64 = row.get(2);
        (scans > 0).then(|| (row.get::<_, i64>(0), row.get::<_, i64>(1)))
    })
    .await;
    assert_eq!(read.0, 0, "rows that were read without an index");
    assert!(read.1 <= 4, "{} rows were read by an index", read.1);
}
