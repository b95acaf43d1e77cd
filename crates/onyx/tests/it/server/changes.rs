//! What is written through one gateway is told to the clients of the others.

use std::time::Instant;

use onyx_test_support::{DEFAULT_TOKEN, OnyxProcess, ScriptedModel, ServerPlace, wait_for};
use reqwest::Method;
use serde_json::{Value, json};

use super::together::{FAILOVER, FOLLOWED, TIMED, assert_followed, two};
use crate::SOON;
use crate::ws::Client;

/// A client that is told of changes from now on.
async fn listener(onyx: &OnyxProcess) -> Client {
    let mut client = Client::with_token(onyx, DEFAULT_TOKEN).await;
    client.ask("ping", json!({})).await;
    client
}

/// Waits for a change of this topic and skips others.
async fn told(client: &mut Client, topic: &str) -> Value {
    loop {
        let event = client.until("event").await["data"].clone();
        if event["topic"] == topic {
            return event;
        }
    }
}

fn changed(topic: &str) -> Value {
    json!({"topic": topic, "change": "changed"})
}

/// How many changes a gateway told the others of.
async fn told_by(place: &ServerPlace, gateway: &str) -> i64 {
    let count = "SELECT count(*) FROM gateway_notices WHERE gateway = $1 AND body LIKE '%changed%'";
    place.sql().await.query_one(count, &[&gateway]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_file_written_through_one_gateway_is_told_at_the_other_within_a_second() {
    let model = ScriptedModel::start().await;
    let (place, one, two) = two(&model).await;
    let mut client = listener(&two).await;
    let words = json!({"agent": "main", "text": "likes teal", "target": "daily"});
    let kept = one.post("/v1/memory", &words).await;
    assert!(kept.status < 300, "{}", kept.text());
    let written = Instant::now();
    assert_eq!(told(&mut client, "memory").await, changed("memory"));
    assert!(written.elapsed() < FOLLOWED, "{:?}", written.elapsed());

    let put = one.request(Method::PUT, "/v1/agents/main/files/SOUL.md").body("Be kind.");
    assert_eq!(put.send().await.unwrap().status(), 204);
    let written = Instant::now();
    assert_eq!(told(&mut client, "agents").await, changed("agents"));
    assert!(written.elapsed() < FOLLOWED, "{:?}", written.elapsed());

    // The other gateway passes on only what it changed itself. It sends before it reads, so it
    // would have sent the first change back by now.
    assert_eq!(told_by(&place, "two").await, 0);
    assert!(told_by(&place, "one").await >= 2);
}

#[tokio::test]
async fn a_file_written_by_a_gateway_that_was_killed_before_it_told_is_told_when_it_counts_as_dead()
{
    let model = ScriptedModel::start().await;
    let (place, mut one, two) = two(&model).await;
    let mut client = listener(&two).await;
    place.lose_notices().await;
    let words = json!({"agent": "main", "text": "likes teal", "target": "daily"});
    let kept = one.post("/v1/memory", &words).await;
    assert!(kept.status < 300, "{}", kept.text());
    one.kill().await;
    let killed = Instant::now();
    assert_eq!(told(&mut client, "memory").await, changed("memory"));
    assert!(killed.elapsed() < FAILOVER, "{:?}", killed.elapsed());
}

#[tokio::test]
async fn the_result_of_a_job_is_shown_at_every_gateway() {
    let model = ScriptedModel::with_answers(["All quiet."]).await;
    let (_place, one, two) = two(&model).await;
    let (mut at_one, mut at_two) = (listener(&one).await, listener(&two).await);
    let job = json!({"id": "watch", "every": "1h", "prompt": "Look.", "deliver": "notification"});
    let _ = one.post("/api/jobs", &job).await.expect(201);
    let _ = one.post("/api/jobs/watch/run", &json!({})).await.expect(200);
    // Either gateway may fire the job, so one of the two hears of it from the other.
    for client in [&mut at_one, &mut at_two] {
        let shown = loop {
            let event = told(client, "jobs").await;
            if event["change"] == "told" {
                break event;
            }
        };
        assert!(shown["message"].as_str().unwrap().contains("All quiet."), "{shown}");
    }
}

const ZONES: [&str; TIMED] = ["Pacific/Kiritimati", "Pacific/Auckland", "Asia/Kathmandu"];

async fn choose_zone(onyx: &OnyxProcess, zone: &str) {
    let choice = json!({"timezone": zone});
    let shown = onyx.post("/api/agent/config", &choice).await.expect(200).json();
    assert_eq!(shown["current_timezone"], zone, "{shown}");
}

/// Waits until the zone counts at this gateway.
async fn zone_counts(onyx: &OnyxProcess, zone: &str) {
    wait_for("the time zone to be followed", SOON * 3, async || {
        let shown = onyx.get("/api/agent/config").await.expect(200).json();
        (shown["current_timezone"] == zone).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_time_zone_chosen_at_one_gateway_counts_at_the_other_within_a_second() {
    let model = ScriptedModel::start().await;
    let (_place, one, two) = two(&model).await;
    let mut took = Vec::new();
    for zone in ZONES {
        choose_zone(&one, zone).await;
        let chosen = Instant::now();
        zone_counts(&two, zone).await;
        took.push(chosen.elapsed());
    }
    assert_followed(took);
}

#[tokio::test]
async fn a_time_zone_chosen_at_a_gateway_that_was_killed_before_it_told_counts_when_it_is_dead() {
    let model = ScriptedModel::start().await;
    let (place, mut one, two) = two(&model).await;
    place.lose_notices().await;
    choose_zone(&one, ZONES[0]).await;
    one.kill().await;
    let killed = Instant::now();
    zone_counts(&two, ZONES[0]).await;
    assert!(killed.elapsed() < FAILOVER, "{:?}", killed.elapsed());
}
