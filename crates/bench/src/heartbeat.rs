//! Measures how many tokens a day of heartbeats costs: with an empty file, and with a short one.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use onyx_test_support::{Answer, OnyxProcess, Recording, ScriptedModel};
use onyx_types::estimate_tokens;
use serde::Serialize;
use serde_json::{Value, json};

use crate::measure::{Bench, only_what_is_asked};

/// The number of heartbeats in a day, one every half hour.
pub(crate) const BEATS: usize = 48;
const FILE: &str =
    "Look whether a task of today is still open, and whether notes/inbox.md has a new line.\n";
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Default, Clone, Copy, Serialize)]
pub(crate) struct DayOfHeartbeats {
    /// The model calls of a day with an empty HEARTBEAT.md.
    pub(crate) idle_calls: usize,
    /// The tokens of a day with a short HEARTBEAT.md, requests and answers together.
    pub(crate) tokens: usize,
    /// The bytes of one request without those of the file.
    pub(crate) request_bytes: usize,
}

pub(crate) async fn heartbeats(bench: &Bench) -> Result<DayOfHeartbeats> {
    let model = ScriptedModel::start().await;
    model.set_recording(Recording::Last(1));
    model.set_default(Answer::text("HEARTBEAT_OK"));
    let process = OnyxProcess::builder()
        .binary(&bench.onyx)
        .base_url(model.base_url())
        .file("agents/main/HEARTBEAT.md", "# Heartbeat\n")
        .merge(only_what_is_asked())
        .merge(json!({"jobs": {"heartbeat": {"every": "30m"}}}))
        .start()
        .await;
    for _ in 0..BEATS {
        beat(&process).await?;
    }
    let idle_calls = model.request_count();
    std::fs::write(process.home().join("agents/main/HEARTBEAT.md"), FILE)?;
    let mut tokens = 0;
    for _ in 0..BEATS {
        beat(&process).await?;
        let request = model.last_request().body.to_string();
        tokens += estimate_tokens(&request) + estimate_tokens("HEARTBEAT_OK");
    }
    let request_bytes = model.last_request().body.to_string().len().saturating_sub(FILE.len());
    Ok(DayOfHeartbeats { idle_calls, tokens, request_bytes })
}

async fn beat(process: &OnyxProcess) -> Result<()> {
    let begun = Instant::now();
    loop {
        let asked = process.post("/api/jobs/system:heartbeat/run", &json!({})).await;
        if asked.status == 200 {
            return ended(process, &asked.json()["scheduled_at"], begun).await;
        }
        // The server knows the config's job only a moment after the start.
        if begun.elapsed() > PATIENCE {
            bail!("the heartbeat cannot be run: {}", asked.text());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn ended(process: &OnyxProcess, scheduled_at: &Value, begun: Instant) -> Result<()> {
    loop {
        let page = process.get("/api/jobs/system:heartbeat/runs?limit=5").await.json();
        let runs = page["runs"].as_array().cloned().unwrap_or_default();
        let own = runs.iter().find(|run| &run["scheduled_at"] == scheduled_at);
        if own.is_some_and(|run| run["outcome"] == "nothing") {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            bail!("a heartbeat does not end: {runs:?}");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
