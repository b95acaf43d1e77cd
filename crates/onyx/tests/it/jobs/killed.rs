//! kill -9 at every change of a file while a job fires. No slot is fired twice, and none is
//! forgotten.

use futures::{StreamExt as _, stream};
use onyx_test_support::{Fate, FileChange, OnyxProcess, ScriptedModel, Tracer, wait_for};
use serde_json::{Value, json};

use super::{make, runs};
use crate::{SOON, onyx};

const AT_ONCE: usize = 4;
/// The least number of changes. With fewer the test misses something.
const FEWEST: usize = 10;
/// Only every n-th place is tried, because a case takes seconds and neighbouring places behave
/// alike.
const EVERY: usize = 3;

async fn case(fate: Fate) -> Vec<FileChange> {
    let model = ScriptedModel::start().await;
    model.set_default("Watered.");
    let mut onyx = onyx(&model).await;
    make(&onyx, json!({"id": "plants", "cron": "0 0 1 1 *", "prompt": "Water the plants."})).await;
    let tracer = Tracer::attach(onyx.process_id().unwrap(), &onyx.home(), fate);
    let asked =
        onyx.client().request(reqwest::Method::POST, "/api/jobs/plants/run").json(&json!({}));
    let told: Option<Value> = match asked.send().await {
        Ok(reply) if reply.status() == 200 => reply.json().await.ok(),
        Ok(_) | Err(_) => None,
    };
    let seen = match fate {
        Fate::Lives => {
            finished(&onyx).await;
            tracer.kill()
        }
        _ => {
            // The server is killed on the way, or the job ends before that many changes.
            let _ = tokio::time::timeout(SOON, until_dead_or_done(&onyx)).await;
            tracer.kill()
        }
    };
    onyx.kill().await;
    let before = model.request_count();
    onyx.restart().await;
    let slots = finished(&onyx).await;
    assert!(slots.len() <= 1, "{slots:?} at {:?}", seen.last());
    if let Some(told) = told {
        assert_eq!(slots.len(), 1, "a slot that was told is forgotten: {:?}", seen.last());
        assert_eq!(slots[0]["scheduled_at"], told["scheduled_at"]);
    }
    for slot in &slots {
        let outcome = slot["outcome"].as_str().unwrap();
        assert!(matches!(outcome, "done" | "interrupted"), "{slot} at {:?}", seen.last());
        if before > 0 {
            // The slot had been started, so it is not fired again.
            assert_eq!(model.request_count(), before, "{slot} at {:?}", seen.last());
        }
    }
    seen
}

async fn until_dead_or_done(onyx: &OnyxProcess) {
    loop {
        let request = onyx.client().request(reqwest::Method::GET, "/api/jobs/plants/runs");
        let Ok(reply) = request.send().await else { return };
        let Ok(page) = reply.json::<Value>().await else { return };
        let slots = page["runs"].as_array().cloned().unwrap_or_default();
        let is_open = |slot: &Value| {
            slot["outcome"] == "queued"
                || slot["outcome"] == "running"
                || slot["delivery"] == "pending"
        };
        if !slots.is_empty() && !slots.iter().any(is_open) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

async fn finished(onyx: &OnyxProcess) -> Vec<Value> {
    let is_open = |slot: &Value| {
        slot["outcome"] == "queued" || slot["outcome"] == "running" || slot["delivery"] == "pending"
    };
    wait_for("the job to be over", SOON * 3, async || {
        let slots = runs(onyx, "plants").await;
        (!slots.iter().any(is_open)).then_some(slots)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_firing_killed_at_any_change_of_a_file_is_neither_repeated_nor_forgotten() {
    let places = case(Fate::Lives).await.len();
    assert!(places >= FEWEST, "{places} places to die at");
    let cases = stream::iter((1..=places).step_by(EVERY)).map(|index| case(Fate::DiesAt(index)));
    let died: Vec<_> = cases.buffer_unordered(AT_ONCE).collect().await;
    println!("killed at {} of {places} places", died.len());
}
