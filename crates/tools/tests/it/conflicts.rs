use std::sync::Arc;

use serde_json::json;

use crate::support::{Meddling, When, World};

const CONFLICT: &str =
    "a.md changed since it was read; nothing was written. Read it again and repeat";

async fn meddled(when: When) -> World {
    let mut world = World::new().await;
    world.write("a.md", "one");
    world.cx.files = Meddling::new(Arc::clone(&world.store.files), when, "somebody else's");
    world
}

#[tokio::test]
async fn a_file_that_changes_during_an_edit_is_not_written_over() {
    for when in [When::BeforeGet(2), When::BeforeGet(3), When::BeforePut] {
        let world = meddled(when).await;
        let edit = json!({"path": "a.md", "old": "one", "new": "two"});
        assert_eq!(world.failed("edit_file", edit).await, CONFLICT, "{when:?}");
        assert_eq!(world.text("a.md"), "somebody else's");
        assert!(world.audit_lines().await[1].contains("failed: a.md changed since it was read"));
    }
}

#[tokio::test]
async fn a_file_that_changes_during_a_replacement_is_not_written_over() {
    for when in [When::BeforeGet(2), When::BeforePut] {
        let world = meddled(when).await;
        let write = json!({"path": "a.md", "content": "two"});
        assert_eq!(world.failed("write_file", write).await, CONFLICT, "{when:?}");
        assert_eq!(world.text("a.md"), "somebody else's");
    }
}

#[tokio::test]
async fn a_conflict_seen_in_time_leaves_no_trace_in_the_history() {
    let world = meddled(When::BeforeGet(2)).await;
    assert_eq!(
        world.failed("write_file", json!({"path": "a.md", "content": "two"})).await,
        CONFLICT
    );
    let history = world.store.files.history(&world.cx.key.person).unwrap();
    assert_eq!(history.changes_of_run(world.cx.run).await.unwrap(), []);
}

#[tokio::test]
async fn a_file_that_appears_during_its_creation_is_not_written_over() {
    for when in [When::BeforeGet(2), When::BeforePut] {
        let world = meddled(when).await;
        std::fs::remove_file(world.vault().join("a.md")).unwrap();
        let write = json!({"path": "a.md", "content": "two"});
        assert_eq!(world.failed("write_file", write).await, CONFLICT, "{when:?}");
        assert_eq!(world.text("a.md"), "somebody else's");
    }
}

#[tokio::test]
async fn a_memory_that_appears_while_a_fact_is_planned_is_not_written_over() {
    for when in [When::BeforeGet(2), When::BeforePut] {
        let world = meddled(when).await;
        let fact = json!({"text": "a fact", "heading": "Facts"});
        let _ = world.failed("memory_write", fact).await;
        let memory = std::fs::read_to_string(world.memory().join("MEMORY.md")).unwrap();
        assert_eq!(memory, "somebody else's", "{when:?}");
    }
}

#[tokio::test]
async fn of_two_facts_at_once_none_is_lost() {
    let world = World::new().await;
    let fact = |n: usize| json!({"text": format!("fact {n}"), "heading": "Facts"});
    let calls = (0..8).map(|n| world.call("memory_write", fact(n)));
    let outcomes = join_all(calls).await;
    let memory = std::fs::read_to_string(world.memory().join("MEMORY.md")).unwrap();
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(memory.contains(&format!("- fact {n}\n")), !outcome.is_error, "fact {n}");
    }
    assert!(outcomes.iter().any(|outcome| !outcome.is_error));
}

#[tokio::test]
async fn notes_made_at_once_are_all_kept() {
    let world = World::new().await;
    let calls = (0..8).map(|n| world.call("memory_write", json!({"text": format!("note {n}")})));
    for outcome in join_all(calls).await {
        assert!(!outcome.is_error, "{}", outcome.output);
    }
    let log = std::fs::read_to_string(world.memory().join("daily/2026-01-01.md")).unwrap();
    assert_eq!(log.lines().count(), 8);
}

/// Polls all futures in turns until each is done.
async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (future, output) in &mut waiting {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *output = Some(value),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    waiting.into_iter().filter_map(|(_, output)| output).collect()
}
