//! Tests that the index can be deleted or damaged at any time, because its content can be made
//! again.

use std::fs;
use std::time::Duration;

use onyx_storage::{ChunkRow, SourceKey, SourceKind, SourceRow, Stamp};
use onyx_types::{Hash, Origin, Scope, Timestamp};

use crate::support::TempStore;

fn source(path: &str) -> (SourceRow, Vec<ChunkRow>) {
    let row = SourceRow {
        key: SourceKey { person: None, path: path.into() },
        kind: SourceKind::Shared,
        stamp: Stamp { size: 1, modified: Timestamp::from_millis(1) },
        chunking: String::new(),
        problem: None,
        scope: Scope::Shared,
        origin: Origin::Person,
        title: path.into(),
        checksum: Hash::of(path.as_bytes()),
        indexed_at: Timestamp::from_millis(1),
        conversation: None,
        dated: None,
    };
    let chunk = ChunkRow {
        start_line: 1,
        end_line: 2,
        heading: String::new(),
        origin: Origin::Person,
        text: path.into(),
        hash: Hash::of(path.as_bytes()),
        message: None,
    };
    (row, vec![chunk])
}

async fn begin_anew(temp: &TempStore, epoch: u64) {
    let (row, chunks) = source("b");
    assert_eq!(temp.store.chunks.sources(None).await.unwrap(), []);
    let seq = temp.store.chunks.replace(&row, &chunks).await.unwrap();
    let changes = temp.store.chunks.changes(0, 10).await.unwrap();
    assert_eq!(changes.iter().map(|change| change.seq).collect::<Vec<_>>(), [seq]);
    assert_eq!(temp.store.chunks.chunks(&row.key).await.unwrap(), chunks);
    assert!(temp.store.chunks.epoch().await.unwrap() != epoch, "followers must notice");
}

async fn with_one_source() -> (TempStore, u64) {
    let temp = TempStore::new().await;
    let (row, chunks) = source("a");
    temp.store.chunks.replace(&row, &chunks).await.unwrap();
    let epoch = temp.store.chunks.epoch().await.unwrap();
    temp.clock.advance(Duration::from_secs(1));
    (temp, epoch)
}

#[tokio::test]
async fn an_index_deleted_while_it_is_in_use_is_made_anew() {
    let (temp, epoch) = with_one_source().await;
    fs::remove_dir_all(temp.home().join("cache")).unwrap();
    begin_anew(&temp, epoch).await;
}

#[tokio::test]
async fn an_index_deleted_between_two_processes_is_made_anew() {
    let (temp, epoch) = with_one_source().await;
    let index = temp.home().join("cache/index.db");
    drop(temp.store.clone());
    let temp = temp.reopen().await;
    fs::remove_file(index).unwrap();
    begin_anew(&temp, epoch).await;
}

#[tokio::test]
async fn an_index_that_is_no_database_is_made_anew() {
    let (temp, epoch) = with_one_source().await;
    let index = temp.home().join("cache/index.db");
    let temp = temp.reopen().await;
    fs::write(&index, "not a database at all, but long enough to look at").unwrap();
    begin_anew(&temp, epoch).await;
}

#[tokio::test]
async fn an_index_with_a_broken_page_is_made_anew() {
    let (temp, epoch) = with_one_source().await;
    let index = temp.home().join("cache/index.db");
    let temp = temp.reopen().await;
    let mut bytes = fs::read(&index).unwrap();
    let size = bytes.len();
    bytes[200..size].fill(0xaa);
    fs::write(&index, bytes).unwrap();
    begin_anew(&temp, epoch).await;
}

#[tokio::test]
async fn an_index_is_kept_between_processes() {
    let (temp, epoch) = with_one_source().await;
    let temp = temp.reopen().await;
    let (row, chunks) = source("a");
    assert_eq!(temp.store.chunks.source(&row.key).await.unwrap().as_ref(), Some(&row));
    assert_eq!(temp.store.chunks.chunks(&row.key).await.unwrap(), chunks);
    assert_eq!(temp.store.chunks.epoch().await.unwrap(), epoch);
}

#[tokio::test]
async fn nobody_who_only_chats_pays_for_an_index() {
    let temp = TempStore::new().await;
    assert!(!temp.home().join("cache/index.db").exists());
}
