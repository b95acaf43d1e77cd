//! Jobs through the real server: created, accepted, fired, delivered, killed.

mod cli;
mod firing;
mod killed;
mod system;
mod telling;
mod tools;

pub(crate) use system::known;

use onyx_test_support::{OnyxProcess, Reply, wait_for};
use reqwest::Method;
use serde_json::{Value, json};

use crate::SOON;

async fn make(onyx: &OnyxProcess, body: Value) -> Value {
    onyx.post("/api/jobs", &body).await.expect(201).json()
}

async fn runs(onyx: &OnyxProcess, job: &str) -> Vec<Value> {
    let page = onyx.get(&format!("/api/jobs/{job}/runs")).await.expect(200).json();
    page["runs"].as_array().unwrap().clone()
}

/// Fires a job now and waits until its result was delivered.
pub(crate) async fn run_now(onyx: &OnyxProcess, job: &str) -> Value {
    let slot = onyx.post(&format!("/api/jobs/{job}/run"), &json!({})).await.expect(200).json();
    ended(onyx, job, &slot["scheduled_at"]).await
}

async fn ended(onyx: &OnyxProcess, job: &str, scheduled_at: &Value) -> Value {
    let is_over = |run: &Value| {
        let outcome = run["outcome"].as_str().unwrap();
        !matches!(outcome, "queued" | "running") && run["delivery"] != "pending"
    };
    wait_for("the job to end", SOON * 3, async || {
        let all = runs(onyx, job).await;
        all.into_iter().find(|run| run["scheduled_at"] == *scheduled_at && is_over(run))
    })
    .await
}

pub(crate) async fn send(onyx: &OnyxProcess, method: Method, path: &str, body: &Value) -> Reply {
    Reply::of(onyx.client().request(method, path).json(body)).await
}

async fn session(onyx: &OnyxProcess, id: &Value) -> Value {
    let path = format!("/v1/sessions/{}", id.as_str().unwrap());
    onyx.get(&path).await.expect(200).json()
}
