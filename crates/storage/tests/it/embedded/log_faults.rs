use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onyx_storage::StoreError;
use onyx_types::{SessionKey, Turn};

use super::faulty::{FaultyFiles, WriteFault};
use crate::support::{Maker, TempStore};

async fn store() -> (TempStore, Arc<FaultyFiles>, Maker) {
    let disk = Arc::new(FaultyFiles::default());
    (TempStore::with_ops(disk.clone()).await, disk, Maker::new())
}

async fn append(temp: &TempStore, key: &SessionKey, turns: &[Turn]) -> Result<(), StoreError> {
    let lease = temp.lease(key).await;
    let result = temp.store.turns.append(&lease, turns).await;
    temp.store.leases.release(&lease).await.unwrap();
    result.map(|_| ())
}

async fn turns(temp: &TempStore, key: &SessionKey) -> Vec<Turn> {
    temp.store.turns.tail(key, None, 100).await.unwrap().turns
}

#[tokio::test]
async fn a_full_disk_keeps_what_was_acknowledged_and_recovers_by_itself() {
    let (temp, disk, mut make) = store().await;
    let key = make.key();
    let all = make.users(["kept", "does not fit", "fits again"]);
    append(&temp, &key, &all[..1]).await.unwrap();
    let before = fs::read(temp.log_path(&key)).unwrap();
    for fault in [WriteFault::Full, WriteFault::Short(1), WriteFault::Short(100)] {
        disk.break_writes(fault);
        assert!(matches!(append(&temp, &key, &all[1..2]).await, Err(StoreError::Full)));
        assert_eq!(fs::read(temp.log_path(&key)).unwrap(), before, "after {fault:?}");
        assert_eq!(turns(&temp, &key).await, all[..1]);
    }
    disk.mend_writes();
    append(&temp, &key, &all[2..]).await.unwrap();
    assert_eq!(turns(&temp, &key).await, [all[0].clone(), all[2].clone()]);
}

#[tokio::test]
async fn a_first_append_to_a_full_disk_leaves_a_session_that_goes_on() {
    let (temp, disk, mut make) = store().await;
    let key = make.key();
    let all = make.users(["does not fit", "fits"]);
    disk.break_writes(WriteFault::Short(5));
    assert!(matches!(append(&temp, &key, &all[..1]).await, Err(StoreError::Full)));
    disk.mend_writes();
    append(&temp, &key, &all[1..]).await.unwrap();
    assert_eq!(turns(&temp, &key).await, all[1..]);
}

#[tokio::test]
async fn a_failed_sync_makes_the_session_read_only_until_the_next_process() {
    let (temp, disk, mut make) = store().await;
    let (key, other) = (make.key(), make.key());
    let all = make.users(["kept", "unknown", "refused", "after"]);
    append(&temp, &key, &all[..1]).await.unwrap();
    disk.sync_fails.store(true, Ordering::SeqCst);
    assert!(matches!(append(&temp, &key, &all[1..2]).await, Err(StoreError::ReadOnly(_))));
    disk.sync_fails.store(false, Ordering::SeqCst);
    // The disk works again, but what it holds of the failed write is unknown.
    let size = fs::metadata(temp.log_path(&key)).unwrap().len();
    assert!(matches!(append(&temp, &key, &all[2..3]).await, Err(StoreError::ReadOnly(_))));
    assert_eq!(fs::metadata(temp.log_path(&key)).unwrap().len(), size);
    assert_eq!(turns(&temp, &key).await, all[..1], "what was not acknowledged is not shown");
    append(&temp, &other, &all[2..3]).await.unwrap();

    let temp = temp.reopen().await;
    append(&temp, &key, &all[3..]).await.unwrap();
    assert_eq!(turns(&temp, &key).await, [all[0].clone(), all[1].clone(), all[3].clone()]);
}

#[tokio::test]
async fn a_read_only_session_stays_so_while_many_others_come_and_go() {
    let (temp, disk, mut make) = store().await;
    let key = make.key();
    disk.sync_fails.store(true, Ordering::SeqCst);
    let failed = append(&temp, &key, &make.users(["unknown"])).await;
    // The new folder could not be made durable either, so nothing has been written yet.
    assert!(failed.is_err());
    disk.sync_fails.store(false, Ordering::SeqCst);
    append(&temp, &key, &make.users(["kept"])).await.unwrap();
    disk.sync_fails.store(true, Ordering::SeqCst);
    assert!(append(&temp, &key, &make.users(["unknown"])).await.is_err());
    disk.sync_fails.store(false, Ordering::SeqCst);
    for _ in 0..600 {
        let other = make.key();
        temp.store.turns.tail(&other, None, 1).await.unwrap();
    }
    let refused = append(&temp, &key, &make.users(["refused"])).await;
    assert!(matches!(refused, Err(StoreError::ReadOnly(_))));
}

#[tokio::test]
async fn half_a_write_that_cannot_be_taken_back_makes_the_session_read_only() {
    let (temp, disk, mut make) = store().await;
    let key = make.key();
    let all = make.users(["kept", "half", "after"]);
    append(&temp, &key, &all[..1]).await.unwrap();
    disk.break_writes(WriteFault::Short(20));
    disk.truncate_fails.store(true, Ordering::SeqCst);
    assert!(matches!(append(&temp, &key, &all[1..2]).await, Err(StoreError::ReadOnly(_))));
    disk.mend_writes();
    disk.truncate_fails.store(false, Ordering::SeqCst);
    assert!(matches!(append(&temp, &key, &all[2..]).await, Err(StoreError::ReadOnly(_))));
    assert_eq!(turns(&temp, &key).await, all[..1]);
    let temp = temp.reopen().await;
    append(&temp, &key, &all[2..]).await.unwrap();
    assert_eq!(turns(&temp, &key).await, [all[0].clone(), all[2].clone()]);
}

#[tokio::test]
async fn a_torn_log_on_a_full_disk_can_be_read_and_is_mended_when_there_is_room() {
    let (temp, disk, mut make) = store().await;
    let key = make.key();
    let all = make.users(["kept", "after"]);
    append(&temp, &key, &all[..1]).await.unwrap();
    let path = temp.log_path(&key);
    let whole = fs::read(&path).unwrap();
    let torn = [&whole[..], b"{\"id\":\"01"].concat();
    fs::write(&path, &torn).unwrap();

    disk.break_writes(WriteFault::Full);
    for _ in 0..2 {
        assert_eq!(turns(&temp, &key).await, all[..1]);
        assert!(matches!(append(&temp, &key, &all[1..]).await, Err(StoreError::Full)));
        assert_eq!(fs::read(&path).unwrap(), torn, "nothing is cut off before it is kept aside");
    }
    disk.mend_writes();
    append(&temp, &key, &all[1..]).await.unwrap();
    assert_eq!(turns(&temp, &key).await, all);
    let aside = fs::read_to_string(path.with_extension("jsonl.torn")).unwrap();
    assert!(aside.contains("{\\\"id\\\":\\\"01"), "{aside}");
}

#[tokio::test]
async fn a_copy_that_does_not_fit_leaves_no_half_a_session() {
    let (temp, disk, mut make) = store().await;
    let (from, to) = (make.key(), make.key());
    let all = make.users(["one", "two"]);
    append(&temp, &from, &all).await.unwrap();
    let lease = temp.lease(&to).await;
    disk.break_writes(WriteFault::Short(50));
    let copied = temp.store.turns.copy_through(&from, all[1].id, &lease).await;
    assert!(matches!(copied, Err(StoreError::Full)));
    assert_eq!(temp.store.turns.sessions(&to.person).await.unwrap(), std::slice::from_ref(&from));
    disk.mend_writes();
    temp.store.turns.copy_through(&from, all[1].id, &lease).await.unwrap();
    assert_eq!(turns(&temp, &to).await, all);
}
