//! Tests that a gateway writes no files after its life is over, because others have taken over its
//! work. The gateways' own clocks stand still here, as if the gateways were frozen; only the
//! database knows that time has passed.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{Area, Expect, Files, ObjectKey, Objects, OriginNote, StoreError};
use onyx_types::{Hash, Origin};

use super::servers::{LIFE, let_die, two};

fn is_lost<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::LeaseLost))
}

fn vault(files: &dyn Files) -> Arc<dyn Objects> {
    files.objects(&Area::Vault("anna".parse().unwrap())).unwrap()
}

fn key(path: &str) -> ObjectKey {
    path.parse().unwrap()
}

const SMALL: &str = "small.md";
const LARGE: &str = "folder/large.bin";
/// A size that is too large for a row.
const LARGE_SIZE: usize = 50_000;

/// Lists every path with its content.
async fn held(files: &dyn Files) -> Vec<(String, Option<Vec<u8>>)> {
    let objects = vault(files);
    let mut all = Vec::new();
    for entry in objects.tree(None, 99).await.unwrap() {
        let content = match entry.hash {
            Some(_) => Some(objects.get(&entry.key, u64::MAX).await.unwrap().unwrap().bytes),
            None => None,
        };
        all.push((entry.key.to_string(), content));
    }
    all
}

/// Tries every kind of write, and returns those that were not refused as a lost lease.
async fn writes(objects: &dyn Objects) -> Vec<String> {
    let any = Expect::Anything;
    let results = [
        ("a new file", objects.put(&key("new.md"), b"late", Expect::Absent).await.map(drop)),
        ("a new large one", objects.put(&key("b/new"), &[1; LARGE_SIZE], any).await.map(drop)),
        ("a file", objects.put(&key(SMALL), b"late", any).await.map(drop)),
        ("an appended row", objects.append(&key(SMALL), b"late").await),
        ("an appended blob", objects.append(&key(LARGE), b"late").await),
        ("a deleted file", objects.delete(&key(SMALL), any).await),
        ("a moved file", objects.rename(&key(SMALL), &key("moved/small.md"), any).await),
        ("a removed folder", objects.remove_empty(&key("empty")).await),
    ];
    let done = results.iter().filter(|(_, result)| !is_lost(result));
    done.map(|(what, result)| format!("{what}: {result:?}")).collect()
}

async fn fill(files: &dyn Files) {
    let objects = vault(files);
    objects.put(&key(SMALL), b"in time", Expect::Absent).await.unwrap();
    objects.put(&key(LARGE), &[7; LARGE_SIZE], Expect::Absent).await.unwrap();
    objects.put(&key("empty/x"), b"x", Expect::Absent).await.unwrap();
    objects.delete(&key("empty/x"), Expect::Anything).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_whose_life_is_over_writes_no_file() {
    let (database, one, two) = two().await;
    fill(&*one.store.files).await;
    let before = held(&*two.store.files).await;
    assert_eq!(before.len(), 4, "{before:?}");
    let_die(&database, &two).await;
    assert_eq!(writes(&*vault(&*one.store.files)).await, Vec::<String>::new());
    assert!(is_lost(&one.membership.artifacts().put(&key("a"), b"late", Expect::Anything).await));
    assert_eq!(held(&*two.store.files).await, before);
    vault(&*two.store.files).append(&key(SMALL), b", still").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_gateway_began_before_its_last_life_ended_writes_no_file_when_it_lives_again() {
    let (database, one, two) = two().await;
    fill(&*one.store.files).await;
    let begun = one.store.files.of_this_life().expect("gateways have lives");
    vault(&*begun).append(&key(SMALL), b", and more").await.unwrap();
    let before = held(&*two.store.files).await;
    let_die(&database, &two).await;
    one.membership.beat().await.unwrap();
    assert!(is_lost(&begun.incarnation()), "it can be known before an effect");
    assert_eq!(writes(&*vault(&*begun)).await, Vec::<String>::new());
    // Work that begins within that work has no newer incarnation.
    let within = begun.of_this_life().unwrap();
    assert_eq!(writes(&*vault(&*within)).await, Vec::<String>::new());
    assert_eq!(held(&*two.store.files).await, before);
    let anew = one.store.files.of_this_life().unwrap();
    assert!(anew.incarnation().is_ok());
    vault(&*anew).put(&key(SMALL), b"anew", Expect::Anything).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_gateway_began_before_its_last_life_ended_makes_no_text_the_persons_own() {
    let (database, one, two) = two().await;
    let text = Hash::of(b"from a page of the web");
    let note = |origin: Origin| {
        let path = "a.md".to_owned();
        vec![OriginNote { path, hash: Some(text), origin, prints: Vec::new(), names: Vec::new() }]
    };
    let noted = async || two.store.files.origins().known("anna", "a.md", text).await.unwrap().here;
    let begun = one.store.files.of_this_life().expect("gateways have lives");
    begun.origins().note("anna", note(Origin::Person)).await.unwrap();
    assert_eq!(noted().await, Some(Origin::Person));
    let_die(&database, &two).await;
    let late = one.store.files.origins().note("anna", note(Origin::Agent)).await;
    assert!(is_lost(&late), "its life is over: {late:?}");
    two.store.files.origins().note("anna", note(Origin::External)).await.unwrap();
    one.membership.beat().await.unwrap();
    let late = begun.origins().note("anna", note(Origin::Person)).await;
    assert!(is_lost(&late), "it lives again, and the work is of its last life: {late:?}");
    assert_eq!(noted().await, Some(Origin::External));
    let anew = one.store.files.of_this_life().unwrap();
    anew.origins().note("anna", note(Origin::Agent)).await.unwrap();
    assert_eq!(noted().await, Some(Origin::Agent));
}

/// Its own clock comes near the end, because heartbeats were late; the database has heard nothing bad of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_heartbeat_fails_no_write() {
    let (_database, one, _two) = two().await;
    one.clock.advance(LIFE - Duration::from_secs(3));
    fill(&*one.store.files).await;
    assert_eq!(held(&*one.store.files).await.len(), 4);
}
