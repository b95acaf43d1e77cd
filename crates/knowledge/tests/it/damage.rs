//! Everything of the index may be thrown away at any time.

use std::fs;
use std::sync::Arc;

use onyx_types::MatchType;

use crate::world::{Meaning, World, chat};

async fn with_notes() -> (World, Vec<String>) {
    let world = World::new().await;
    for n in 0..12 {
        world.write(
            &format!("people/anna/vault/{n}.md"),
            format!("# Note {n}\n\nplum {}\n", "x ".repeat(n)),
        );
    }
    let before = world.paths("plum note").await;
    assert_eq!(before.len(), 10);
    (world, before)
}

#[tokio::test]
async fn the_cache_deleted_while_running_is_made_anew_with_the_same_answers() {
    let (world, before) = with_notes().await;
    for _ in 0..2 {
        fs::remove_dir_all(world.path("cache")).unwrap();
        assert_eq!(world.paths("plum note").await, before);
    }
}

#[tokio::test]
async fn what_was_found_by_meaning_is_found_again_after_the_cache_was_deleted() {
    let (world, _) = with_notes().await;
    world.write("people/anna/vault/car.md", "The automobile needs new tyres.");
    world.index.set_embedder(Some(Arc::new(Meaning::default())));
    world.index.catch_up().await.unwrap();
    let by_meaning = async || {
        let answer = world.ask("my vehicle", &chat("anna")).await;
        assert_eq!(answer.degraded, None);
        answer.hits.iter().map(|hit| (hit.path(), hit.match_type)).collect::<Vec<_>>()
    };
    let before = by_meaning().await;
    assert_eq!(before[0], ("vault/car.md".to_owned(), MatchType::Vec));
    fs::remove_dir_all(world.path("cache")).unwrap();
    let answer = world.ask("my vehicle", &chat("anna")).await;
    let making = "the vectors of test/meaning (96) are still being made";
    assert_eq!(answer.degraded.as_deref(), Some(making));
    world.index.catch_up().await.unwrap();
    assert_eq!(by_meaning().await, before);
}

#[tokio::test]
async fn the_cache_deleted_while_stopped_is_made_anew_with_the_same_answers() {
    let (world, before) = with_notes().await;
    let cache = world.path("cache");
    let world = world.reopen().await;
    fs::remove_dir_all(cache).unwrap();
    assert_eq!(world.paths("plum note").await, before);
}

#[tokio::test]
async fn each_part_alone_is_made_anew() {
    let (mut world, before) = with_notes().await;
    for part in ["cache/text", "cache/index.db"] {
        let path = world.path(part);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap()
        } else {
            fs::remove_file(&path).unwrap()
        }
        assert_eq!(world.paths("plum note").await, before, "{part} while running");
        let path = world.path(part);
        world = world.reopen().await;
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap()
        } else {
            fs::remove_file(&path).unwrap()
        }
        assert_eq!(world.paths("plum note").await, before, "{part} while stopped");
    }
}

#[tokio::test]
async fn damaged_files_are_made_anew() {
    let (mut world, before) = with_notes().await;
    for part in ["cache/text/meta.json", "cache/index.db"] {
        let path = world.path(part);
        world = world.reopen().await;
        fs::write(&path, "nonsense, and not even long").unwrap();
        assert_eq!(world.paths("plum note").await, before, "{part}");
    }
}

#[tokio::test]
async fn what_was_indexed_is_not_read_again_by_the_next_process() {
    let (world, before) = with_notes().await;
    for n in 0..12 {
        let path = world.path(&format!("people/anna/vault/{n}.md"));
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    world.index.sync().await.unwrap();
    let world = world.reopen().await;
    assert_eq!(world.index.sync().await.unwrap().indexed, 0);
    assert_eq!(world.paths("plum note").await, before);
}
