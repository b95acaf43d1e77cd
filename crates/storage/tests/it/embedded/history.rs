use std::fs;

use onyx_storage::{Area, Change, Expect, History, Object, ObjectKey, StoreError, Version};
use onyx_types::{Author, Clock as _, Hash, Origin, RunId, SystemClock};

use crate::support::{Maker, TempStore};

fn change(make: &mut Maker, run: Option<RunId>, origin: Origin) -> Change {
    Change {
        ts: make.tick(),
        author: Author::Agent("main".parse().unwrap()),
        origin,
        run,
        tool: "write_file".into(),
    }
}

/// Makes an object that was changed just now.
pub(super) fn held(bytes: &[u8]) -> Object {
    let now = SystemClock::new().wall();
    Object { bytes: bytes.to_vec(), hash: Hash::of(bytes), modified: now, changed: now }
}

fn history(temp: &TempStore) -> History {
    temp.store.files.history(&"anna".parse().unwrap()).unwrap()
}

#[tokio::test]
async fn every_version_before_a_change_can_be_read_again() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let history = history(&temp);
    let path: ObjectKey = "vault/notes/a.md".parse().unwrap();
    assert_eq!(history.versions(&path).await.unwrap(), []);
    let contents = [None, Some(&b"one"[..]), Some(b"two"), Some(b"one"), None];
    let mut kept = Vec::new();
    for pair in contents.windows(2) {
        let (before, after) = (pair[0].map(held), pair[1]);
        let change = change(&mut make, None, Origin::Agent);
        kept.push(history.keep(&path, before.as_ref(), after, change).await.unwrap());
    }
    kept.reverse();
    let temp = {
        drop(history);
        temp.reopen().await
    };
    let history = self::history(&temp);
    assert_eq!(history.versions(&path).await.unwrap(), kept);
    let mut read = Vec::new();
    for version in &kept {
        read.push(history.read(version).await.unwrap());
    }
    let expected: Vec<Option<Vec<u8>>> =
        contents[..4].iter().rev().map(|content| content.map(<[u8]>::to_vec)).collect();
    assert_eq!(read, expected);
}

#[tokio::test]
async fn the_changes_of_a_run_are_named_in_order() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let history = history(&temp);
    let (run, other) = (make.run(), make.run());
    let mut kept: Vec<Version> = Vec::new();
    for (path, run) in [("vault/a", run), ("vault/b", run), ("vault/c", other), ("vault/a", run)] {
        let change = change(&mut make, Some(run), Origin::Agent);
        let path = path.parse().unwrap();
        kept.push(history.keep(&path, Some(&held(b"x")), None, change).await.unwrap());
    }
    assert_eq!(history.changes_of_run(other).await.unwrap(), [kept.remove(2)]);
    assert_eq!(history.changes_of_run(run).await.unwrap(), kept);
    assert_eq!(history.changes_of_run(make.run()).await.unwrap(), []);
}

#[tokio::test]
async fn a_manifest_cut_off_by_a_crash_keeps_its_whole_lines_and_goes_on() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let history = history(&temp);
    let path: ObjectKey = "vault/a.md".parse().unwrap();
    let first = change(&mut make, None, Origin::Agent);
    let first = history.keep(&path, None, Some(b"1"), first).await.unwrap();
    let manifest =
        temp.home().join("people/anna/history/files/vault/a.md/.versions/manifest.jsonl");
    let whole = fs::read(&manifest).unwrap();
    let second = change(&mut make, None, Origin::Agent);
    history.keep(&path, Some(&held(b"1")), Some(b"2"), second).await.unwrap();
    let both = fs::read(&manifest).unwrap();
    for cut in whole.len()..both.len() - 1 {
        fs::write(&manifest, &both[..cut]).unwrap();
        let third = change(&mut make, None, Origin::AgentTainted);
        let third = history.keep(&path, Some(&held(b"1")), Some(b"3"), third).await.unwrap();
        let versions = history.versions(&path).await.unwrap();
        assert_eq!((&versions[0], versions.last().unwrap()), (&third, &first), "cut at {cut}");
        assert_eq!(history.origin(&path, &held(b"3")).await.unwrap(), Origin::AgentTainted);
    }
}

#[tokio::test]
async fn a_file_and_a_folder_of_one_name_have_histories_of_their_own() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let history = history(&temp);
    let file: ObjectKey = "vault/a".parse().unwrap();
    let inside: ObjectKey = "vault/a/b".parse().unwrap();
    for path in [&file, &inside] {
        let change = change(&mut make, None, Origin::Agent);
        history.keep(path, Some(&held(b"x")), None, change).await.unwrap();
    }
    assert_eq!(history.versions(&file).await.unwrap().len(), 1);
    assert_eq!(history.versions(&inside).await.unwrap().len(), 1);
    let reserved = "vault/.versions/x".parse().unwrap();
    let change = change(&mut make, None, Origin::Agent);
    let refused = history.keep(&reserved, None, None, change).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))));
}

#[tokio::test]
async fn a_kept_version_that_was_changed_on_disk_is_told() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let history = history(&temp);
    let path: ObjectKey = "vault/a".parse().unwrap();
    let change = change(&mut make, None, Origin::Agent);
    let version = history.keep(&path, Some(&held(b"content")), None, change).await.unwrap();
    let person = temp.store.files.objects(&Area::Person("anna".parse().unwrap())).unwrap();
    let blob = format!("history/files/vault/a/.versions/{}", Hash::of(b"content"));
    person.put(&blob.parse().unwrap(), b"forged", Expect::Anything).await.unwrap();
    assert!(matches!(history.read(&version).await, Err(StoreError::Damaged(_))));
    person.delete(&blob.parse().unwrap(), Expect::Anything).await.unwrap();
    assert!(matches!(history.read(&version).await, Err(StoreError::NotFound)));
}
