//! Tests that people may change a log with any editor while Onyx runs.

use std::fs;
use std::io::Write as _;

use crate::support::{Maker, TempStore};

#[tokio::test]
async fn a_log_that_an_editor_replaced_is_the_one_that_is_appended_to() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let key = make.key();
    let lease = temp.lease(&key).await;
    let turns = make.users(["one", "two", "three"]);
    temp.store.turns.append(&lease, &turns[..2]).await.unwrap();
    let path = temp.log_path(&key);
    let text = fs::read_to_string(&path).unwrap();
    let first_line = text.lines().next().unwrap();
    let saved = path.with_extension("saved");
    fs::write(&saved, format!("{first_line}\n")).unwrap();
    fs::rename(&saved, &path).unwrap();
    temp.store.turns.append(&lease, &turns[2..]).await.unwrap();
    let page = temp.store.turns.tail(&key, None, 10).await.unwrap();
    assert_eq!(page.turns, [turns[0].clone(), turns[2].clone()]);
}

#[tokio::test]
async fn the_state_of_a_log_changes_with_every_change_of_it() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let key = make.key();
    let lease = temp.lease(&key).await;
    assert_eq!(temp.store.turns.state_now(&key), None);
    temp.store.turns.append(&lease, &make.users(["one"])).await.unwrap();
    let first = temp.store.turns.state_now(&key).unwrap();
    temp.store.turns.append(&lease, &make.users(["two"])).await.unwrap();
    let second = temp.store.turns.state_now(&key).unwrap();
    assert_ne!(first, second);
    let path = temp.log_path(&key);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("one", "ONE")).unwrap();
    let edited = temp.store.turns.state_now(&key).unwrap();
    assert_eq!(edited.len, second.len);
    assert_ne!(edited, second);
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    assert_eq!(temp.store.turns.state_now(&key), None, "what another program wrote is not known");
}

#[tokio::test]
async fn a_line_that_another_program_added_is_kept() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let key = make.key();
    let lease = temp.lease(&key).await;
    let turns = make.users(["one", "added", "three"]);
    temp.store.turns.append(&lease, &turns[..1]).await.unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(temp.log_path(&key)).unwrap();
    // The line lacks its newline, as a careless program would write it.
    write!(file, "{}", serde_json::to_string(&turns[1]).unwrap()).unwrap();
    temp.store.turns.append(&lease, &turns[2..]).await.unwrap();
    let page = temp.store.turns.tail(&key, None, 10).await.unwrap();
    assert_eq!((page.turns, page.damage), (turns, vec![]));
}

#[tokio::test]
async fn a_log_that_was_removed_begins_anew() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let key = make.key();
    let lease = temp.lease(&key).await;
    let turns = make.users(["one", "two"]);
    temp.store.turns.append(&lease, &turns[..1]).await.unwrap();
    fs::remove_file(temp.log_path(&key)).unwrap();
    assert_eq!(temp.store.turns.tail(&key, None, 10).await.unwrap().turns, []);
    temp.store.turns.append(&lease, &turns[1..]).await.unwrap();
    assert_eq!(temp.store.turns.tail(&key, None, 10).await.unwrap().turns, turns[1..]);
}

#[tokio::test]
async fn a_link_in_place_of_a_log_is_refused() {
    let temp = TempStore::new().await;
    let mut make = Maker::new();
    let key = make.key();
    let path = temp.log_path(&key);
    let outside = temp.folder.path().join("outside");
    fs::write(&outside, "sentinel").unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    let lease = temp.lease(&key).await;
    let refused = temp.store.turns.append(&lease, &make.users(["one"])).await;
    assert!(matches!(refused, Err(onyx_storage::StoreError::Refused(_))));
    assert!(temp.store.turns.tail(&key, None, 10).await.is_err());
    assert_eq!(fs::read_to_string(&outside).unwrap(), "sentinel");
    assert_eq!(temp.store.turns.sessions(&key.person).await.unwrap(), []);
}
