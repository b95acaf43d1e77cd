//! Tests of the files outside the home that record every audit row.

use std::path::Path;
use std::sync::Arc;

use onyx_storage::{AuditExport, AuditSeal, AuditWitnesses, ChainState, Home, Store, StoreError};
use onyx_types::SystemClock;

use crate::support::{Maker, audit_entry};

async fn store(home: &Path, witnesses: AuditWitnesses) -> Store {
    let home = Home::open(home).unwrap();
    Store::open_witnessed(home, Arc::new(SystemClock::new()), witnesses).await.unwrap()
}

fn seal(path: &Path) -> AuditWitnesses {
    let seal = AuditSeal::open(path, [7; 32]).unwrap();
    AuditWitnesses { seal: Some(Arc::new(seal)), export: None }
}

async fn add(store: &Store, make: &mut Maker, rows: usize) {
    for _ in 0..rows {
        store.ledger.append_audit(audit_entry(make, "anna")).await.unwrap();
    }
}

async fn state(store: &Store) -> ChainState {
    store.ledger.verify_audit(&"anna".parse().unwrap()).await.unwrap()
}

#[tokio::test]
async fn older_rows_stay_whole_and_are_said_to_have_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let (home, file) = (folder.path().join("home"), folder.path().join("keys/a.seal"));
    let mut make = Maker::new();
    let plain = store(&home, AuditWitnesses::default()).await;
    add(&plain, &mut make, 3).await;
    assert_eq!(state(&plain).await, ChainState::Whole { rows: 3 });
    drop(plain);
    let sealed = store(&home, seal(&file)).await;
    assert_eq!(state(&sealed).await, ChainState::SealedFrom { rows: 3, first: 4 });
    add(&sealed, &mut make, 2).await;
    assert_eq!(state(&sealed).await, ChainState::SealedFrom { rows: 5, first: 4 });
    drop(sealed);
    // A row that was added without the key after rows with it does not belong to the chain.
    let plain = store(&home, AuditWitnesses::default()).await;
    add(&plain, &mut make, 1).await;
    drop(plain);
    let sealed = store(&home, seal(&file)).await;
    assert_eq!(state(&sealed).await, ChainState::Broken { at: 6 });
}

#[tokio::test]
async fn a_home_of_another_key_is_whole_and_said_to_be_unprotected() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let mut make = Maker::new();
    let first = store(&home, seal(&folder.path().join("a.seal"))).await;
    add(&first, &mut make, 2).await;
    assert_eq!(state(&first).await, ChainState::Whole { rows: 2 });
    drop(first);
    let other = AuditSeal::open(&folder.path().join("b.seal"), [9; 32]).unwrap();
    let second = AuditWitnesses { seal: Some(Arc::new(other)), export: None };
    let second = store(&home, second).await;
    add(&second, &mut make, 1).await;
    assert_eq!(state(&second).await, ChainState::SealedFrom { rows: 3, first: 3 });
}

#[tokio::test]
async fn a_key_file_that_is_none_is_refused_and_a_cut_line_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (home, file) = (folder.path().join("home"), folder.path().join("a.seal"));
    let mut make = Maker::new();
    let sealed = store(&home, seal(&file)).await;
    add(&sealed, &mut make, 2).await;
    drop(sealed);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() - 20]).unwrap();
    let sealed = store(&home, seal(&file)).await;
    assert_eq!(state(&sealed).await, ChainState::Whole { rows: 2 });
    drop(sealed);
    std::fs::write(&file, "x\n").unwrap();
    let refused = AuditSeal::open(&file, [7; 32]).unwrap_err();
    assert!(matches!(&refused, StoreError::Failed(why) if why.contains("no key")), "{refused}");
}

#[tokio::test]
async fn every_row_is_exported_once_also_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (home, file) = (folder.path().join("home"), folder.path().join("rows.jsonl"));
    let export = || {
        let export = AuditExport::open(&file).unwrap();
        AuditWitnesses { seal: None, export: Some(Arc::new(export)) }
    };
    let mut make = Maker::new();
    let first = store(&home, export()).await;
    add(&first, &mut make, 3).await;
    drop(first);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    std::fs::write(&file, &text[..text.len() - 30]).unwrap();
    let second = store(&home, export()).await;
    add(&second, &mut make, 1).await;
    let text = std::fs::read_to_string(&file).unwrap();
    let read = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok();
    let rows: Vec<u64> =
        text.lines().filter_map(read).map(|row| row["seq"].as_u64().unwrap()).collect();
    assert_eq!(rows, [1, 2, 3, 4], "{text}");
}
