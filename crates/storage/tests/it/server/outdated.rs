//! Tests that rows which nobody needs any more are removed, and no others.

use onyx_storage::{BeginIn, BeginRun, Draft, DraftChange, DraftMove, RunOutcome};
use onyx_types::{DraftState, IdGenerator, RunStatus, SessionKey, SessionOrigin, Usage};
use tokio_postgres::Client;

use super::races::draft;
use super::servers::{OpenGateway, TestDatabase, let_die, two};
use crate::support::{Maker, TTL, audit_entry};

async fn texts(sql: &Client, select: &str) -> Vec<String> {
    sql.query(select, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_of_dead_gateways_are_removed_but_for_those_of_drafts_that_are_not_settled() {
    let (database, one, two) = two().await;
    let (mut make, mut mint) = (Maker::new(), IdGenerator::new(1));
    let entry = audit_entry(&mut make, "anna");
    let mut leases = Vec::new();
    for to in [DraftState::Applying, DraftState::Rejected] {
        let key = make.key();
        let draft = draft(&mut make, &mut mint, &key);
        let lease = Draft::lease_name(draft.id);
        one.membership.own(&lease).await.unwrap().expect("it is free");
        leases.push(lease);
        one.store.drafts.put_draft(draft.clone(), &[], entry.clone()).await.unwrap();
        let change = DraftChange::default();
        let step = DraftMove { from: draft.state, hash: draft.hash, to, change };
        let person = &draft.key.person;
        one.store.drafts.move_draft(person, draft.id, step, entry.clone()).await.unwrap();
    }
    one.membership.own("source gone").await.unwrap().expect("it is free");
    let_die(&database, &two).await;
    two.membership.own("sweep").await.unwrap().expect("it is free");
    two.membership.remove_outdated_rows().await.unwrap();
    let left = texts(&database.sql().await, "SELECT name FROM owners ORDER BY name").await;
    assert_eq!(left, [leases[0].as_str(), "sweep"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protections_of_copies_that_were_cut_off_are_removed_when_their_time_is_over() {
    let database = TestDatabase::migrated().await;
    let (one, sql) = (database.open("one").await, database.sql().await);
    let copies = "INSERT INTO agreed (name, value) VALUES
        ('copy:old', (extract(epoch FROM clock_timestamp())::BIGINT - 5)::TEXT),
        ('copy:new', (extract(epoch FROM clock_timestamp())::BIGINT + 600)::TEXT),
        ('something else', 'no number')";
    sql.batch_execute(copies).await.unwrap();
    one.membership.remove_outdated_rows().await.unwrap();
    let left = "SELECT name FROM agreed WHERE starts_with(name, 'copy:') OR name = 'something else'
                ORDER BY name";
    assert_eq!(texts(&sql, left).await, ["copy:new", "something else"]);
}

/// A session with one run that has ended well.
async fn session(gateway: &OpenGateway, make: &mut Maker) -> SessionKey {
    let (key, store) = (make.key(), &gateway.store);
    let lease = store.leases.acquire(&key, TTL).await.unwrap();
    let question = make.users(["a question"]);
    let begin = BeginRun {
        run: make.run(),
        key: key.clone(),
        input_turn: question[0].id,
        started_at: make.tick(),
        session: BeginIn::New(SessionOrigin::Chat),
    };
    let run = begin.run;
    store.ledger.begin_run(begin).await.unwrap();
    let outcome = RunOutcome {
        run,
        status: RunStatus::Done,
        ended_at: make.tick(),
        usage: Usage::default(),
        used: Vec::new(),
        messages_added: 2,
        preview: None,
        title: None,
    };
    store.ledger.end_run(outcome).await.unwrap();
    store.leases.release(&lease).await.unwrap();
    key
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_of_a_deleted_session_is_removed_after_a_week() {
    let (database, mut make) = (TestDatabase::migrated().await, Maker::new());
    let (one, sql) = (database.open("one").await, database.sql().await);
    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(session(&one, &mut make).await);
    }
    let ledger = &one.store.ledger;
    let [living, lately, long_ago] = keys.as_slice() else { unreachable!() };
    for gone in [lately, long_ago] {
        ledger.delete_session(&gone.person, gone.session).await.unwrap();
        // The changes get their numbers one after the other.
        ledger.session_sequence().await.unwrap();
    }
    let before = ledger.session_sequence().await.unwrap().unwrap();
    assert_eq!(before.removed, 0);
    for (key, days) in [(living, 9), (lately, 6), (long_ago, 8)] {
        let noted = "UPDATE session_changes SET noted = noted - $2::INTEGER * INTERVAL '1 day'
                     WHERE session = $1";
        sql.execute(noted, &[&key.session.to_string(), &days]).await.unwrap();
    }
    one.membership.remove_outdated_rows().await.unwrap();

    let mut kept = [living.session.to_string(), lately.session.to_string()];
    kept.sort();
    for select in [
        "SELECT session FROM session_changes ORDER BY session",
        "SELECT session FROM run_inputs ORDER BY session",
    ] {
        assert_eq!(texts(&sql, select).await, kept, "{select}");
    }
    assert_eq!(texts(&sql, "SELECT run FROM runs").await.len(), 3, "runs are history");
    let after = ledger.session_sequence().await.unwrap().unwrap();
    assert_eq!((after.epoch, after.last, after.removed), (before.epoch, before.last, before.last));
    // Changes continue after the number that was removed.
    session(&one, &mut make).await;
    let next = ledger.session_sequence().await.unwrap().unwrap();
    assert_eq!(next.last, before.last + 1);
    assert_eq!(ledger.moved_sessions(before.last, 9).await.unwrap().len(), 1);
}
