use std::sync::Arc;

use super::faulty::{Calls, FaultyFiles};
use crate::support::{Maker, TempStore};

/// A bound on the bytes that may be read. A page of 50 short turns takes about a third of it.
const LITTLE: u64 = 32 * 1024;

#[tokio::test]
async fn the_last_page_of_a_hundred_thousand_turns_reads_little_more_than_the_page() {
    let disk = Arc::new(FaultyFiles::default());
    let temp = TempStore::with_ops(disk.clone()).await;
    let mut make = Maker::new();
    let key = make.key();
    let lease = temp.lease(&key).await;
    let mut last = Vec::new();
    for n in 0..100 {
        let batch: Vec<_> = (0..1000).map(|m| make.user(&format!("turn {n}/{m}"))).collect();
        temp.store.turns.append(&lease, &batch).await.unwrap();
        last = batch;
    }
    disk.take_calls();
    let page = temp.store.turns.tail(&key, None, 50).await.unwrap();
    assert_eq!(page.turns, last[950..]);
    assert!(disk.take_calls().bytes_read <= LITTLE);
    let older = temp.store.turns.tail(&key, Some(page.start), 50).await.unwrap();
    assert_eq!(older.turns, last[900..950]);
    assert!(disk.take_calls().bytes_read <= LITTLE);

    // A new process reads the last byte first, to see whether the tail is torn.
    drop(temp.store);
    let home =
        onyx_storage::Home::open_with(&temp.folder.path().join("home"), disk.clone()).unwrap();
    let store = onyx_storage::Store::open_embedded(home, temp.clock).await.unwrap();
    assert_eq!(store.turns.tail(&key, None, 50).await.unwrap(), page);
    assert!(disk.take_calls().bytes_read <= 1 + LITTLE);
}

#[tokio::test]
async fn the_newest_turn_alone_is_read_with_the_smallest_block() {
    let disk = Arc::new(FaultyFiles::default());
    let temp = TempStore::with_ops(disk.clone()).await;
    let mut make = Maker::new();
    let key = make.key();
    let lease = temp.lease(&key).await;
    let turns: Vec<_> = (0..1000).map(|n| make.user(&format!("turn {n}"))).collect();
    temp.store.turns.append(&lease, &turns).await.unwrap();
    disk.take_calls();
    let page = temp.store.turns.tail(&key, None, 1).await.unwrap();
    assert_eq!((page.turns, disk.take_calls().bytes_read), (turns[999..].to_vec(), 4 * 1024));
}

#[tokio::test]
async fn an_append_is_one_write_and_one_sync_at_any_length() {
    let disk = Arc::new(FaultyFiles::default());
    let temp = TempStore::with_ops(disk.clone()).await;
    let mut make = Maker::new();
    let key = make.key();
    let lease = temp.lease(&key).await;
    temp.store.turns.append(&lease, &make.users(["first"])).await.unwrap();
    for _ in 0..20 {
        disk.take_calls();
        let batch = make.users(["one", "two", "three"]);
        temp.store.turns.append(&lease, &batch).await.unwrap();
        let once = Calls { writes: 1, data_syncs: 1, full_syncs: 0, bytes_read: 0 };
        assert_eq!(disk.take_calls(), once);
    }
}

#[tokio::test]
async fn more_sessions_than_files_may_be_open_work_side_by_side() {
    let temp = TempStore::unsynced().await;
    let mut make = Maker::new();
    let mut open = Vec::new();
    for _ in 0..400 {
        let key = make.key();
        open.push((temp.lease(&key).await, key));
    }
    for _ in 0..3 {
        for (lease, _) in &open {
            temp.store.turns.append(lease, &make.users(["hello"])).await.unwrap();
        }
    }
    for (_, key) in &open {
        let page = temp.store.turns.tail(key, None, 10).await.unwrap();
        assert_eq!((page.turns.len(), page.damage), (3, vec![]));
    }
    let handles = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = handles.filter_map(|handle| std::fs::read_link(handle.unwrap().path()).ok());
    let files = targets.filter(|target| target.starts_with(temp.home())).count();
    assert!(files < 300, "{files} files are open");
}
