use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onyx_storage::{Expect, LocalObjects, ObjectKey, Objects as _, StoreError};

use super::faulty::{FaultyFiles, WriteFault};

fn setup() -> (tempfile::TempDir, LocalObjects, Arc<FaultyFiles>, ObjectKey) {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(FaultyFiles::default());
    let objects = LocalObjects::open_with(folder.path(), disk.clone()).unwrap();
    (folder, objects, disk, "notes/a.md".parse().unwrap())
}

fn names(folder: &tempfile::TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path().join("notes")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn a_put_that_fails_leaves_the_old_content_and_nothing_else() {
    let (folder, objects, disk, key) = setup();
    objects.put(&key, b"old", Expect::Absent).await.unwrap();
    for fault in [WriteFault::Full, WriteFault::Short(2)] {
        disk.break_writes(fault);
        let put = objects.put(&key, b"new content", Expect::Anything).await;
        assert!(matches!(put, Err(StoreError::Full)), "{put:?}");
        disk.mend_writes();
        assert_eq!(fs::read(folder.path().join("notes/a.md")).unwrap(), b"old");
        assert_eq!(names(&folder), ["a.md"]);
    }
    disk.sync_fails.store(true, Ordering::SeqCst);
    let put = objects.put(&key, b"new content", Expect::Anything).await;
    assert!(matches!(put, Err(StoreError::Failed(_))), "{put:?}");
    assert_eq!(fs::read(folder.path().join("notes/a.md")).unwrap(), b"old");
    assert_eq!(names(&folder), ["a.md"]);
}

#[tokio::test]
async fn an_append_that_does_not_fit_is_taken_back() {
    let (folder, objects, disk, key) = setup();
    objects.append(&key, b"one\n").await.unwrap();
    disk.break_writes(WriteFault::Short(3));
    let append = objects.append(&key, b"two\n").await;
    assert!(matches!(append, Err(StoreError::Full)), "{append:?}");
    disk.mend_writes();
    objects.append(&key, b"three\n").await.unwrap();
    assert_eq!(fs::read(folder.path().join("notes/a.md")).unwrap(), b"one\nthree\n");
}

#[tokio::test]
async fn what_a_crash_left_unfinished_is_hidden_and_swept() {
    let (folder, objects, _, key) = setup();
    objects.put(&key, b"x", Expect::Absent).await.unwrap();
    fs::write(folder.path().join("notes/.onyx-tmp-0123-4"), "half").unwrap();
    let listed = objects.list(Some(&"notes".parse().unwrap()), 10).await.unwrap();
    assert_eq!(listed.iter().map(|meta| &meta.key).collect::<Vec<_>>(), [&key]);
    assert_eq!(names(&folder), ["a.md"]);
    let reserved = "notes/.onyx-tmp-x".parse().unwrap();
    let put = objects.put(&reserved, b"x", Expect::Anything).await;
    assert!(matches!(put, Err(StoreError::Refused(_))));
}

#[tokio::test]
async fn a_file_keeps_its_mode_when_it_is_replaced() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, objects, _, key) = setup();
    objects.put(&key, b"x", Expect::Absent).await.unwrap();
    let path = folder.path().join("notes/a.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    objects.put(&key, b"y", Expect::Anything).await.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o664);
}
