use std::time::Duration;

use onyx_tools::DailyLog;
use onyx_types::{Origin, Tier};
use serde_json::json;

use crate::support::World;

fn daily(world: &World) -> String {
    std::fs::read_to_string(world.memory().join("daily/2026-01-01.md")).unwrap()
}

fn memory(world: &World) -> String {
    std::fs::read_to_string(world.memory().join("MEMORY.md")).unwrap()
}

#[tokio::test]
async fn a_note_goes_to_the_log_of_the_day() {
    let world = World::new().await;
    let first = world.call("memory_write", json!({"text": "Ada likes tea"})).await;
    assert_eq!(
        (first.output.as_str(), first.summary.as_str()),
        ("written to daily/2026-01-01.md", "Note Ada likes tea")
    );
    world.done("memory_write", json!({"text": "two\nlines"})).await;
    assert_eq!(daily(&world), "- 00:00 Ada likes tea\n- 00:00 two\n  lines\n");
    assert_eq!(
        world.done("memory_get", json!({"path": "daily/2026-01-01.md", "from": 2})).await,
        "- 00:00 two\n  lines\n[lines 2-3 of 3]"
    );
}

#[tokio::test]
async fn a_log_keeps_the_version_before_each_note() {
    let world = World::new().await;
    world.done("memory_write", json!({"text": "one"})).await;
    world.done("memory_write", json!({"text": "two"})).await;
    let history = world.store.files.history(&world.cx.key.person).unwrap();
    let path = "memory/main/daily/2026-01-01.md".parse().unwrap();
    let versions = history.versions(&path).await.unwrap();
    assert_eq!(history.read(&versions[0]).await.unwrap().unwrap(), b"- 00:00 one\n");
    assert_eq!(versions[0].after, Some(onyx_types::Hash::of(daily(&world).as_bytes())));
}

#[tokio::test]
async fn a_note_begins_a_line_of_its_own_whatever_the_log_ends_with() {
    let world = World::new().await;
    std::fs::create_dir_all(world.memory().join("daily")).unwrap();
    std::fs::write(world.memory().join("daily/2026-01-01.md"), "- 00:00 by hand").unwrap();
    world.done("memory_write", json!({"text": "one"})).await;
    assert_eq!(daily(&world), "- 00:00 by hand\n- 00:00 one\n");
}

#[tokio::test]
async fn notes_made_under_taint_are_marked_and_taint_who_reads_them() {
    let world = World::new().await;
    world.done("memory_write", json!({"text": "mine"})).await;
    let log = json!({"path": "memory/main/daily/2026-01-01.md"});
    assert_eq!(world.call("memory_get", log.clone()).await.origin, Origin::Agent);

    let world = world.tainted();
    world.done("memory_write", json!({"text": "theirs"})).await;
    let world = world.clean();
    world.done("memory_write", json!({"text": "mine again"})).await;
    assert_eq!(
        DailyLog::split(&daily(&world)),
        DailyLog {
            trusted: "- 00:00 mine\n- 00:00 mine again\n".into(),
            untrusted: "- 00:00 theirs\n".into(),
        }
    );
    assert_eq!(world.call("memory_get", log).await.origin, Origin::AgentTainted);
}

#[tokio::test]
async fn a_fact_goes_under_its_heading_and_can_be_replaced() {
    let world = World::new().await;
    let outcome =
        world.call("memory_write", json!({"text": "Ada likes tea", "heading": "People"})).await;
    assert_eq!(outcome.summary, "Edit MEMORY.md under People +3 −0");
    world.done("memory_write", json!({"text": "Bob", "heading": "People"})).await;
    assert_eq!(memory(&world), "## People\n\n- Ada likes tea\n- Bob\n");
    let better = json!({"text": "coffee", "heading": "People", "replaces": "tea"});
    world.done("memory_write", better).await;
    assert_eq!(
        world.done("memory_get", json!({})).await,
        "## People\n\n- Ada likes coffee\n- Bob\n"
    );
    let history = world.store.files.history(&world.cx.key.person).unwrap();
    let path = "memory/main/MEMORY.md".parse().unwrap();
    assert_eq!(history.versions(&path).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_call_that_makes_no_sense_says_why() {
    let world = World::new().await;
    assert_eq!(
        world.failed("memory_write", json!({"text": "a", "replaces": "b"})).await,
        "\"replaces\" needs a \"heading\""
    );
    assert_eq!(world.failed("memory_write", json!({"text": " \n"})).await, "\"text\" is empty");
    assert_eq!(
        world.failed("memory_write", json!({"text": "a", "heading": "X", "replaces": "b"})).await,
        "there is no heading \"X\" in MEMORY.md"
    );
}

#[tokio::test]
async fn under_taint_lasting_facts_need_a_person_and_notes_do_not() {
    let world = World::new().await.tainted();
    let fact = json!({"text": "obey", "heading": "Rules"});
    assert!(world.call("memory_write", fact).await.draft.is_some());
    assert!(!world.memory().join("MEMORY.md").exists());
    world.done("memory_write", json!({"text": "a note"})).await;
}

#[tokio::test]
async fn a_reader_of_lower_tier_writes_no_memory() {
    let world = World::new().await.at(Tier::Suggest);
    for text in ["a note", "another"] {
        assert!(world.call("memory_write", json!({"text": text})).await.draft.is_some());
    }
    assert!(!world.memory().join("daily").exists());
    let open = world.store.drafts.open_drafts(&world.cx.key).await.unwrap();
    assert_eq!(open.len(), 2, "one note stands in no other's way");
}

#[tokio::test]
async fn an_empty_memory_says_so_and_another_agents_memory_is_out_of_reach() {
    let world = World::new().await;
    assert_eq!(world.done("memory_get", json!({})).await, "[nothing in MEMORY.md yet]");
    let other = world.folder.path().join("people/ada/memory/other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("MEMORY.md"), "the other's").unwrap();
    for path in ["../other/MEMORY.md", "memory/main/../../other/MEMORY.md", ".hidden"] {
        let told = world.failed("memory_get", json!({"path": path})).await;
        assert!(told.starts_with("not allowed: "), "{told}");
    }
    assert_eq!(
        world.done("memory_get", json!({"path": "memory/other/MEMORY.md"})).await,
        "[nothing in memory/other/MEMORY.md yet]"
    );
}

#[tokio::test]
async fn a_call_takes_the_time_that_the_clock_says() {
    let mut world = World::new().await;
    let clock = std::sync::Arc::new(onyx_test_support::ManualClock::new());
    clock.advance(Duration::from_secs(26 * 3600 + 65 * 60));
    world.cx.clock = clock;
    world.done("memory_write", json!({"text": "late"})).await;
    let log = std::fs::read_to_string(world.memory().join("daily/2026-01-02.md")).unwrap();
    assert_eq!(log, "- 03:05 late\n");
}
