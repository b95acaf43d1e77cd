//! Tests that everything of the index may be deleted at any time.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onyx_types::{MatchType, PersonId, SessionOrigin};
use rusqlite::Connection;

use crate::talk::Talk;
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

#[tokio::test]
async fn a_rebuild_believes_nothing_that_the_index_says() {
    let (world, _) = with_notes().await;
    let mut talk = Talk::new(&world, "anna", SessionOrigin::Chat);
    talk.run(&world, &["The heron nests in the alder".to_owned()]).await;
    let gone = talk.run(&world, &["The heron eats eels".to_owned()]).await;
    world.write("people/anna/vault/photo.jpg", "no photo");
    let embedder = Arc::new(Meaning::default());
    world.index.set_embedder(Some(Arc::clone(&embedder) as _));
    world.index.catch_up().await.unwrap();
    let before = (world.paths("plum note").await, world.paths("heron").await);
    let made = embedder.calls.load(Ordering::Relaxed);

    let table = Connection::open(world.path("cache/index.db")).unwrap();
    table.pragma_update(None, "foreign_keys", true).unwrap();
    table
        .execute_batch(&format!(
            "UPDATE chunks SET text = replace(text, 'plum', 'forged');
             DELETE FROM chunks WHERE id = (SELECT id FROM chunks WHERE text LIKE '%Note 7%');
             UPDATE chunks SET text = 'forged' WHERE text LIKE '%alder%';
             DELETE FROM sources WHERE path LIKE '%{gone}';
             INSERT INTO sources SELECT id + 1000, grp, person, path || 'x', origin, title,
                 checksum, size, modified, chunking, problem, indexed_at, conversation, dated
                 FROM sources WHERE path LIKE 'sessions/%';"
        ))
        .unwrap();
    drop(table);
    let forged = world.ask("plum note", &chat("anna")).await.hits;
    assert!(forged.iter().any(|hit| hit.text.contains("forged")), "{forged:?}");

    // None of the files has changed, so nothing is counted as indexed.
    let report = world.index.rebuild().await.unwrap();
    assert_eq!((report.checked, report.indexed, report.removed), (13, 0, 0));
    let sorted = |mut paths: Vec<String>| {
        paths.sort();
        paths
    };
    // Chunks that were deleted have no vectors yet, so until then the order may differ.
    let after = (world.paths("plum note").await, world.paths("heron").await);
    assert_eq!((sorted(after.0), after.1.len()), (sorted(before.0.clone()), before.1.len()));
    assert_eq!(world.paths("forged").await, [""; 0]);
    let anna: PersonId = "anna".parse().unwrap();
    let status = world.index.status(&anna).await.unwrap();
    assert_eq!((status.sources, status.problem_count), (15, 1));
    // Only the deleted chunks had lost their vectors.
    world.index.catch_up().await.unwrap();
    let status = world.index.status(&anna).await.unwrap();
    assert_eq!(status.vectors, status.chunks);
    assert_eq!(world.paths("plum note").await, before.0);
    let searches = 5;
    assert_eq!(embedder.calls.load(Ordering::Relaxed) - made, 2 + searches);
}

#[tokio::test]
async fn status_notices_that_the_cache_was_deleted() {
    let (world, _) = with_notes().await;
    let anna: PersonId = "anna".parse().unwrap();
    let status = world.index.status(&anna).await.unwrap();
    assert_eq!((status.sources, status.complete), (12, true));
    fs::remove_dir_all(world.path("cache")).unwrap();
    let status = world.index.status(&anna).await.unwrap();
    assert_eq!((status.sources, status.complete), (0, false));
    // The index is rebuilt without a search.
    world.index.catch_up().await.unwrap();
    let status = world.index.status(&anna).await.unwrap();
    assert_eq!((status.sources, status.complete), (12, true));
}

#[tokio::test]
async fn a_text_index_that_took_texts_apart_otherwise_is_made_anew() {
    let (world, before) = with_notes().await;
    let meta = world.path("cache/text/meta.json");
    let world = world.reopen().await;
    let now = fs::read_to_string(&meta).unwrap();
    let older = now.replace("\"plain 3\"", "\"plain\"");
    assert_ne!(now, older);
    fs::write(&meta, older).unwrap();
    assert_eq!(world.paths("plum note").await, before);
    assert!(fs::read_to_string(&meta).unwrap().contains("\"plain 3\""));
}
