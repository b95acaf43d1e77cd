//! The audit chain holds against an attacker who can write the database but has no key.

use std::path::Path;

use onyx_test_support::OnyxProcess;
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::drafts::{draft_of, message, obedient, suggesting};
use crate::run;

async fn with_rows(rows: usize) -> OnyxProcess {
    let model = obedient().await;
    let mut onyx = suggesting(&model).start().await;
    for number in 0..rows {
        let call = ("write_file", json!({"path": format!("{number}.md"), "content": "x\n"}));
        drop(draft_of(&onyx, json!({"message": message(&[call])})).await);
    }
    assert!(onyx.terminate().await.success());
    onyx
}

/// Opens the database as an attacker would, without the triggers that keep honest programs from
/// changing rows.
fn database(home: &Path) -> Connection {
    let connection = Connection::open(home.join("onyx.db")).unwrap();
    let off = "DROP TRIGGER audit_is_append_only_update; DROP TRIGGER audit_is_append_only_delete;";
    connection.execute_batch(off).unwrap();
    connection
}

async fn verified(home: &Path) -> (Option<i32>, Value) {
    let ran = run(home, &["audit", "verify", "--json"]).await;
    let value: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    (ran.code, value["chains"][0].clone())
}

/// Hashes a row as it was done before there was a key. Whoever reads the source can compute this.
fn unkeyed_hash(row: &[Option<String>], seq: i64, ts: i64, previous: &str) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(&(seq as u64).to_le_bytes());
    part(&ts.to_le_bytes());
    // person, actor_kind, actor, diff_summary, result
    for index in [0, 1, 2, 9, 10] {
        part(row[index].as_deref().unwrap_or_default().as_bytes());
    }
    // agent, session, run, tool, effect, decision
    for field in &row[3..9] {
        match field {
            Some(text) => {
                part(b"1");
                part(text.as_bytes());
            }
            None => {
                part(b"0");
                part(b"");
            }
        }
    }
    part(blake3::Hash::from_hex(previous).unwrap().as_bytes());
    hasher.finalize()
}

/// Changes the text of a row and computes the whole chain anew, as an attacker would.
fn forge(connection: &Connection) {
    connection.execute("UPDATE audit SET diff_summary = 'nothing' WHERE seq = 2", []).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT person, actor_kind, actor, agent, session, run, tool, effect, decision,
                    diff_summary, result, seq, ts
             FROM audit ORDER BY seq",
        )
        .unwrap();
    let rows: Vec<(Vec<Option<String>>, i64, i64)> = statement
        .query_map([], |row| {
            let texts =
                (0..11).map(|at| row.get(at)).collect::<Result<Vec<Option<String>>, _>>()?;
            Ok((texts, row.get(11)?, row.get(12)?))
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut previous = "0".repeat(64);
    for (texts, seq, ts) in &rows {
        let hash = unkeyed_hash(texts, *seq, *ts, &previous).to_string();
        let set = "UPDATE audit SET previous = ?1, hash = ?2 WHERE seq = ?3";
        connection.execute(set, params![previous, hash, seq]).unwrap();
        // An attacker removes the mark that a row is hashed with a key.
        drop(connection.execute("UPDATE audit SET key = NULL WHERE seq = ?1", [seq]));
        previous = hash;
    }
    let set = "UPDATE audit_heads SET seq = ?1, hash = ?2";
    connection.execute(set, params![rows.len() as i64, previous]).unwrap();
}

#[tokio::test]
async fn a_chain_that_is_made_anew_without_the_key_is_found() {
    let onyx = with_rows(3).await;
    let home = onyx.home();
    assert_eq!(
        verified(&home).await,
        (Some(0), json!({"person": "owner", "whole": true, "rows": 3}))
    );
    forge(&database(&home));
    let (code, chain) = verified(&home).await;
    assert_ne!(code, Some(0));
    assert_eq!((&chain["whole"], &chain["broken_at"]), (&json!(false), &json!(1)), "{chain}");
}

#[tokio::test]
async fn a_missing_tail_is_found_also_when_the_head_is_moved_back() {
    let onyx = with_rows(3).await;
    let home = onyx.home();
    let connection = database(&home);
    let old: (i64, String) = connection
        .query_row("SELECT seq, hash FROM audit WHERE seq = 2", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    connection.execute("DELETE FROM audit WHERE seq = 3", []).unwrap();
    connection
        .execute("UPDATE audit_heads SET seq = ?1, hash = ?2", params![old.0, old.1])
        .unwrap();
    let (code, chain) = verified(&home).await;
    assert_ne!(code, Some(0));
    assert_eq!((&chain["whole"], &chain["broken_at"]), (&json!(false), &json!(3)), "{chain}");
}

#[tokio::test]
async fn an_older_copy_of_the_whole_database_is_found() {
    let model = obedient().await;
    let mut onyx = suggesting(&model).start().await;
    let write = |name: &str| {
        let call = ("write_file", json!({"path": name, "content": "x\n"}));
        json!({"message": message(&[call])})
    };
    drop(draft_of(&onyx, write("a.md")).await);
    assert!(onyx.terminate().await.success());
    let home = onyx.home();
    // The newest rows may still be in the write-ahead log beside the database.
    let copies = ["onyx.db", "onyx.db-wal"].map(|name| (name, std::fs::read(home.join(name)).ok()));
    onyx.restart().await;
    drop(draft_of(&onyx, write("b.md")).await);
    assert!(onyx.terminate().await.success());
    for name in ["onyx.db-wal", "onyx.db-shm"] {
        drop(std::fs::remove_file(home.join(name)));
    }
    for (name, copy) in copies {
        if let Some(copy) = copy {
            std::fs::write(home.join(name), copy).unwrap();
        }
    }
    let (code, chain) = verified(&home).await;
    assert_ne!(code, Some(0));
    assert_eq!((&chain["whole"], &chain["broken_at"]), (&json!(false), &json!(2)), "{chain}");
}
