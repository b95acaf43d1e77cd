//! Tests that the index follows the files, no matter which program writes them.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::Duration;

use onyx_knowledge::Watching;
use onyx_storage::{Area, Change, Expect};
use onyx_test_support::{HoldUp, wait_for};
use onyx_types::{Author, Cancel, Origin};

use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn what_this_process_writes_is_found_by_the_next_search() {
    let world = World::new().await;
    assert_eq!(world.paths("walnut").await, [""; 0]);
    let vault = world.store.files.objects(&Area::Vault("anna".parse().unwrap())).unwrap();
    let (a, b) = ("a.md".parse().unwrap(), "b/c.md".parse().unwrap());
    vault.put(&a, b"walnut cake", Expect::Absent).await.unwrap();
    assert_eq!(world.paths("walnut").await, ["vault/a.md"]);
    vault.append(&a, b"\n\nand almonds").await.unwrap();
    assert_eq!(world.paths("almonds").await, ["vault/a.md"]);
    vault.rename(&a, &b, Expect::Anything).await.unwrap();
    assert_eq!(world.paths("walnut").await, ["vault/b/c.md"]);
    vault.delete(&b, Expect::Anything).await.unwrap();
    assert_eq!(world.paths("walnut").await, [""; 0]);
}

#[tokio::test]
async fn what_other_programs_write_is_found_after_a_look() {
    let world = World::new().await;
    world.write("people/anna/vault/a.md", "first words");
    world.write("people/anna/vault/b.md", "other words");
    assert_eq!(world.paths("words").await.len(), 2);
    world.write("people/anna/vault/a.md", "changed entirely");
    fs::rename(world.path("people/anna/vault/b.md"), world.path("people/anna/vault/c.md")).unwrap();
    let report = world.index.sync().await.unwrap();
    assert_eq!((report.checked, report.indexed, report.removed), (2, 2, 1));
    assert_eq!(world.paths("first").await, [""; 0]);
    assert_eq!(world.paths("changed").await, ["vault/a.md"]);
    assert_eq!(world.paths("other").await, ["vault/c.md"]);
}

#[tokio::test]
async fn files_that_did_not_change_are_not_read_again() {
    let world = World::new().await;
    world.write("people/anna/vault/a.md", "old words");
    let file = fs::File::options().write(true).open(world.path("people/anna/vault/a.md")).unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    file.set_modified(old).unwrap();
    world.index.sync().await.unwrap();
    // The size and time stay the same, so only reading the content shows the change.
    fs::write(world.path("people/anna/vault/a.md"), "new words").unwrap();
    file.set_modified(old).unwrap();
    world.index.sync().await.unwrap();
    assert_eq!(world.paths("old").await, ["vault/a.md"]);
    assert_eq!(world.index.rebuild().await.unwrap().indexed, 1);
    assert_eq!(world.paths("new").await, ["vault/a.md"]);
    // A file that was written just before it was read is read again, whatever its time is.
    world.write("people/anna/vault/b.md", "doubtful");
    world.index.sync().await.unwrap();
    world.write("people/anna/vault/b.md", "certainly");
    world.index.sync().await.unwrap();
    assert_eq!(world.paths("certainly").await, ["vault/b.md"]);
}

#[tokio::test]
async fn edits_are_seen_while_it_is_tended() {
    let world = World::new().await;
    world.write("people/anna/vault/a.md", "begin");
    let stop = Cancel::new();
    let (index, ends) = (world.index.clone(), stop.clone());
    let tending = tokio::spawn(async move { index.tend(ends).await });
    let anna = "anna".parse().unwrap();
    let person = &anna;
    wait_for("the first look", PATIENCE, async || {
        let status = world.index.status(person).await.unwrap();
        (status.complete && status.watching == Watching::On && status.sources == 1).then_some(())
    })
    .await;
    world.write("people/anna/vault/deep/er/b.md", "saxophone");
    wait_for("a new file in a new folder", PATIENCE, async || {
        (world.paths("saxophone").await == ["vault/deep/er/b.md"]).then_some(())
    })
    .await;
    fs::rename(world.path("people/anna/vault/deep"), world.path("people/anna/vault/moved"))
        .unwrap();
    wait_for("a moved folder", PATIENCE, async || {
        (world.paths("saxophone").await == ["vault/moved/er/b.md"]).then_some(())
    })
    .await;
    world.write("people/bert/vault/a.md", "trumpet");
    wait_for("a new person", PATIENCE, async || {
        let found = world.ask("trumpet", &crate::world::chat("bert")).await;
        (found.hits.len() == 1).then_some(())
    })
    .await;
    stop.cancel();
    tending.await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_indexed_says_why_and_stops_nothing() {
    let world = World::new().await;
    world.write("people/anna/vault/good.md", "findable");
    world.write("people/anna/vault/binary.dat", b"\x00\x01\x02 findable");
    world.write("people/anna/vault/latin.txt", b"caf\xe9 findable");
    world.write("people/anna/vault/photo.jpg", b"findable");
    world.write("people/anna/vault/empty.md", "");
    let large = fs::File::create(world.path("people/anna/vault/large.txt")).unwrap();
    large.set_len(50 * 1024 * 1024).unwrap();
    symlink("/etc/passwd", world.path("people/anna/vault/link.md")).unwrap();
    fs::create_dir_all(world.path("people/anna/vault/folder.md")).unwrap();
    for name in ["日本語メモ.md", "заметка.md", "ملاحظة.md", "emoji 🌲 name.md", "a'b\"c.md"]
    {
        world.write(&format!("people/anna/vault/{name}"), "findable");
    }
    let mut found = world.paths("findable").await;
    found.sort();
    assert_eq!(found.len(), 6, "{found:?}");
    let status = world.index.status(&"anna".parse().unwrap()).await.unwrap();
    let problems: Vec<_> =
        status.problems.iter().map(|p| (p.path.as_str(), p.reason.as_str())).collect();
    let reason = |path: &str| {
        problems.iter().find(|(of, _)| *of == path).map(|(_, reason)| *reason).unwrap_or("none")
    };
    assert_eq!(reason("vault/binary.dat"), "it is binary, not text");
    assert_eq!(reason("vault/latin.txt"), "it is not UTF-8 text (byte 3)");
    assert_eq!(reason("vault/photo.jpg"), "files of this kind hold no text");
    assert_eq!(reason("vault/large.txt"), "it is larger than 16777216 bytes");
    assert_eq!((problems.len(), status.problem_count), (4, 4));
    // Files with problems are not read again and again, and one that is repaired is found.
    assert_eq!(world.index.sync().await.unwrap().indexed, 0);
    world.write("people/anna/vault/latin.txt", "café findable");
    world.index.sync().await.unwrap();
    assert_eq!(world.paths("café").await, ["vault/latin.txt"]);
}

#[tokio::test]
async fn thousands_of_tiny_files_are_indexed_once() {
    const FILES: u64 = 2_000;
    let world = World::new().await;
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    for n in 0..FILES {
        let path = format!("people/anna/vault/{}/{n}.md", n % 50);
        world.write(&path, format!("tiny{n}"));
        fs::File::options().write(true).open(world.path(&path)).unwrap().set_modified(old).unwrap();
    }
    let report = world.index.sync().await.unwrap();
    assert_eq!((report.checked, report.indexed), (FILES, FILES));
    let again = world.index.sync().await.unwrap();
    assert_eq!((again.checked, again.indexed, again.removed), (FILES, 0, 0));
    for n in [0, 1_234, FILES - 1] {
        assert_eq!(world.paths(&format!("tiny{n}")).await, [format!("vault/{}/{n}.md", n % 50)]);
    }
    let status = world.index.status(&"anna".parse().unwrap()).await.unwrap();
    assert_eq!((status.sources, status.chunks, status.problem_count), (FILES, FILES, 0));
}

#[tokio::test]
async fn files_edited_while_they_are_read_end_up_as_they_are() {
    let world = World::new().await;
    for n in 0..40 {
        world.write(&format!("people/anna/vault/{n}.md"), format!("start{n} number{n}"));
    }
    let path = world.folder.path().join("people/anna/vault");
    let editor = std::thread::spawn(move || {
        for round in 0..5 {
            for n in 0..40 {
                crate::world::write(
                    &path.join(format!("{n}.md")),
                    format!("round{round} number{n}").as_bytes(),
                );
            }
        }
    });
    while !editor.is_finished() {
        world.index.sync().await.unwrap();
    }
    editor.join().unwrap();
    world.index.sync().await.unwrap();
    for n in [0, 17, 39] {
        let hits = world.find(&format!("number{n}")).await;
        assert_eq!((hits.len(), hits[0].text.as_str()), (1, format!("round4 number{n}").as_str()));
    }
}

#[tokio::test]
async fn who_wrote_it_comes_along() {
    let world = World::new().await;
    world.write(
        "people/anna/memory/main/daily/2026-01-05.md",
        "- 10:00 heard of quince <!-- agent_tainted -->\n",
    );
    let anna = "anna".parse().unwrap();
    let vault = world.store.files.objects(&Area::Vault("anna".parse().unwrap())).unwrap();
    let text = b"quince jelly";
    let change = Change {
        ts: onyx_types::Timestamp::from_millis(1),
        author: Author::Agent("main".parse().unwrap()),
        origin: Origin::Agent,
        run: None,
        tool: "write_file".into(),
    };
    let history = world.store.files.history(&anna).unwrap();
    history.keep(&"vault/a.md".parse().unwrap(), None, Some(text), change).await.unwrap();
    vault.put(&"a.md".parse().unwrap(), text, Expect::Absent).await.unwrap();
    world.write("people/anna/vault/b.md", "quince tree");
    world.write("people/anna/vault/c.md", "---\norigin: external\n---\nquince pie");
    let mut origins: Vec<_> =
        world.find("quince").await.into_iter().map(|hit| hit.origin).collect();
    origins.sort();
    let expected = [Origin::Person, Origin::Agent, Origin::AgentTainted, Origin::External];
    assert_eq!(origins, expected);
}

#[tokio::test]
async fn one_person_s_files_that_cannot_be_looked_through_are_tried_again() {
    let world = World::new().await;
    world.write("people/anna/vault/a.md", "cranberry");
    world.write("people/bert/vault/a.md", "cranberry");
    world.index.catch_up().await.unwrap();
    let (anna, bert) = ("anna".parse().unwrap(), "bert".parse().unwrap());
    // A link instead of a folder could lead anywhere, so looking through it is an error.
    symlink("/etc", world.path("people/anna/memory")).unwrap();
    for person in ["anna", "bert"] {
        world.write(&format!("people/{person}/vault/b.md"), "cranberry and lingonberry");
    }
    world.index.session_begins(&anna);
    world.index.session_begins(&bert);
    assert!(world.index.catch_up().await.is_err());
    assert_eq!(world.index.progress(), None);
    let bert_finds = world.ask("lingonberry", &crate::world::chat("bert")).await;
    assert_eq!(bert_finds.hits.len(), 1, "others are not kept waiting");
    fs::remove_file(world.path("people/anna/memory")).unwrap();
    world.index.catch_up().await.unwrap();
    assert_eq!(world.paths("lingonberry").await, ["vault/b.md"]);
}

#[tokio::test]
async fn nothing_is_under_way_once_a_person_s_files_were_looked_through() {
    let world = World::new().await;
    for n in 0..20 {
        world.write(&format!("people/anna/vault/{n}.md"), format!("bilberry {n}"));
    }
    let anna = "anna".parse().unwrap();
    world.index.catch_up().await.unwrap();
    world.write("people/anna/vault/20.md", "bilberry 20");
    world.index.session_begins(&anna);
    world.index.catch_up().await.unwrap();
    let status = world.index.status(&anna).await.unwrap();
    assert_eq!((status.sources, status.progress), (21, None));
}

/// A search finds what was written before it, even if another search has begun to index that.
#[tokio::test]
async fn a_search_waits_for_a_file_that_somebody_else_is_indexing() {
    let world = Arc::new(World::new().await);
    assert_eq!(world.paths("walnut").await, [""; 0]);
    let (pauses, hold) = HoldUp::at("index.file");
    world.index.set_pauses(pauses);
    let vault = world.store.files.objects(&Area::Vault("anna".parse().unwrap())).unwrap();
    vault.put(&"a.md".parse().unwrap(), b"walnut cake", Expect::Absent).await.unwrap();
    let search = || {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.paths("walnut").await })
    };
    let first = search();
    hold.reached(1).await;
    let mut second = search();
    let early = tokio::time::timeout(Duration::from_millis(200), &mut second).await;
    assert!(early.is_err(), "it was answered before the file was indexed: {early:?}");
    assert_eq!(world.index.status(&"anna".parse().unwrap()).await.unwrap().waiting, 1);
    // The search that began to index the file is dropped, but the file is not forgotten.
    first.abort();
    hold.let_go();
    assert_eq!(second.await.unwrap(), ["vault/a.md"]);
}

#[tokio::test]
async fn catching_up_waits_for_a_look_that_somebody_else_has_begun() {
    let world = Arc::new(World::new().await);
    world.write("people/anna/vault/a.md", "walnut cake");
    let (pauses, hold) = HoldUp::at("index.look");
    world.index.set_pauses(pauses);
    let catch_up = || {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.index.catch_up().await })
    };
    let first = catch_up();
    hold.reached(1).await;
    let mut second = catch_up();
    let early = tokio::time::timeout(Duration::from_millis(200), &mut second).await;
    assert!(early.is_err(), "it has caught up with what nobody has read yet");
    hold.let_go();
    second.await.unwrap().unwrap();
    first.await.unwrap().unwrap();
    assert!(world.index.status(&"anna".parse().unwrap()).await.unwrap().complete);
}
