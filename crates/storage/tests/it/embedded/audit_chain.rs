use onyx_storage::{AuditEntry, ChainState};
use onyx_types::{PersonId, RecordedTool};
use rusqlite::types::Value;
use rusqlite::{Connection, params};

use crate::support::{Maker, TempStore, audit_entry};

const ROWS: u64 = 5;

async fn chain() -> (TempStore, PersonId, Connection) {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    for person in ["anna", "bert"] {
        for n in 0..ROWS {
            let entry = AuditEntry {
                agent: (n % 2 == 0).then(|| "main".parse().unwrap()),
                tool: (n % 2 == 1).then(|| RecordedTool::read(format!("tool {n}"))),
                ..audit_entry(&mut make, person)
            };
            temp.store.ledger.append_audit(entry).await.unwrap();
        }
    }
    let database = Connection::open(temp.home().join("onyx.db")).unwrap();
    (temp, "anna".parse().unwrap(), database)
}

async fn state(temp: &TempStore, person: &PersonId) -> ChainState {
    temp.store.ledger.verify_audit(person).await.unwrap()
}

/// Removes the triggers, as an attacker with the database file could.
fn without_guards(database: &Connection) {
    database
        .execute_batch(
            "DROP TRIGGER audit_is_append_only_update; DROP TRIGGER audit_is_append_only_delete;",
        )
        .unwrap();
}

#[tokio::test]
async fn rows_cannot_be_changed_or_removed_by_plain_statements() {
    let (temp, anna, database) = chain().await;
    assert!(database.execute("UPDATE audit SET result = 'x'", []).is_err());
    assert!(database.execute("DELETE FROM audit", []).is_err());
    assert_eq!(state(&temp, &anna).await, ChainState::Whole { rows: ROWS });
}

/// Makes, for each column, its name, a statement that reads it and a statement that forges it.
macro_rules! columns {
    ($($column:literal)*) => {
        [$((
            $column,
            concat!("SELECT ", $column, " FROM audit WHERE person = 'anna' AND seq = ?1"),
            concat!("UPDATE audit SET ", $column, " = ?2 WHERE person = 'anna' AND seq = ?1"),
        ),)*]
    };
}

#[tokio::test]
async fn a_change_of_any_field_of_any_row_is_found() {
    let (temp, anna, database) = chain().await;
    without_guards(&database);
    let columns = columns! {
        "ts" "actor_kind" "actor" "agent" "session" "run" "tool" "effect" "decision"
        "diff_summary" "result" "previous" "hash"
    };
    for (column, read, forge) in columns {
        for seq in 1..=ROWS.cast_signed() {
            let value: Value = database.query_row(read, [seq], |row| row.get(0)).unwrap();
            for forged in forgeries(column).into_iter().filter(|forged| *forged != value) {
                database.execute(forge, params![seq, forged]).unwrap();
                let broken = ChainState::Broken { at: seq.cast_unsigned() };
                assert_eq!(state(&temp, &anna).await, broken, "{column} of {seq}: {forged:?}");
            }
            database.execute(forge, params![seq, value]).unwrap();
        }
    }
    assert_eq!(state(&temp, &anna).await, ChainState::Whole { rows: ROWS });
}

fn forgeries(column: &str) -> Vec<Value> {
    let text = |text: &str| Value::Text(text.to_owned());
    match column {
        "ts" => vec![Value::Integer(0)],
        "agent" => vec![text("other"), Value::Null, text("not an id!")],
        "session" | "run" => vec![text("018f3f6e-0000-7000-8000-000000000000")],
        "tool" => vec![text(""), text("other"), Value::Null],
        "effect" => vec![text("read"), text("no such effect")],
        "decision" => vec![text("allow")],
        "previous" | "hash" => vec![text(&"0".repeat(64)), text(&"1".repeat(64)), text("short")],
        _ => vec![text(""), text("forged")],
    }
}

#[tokio::test]
async fn a_removed_row_is_found_wherever_it_was() {
    for seq in 1..=ROWS {
        let (temp, anna, database) = chain().await;
        without_guards(&database);
        database
            .execute("DELETE FROM audit WHERE person = 'anna' AND seq = ?1", [seq.cast_signed()])
            .unwrap();
        assert_eq!(state(&temp, &anna).await, ChainState::Broken { at: seq });
        let bert = "bert".parse().unwrap();
        assert_eq!(state(&temp, &bert).await, ChainState::Whole { rows: ROWS });
    }
}

#[tokio::test]
async fn removing_all_rows_or_moving_them_to_another_person_is_found() {
    let (temp, anna, database) = chain().await;
    without_guards(&database);
    database.execute("DELETE FROM audit WHERE person = 'anna'", []).unwrap();
    assert_eq!(state(&temp, &anna).await, ChainState::Broken { at: 1 });
    database.execute("UPDATE audit SET person = 'anna' WHERE person = 'bert'", []).unwrap();
    assert_eq!(state(&temp, &anna).await, ChainState::Broken { at: 1 });
}

#[tokio::test]
async fn a_row_that_was_put_in_without_the_head_is_found() {
    let (temp, anna, database) = chain().await;
    let last: String = database
        .query_row("SELECT hash FROM audit WHERE person = 'anna' AND seq = 5", [], |row| row.get(0))
        .unwrap();
    database
        .execute(
            "INSERT INTO audit SELECT person, 6, ts, actor_kind, actor, agent, session, run, tool,
                effect, decision, diff_summary, result, ?1, hash, key FROM audit
             WHERE person = 'anna' AND seq = 5",
            params![last],
        )
        .unwrap();
    assert_eq!(state(&temp, &anna).await, ChainState::Broken { at: 6 });
}
