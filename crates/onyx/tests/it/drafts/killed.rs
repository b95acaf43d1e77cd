//! kill -9 at every change of a file between a person's approval and its end.

use std::time::Duration;

use futures::{StreamExt, stream};
use onyx_test_support::{Fate, FileChange, Tracer, wait_for};
use serde_json::{Value, json};

use super::{draft_of, message, obedient, path, suggesting, vault};
use crate::witness;

const AT_ONCE: usize = 4;
/// The least number of changes: the approval, the previous version, the file and the end. With
/// fewer the test misses something.
const FEWEST: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_killed_at_any_change_of_a_file_happens_once_or_can_be_given_again() {
    let places = approve_and_die(0, Fate::Lives).await;
    let count = places.len();
    println!("{count} places to die at");
    assert!(count >= FEWEST, "{places:#?}");
    let cases = stream::iter(1..=count).map(|index| async move {
        let seen = approve_and_die(index, Fate::DiesAt(index)).await;
        usize::from(seen.len() == index)
    });
    let died: usize = cases.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await.into_iter().sum();
    // The database moves data out of its journal at varying times, so some places are not reached.
    assert!(died * 10 >= count * 9, "only {died} of {count} were killed");
}

async fn approve_and_die(index: usize, fate: Fate) -> Vec<FileChange> {
    let model = obedient().await;
    let mut onyx = suggesting(&model).file("people/owner/vault/a.md", "one\n").start().await;
    let call = ("edit_file", json!({"path": "a.md", "old": "one", "new": "two"}));
    let (_, draft) = draft_of(&onyx, json!({"message": message(&[call])})).await;
    let approve = format!("{}/approve", path(&draft));
    // The index writes at the start, which is no part of the approval, so a search waits for it.
    let complete = async || {
        let status = onyx.get("/v1/memory/status").await.expect(200).json();
        (status["complete"] == true).then_some(())
    };
    wait_for("the index is complete", Duration::from_secs(60), complete).await;
    drop(onyx.get("/v1/memory/search?q=one").await.expect(200));
    let tracer = Tracer::attach(onyx.process_id().unwrap(), &onyx.home(), fate);
    let answer = onyx.request(reqwest::Method::POST, &approve).json(&json!({})).send().await;
    let told = match answer {
        Ok(answer) => answer.json::<Value>().await.ok(),
        Err(_) => None,
    };
    let seen = tracer.kill();
    onyx.kill().await;
    let at = format!("killed at {index} ({:?}), told {told:?}", seen.last());
    let before = vault(&onyx, "a.md");
    assert!(matches!(before.as_deref(), Some("one\n" | "two\n")), "{before:?}: {at}");
    onyx.restart().await;
    let row = onyx.get(&path(&draft)).await.expect(200).json();
    let state = row["state"].as_str().unwrap();
    if told.as_ref().is_some_and(|told| told["state"] == "applied") {
        assert_eq!(state, "applied", "{at}");
    }
    match state {
        "applied" => assert_eq!(vault(&onyx, "a.md").as_deref(), Some("two\n"), "{at}"),
        "pending" => {
            assert_eq!(before.as_deref(), Some("one\n"), "done without a yes: {at}");
            let row = onyx.post(&approve, &json!({})).await.expect(200).json();
            assert_eq!(row["state"], "applied", "{at}");
            assert_eq!(vault(&onyx, "a.md").as_deref(), Some("two\n"), "{at}");
        }
        other => panic!("{other}: {at}"),
    }
    let again = onyx.post(&approve, &json!({})).await.expect(409).json();
    assert_eq!(again["code"], "draft_decided", "{at}");
    let chains = onyx.get("/api/admin/audit/verify").await.expect(200).json();
    assert_eq!(chains["chains"][0]["whole"], true, "{at}");
    onyx.kill().await;
    let audit = witness::audit(&onyx.home()).await.unwrap_or_else(|why| panic!("{why}: {at}"));
    let applied = audit.iter().filter(|row| row.entry.result.contains(": applied")).count();
    assert_eq!(applied, 1, "{at}");
    seen
}
