//! Measures models that run on this machine: how fast they are, and how much memory is freed after
//! their use.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use onyx_test_support::{DEFAULT_TOKEN, OnyxProcess, resident_bytes_of, wait_until};
use serde_json::{Value, json};

use crate::measure::Bench;

/// The number of texts, which have about a hundred tokens each.
const CHUNKS: usize = 64;
const IDLE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) words: Option<Words>,
    pub(crate) chunks_a_second: f64,
    /// The time from the first text of all to its vector, minus the time of a later text.
    pub(crate) embedder_load: Duration,
    /// The memory of the idle gateway before the first use of a model. `after_bytes` is its memory
    /// after the last model has ended.
    pub(crate) before_bytes: u64,
    pub(crate) after_bytes: u64,
    pub(crate) worker_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Words {
    /// The time from the first request of all to its first word, minus the time of the next
    /// request.
    pub(crate) load: Duration,
    pub(crate) first_at_50: Duration,
    pub(crate) first_at_500: Duration,
    pub(crate) tokens_a_second: f64,
    pub(crate) worker_bytes: u64,
}

/// Measures with the weights of this folder (`onyx models pull`). `words` is measured only if
/// llama.cpp is available.
pub(crate) async fn local(bench: &Bench, weights: &Path) -> Result<Local> {
    let config = json!({
        "gateway": {"port": 0, "auth": {"mode": "token", "token": DEFAULT_TOKEN}},
        "providers": {"local": {"timeouts": {"idleSeconds": IDLE.as_secs()}}},
    });
    let process = OnyxProcess::builder().binary(&bench.onyx).config(config).start().await;
    let models = process.home().join("models");
    std::fs::create_dir_all(&models).context("the home takes no folder of models")?;
    for model in std::fs::read_dir(weights).context("the weights cannot be read")? {
        let model = model?;
        std::os::unix::fs::symlink(model.path(), models.join(model.file_name()))
            .context("the weights cannot be linked into the home")?;
    }
    let before_bytes = process.settled_bytes().await;
    let cold = embed(&process, 1).await?;
    let took = embed(&process, CHUNKS).await?;
    let chunks_a_second = CHUNKS as f64 / took.as_secs_f64();
    let embedder_load = cold.saturating_sub(took / CHUNKS as u32);
    let embedder = process.children();
    let worker_bytes = held_by(embedder.first().copied())?;
    let words = if weights.join("smollm2").is_dir() {
        Some(words(&process, &embedder).await?)
    } else {
        None
    };
    wait_until("the models' processes to end", PATIENCE, || process.children().is_empty()).await;
    let after_bytes = process.settled_bytes().await;
    Ok(Local { words, chunks_a_second, embedder_load, before_bytes, worker_bytes, after_bytes })
}

fn held_by(worker: Option<u32>) -> Result<u64> {
    worker.and_then(resident_bytes_of).context("the model's process has ended before its time")
}

/// The time for this many texts.
async fn embed(process: &OnyxProcess, count: usize) -> Result<Duration> {
    let text =
        |number: usize| format!("{number} {}", "The harbour master wrote it down. ".repeat(14));
    let texts: Vec<String> = (0..count).map(text).collect();
    let body = json!({"model": "local/minilm", "input": texts});
    let start = Instant::now();
    let answer = process.post("/v1/embeddings", &body).await;
    let took = start.elapsed();
    match answer.json()["data"].as_array() {
        Some(rows) if rows.len() == count => Ok(took),
        _ => bail!("no vectors: {}", answer.text()),
    }
}

/// Measures answers. `others` are processes of other models.
async fn words(process: &OnyxProcess, others: &[u32]) -> Result<Words> {
    // A number has about two tokens. Each prompt is different, so that none is cached.
    let prompt = |length: usize, seed: usize| -> String {
        (0..length / 2).map(|number| format!(" {}", (number * 7 + seed) % 100)).collect()
    };
    let (cold, _) = say(process, &prompt(50, 1), 1).await?;
    let (first_at_50, _) = say(process, &prompt(50, 2), 1).await?;
    let (first_at_500, _) = say(process, &prompt(500, 3), 1).await?;
    let (long, output) = say(process, "Tell me a long story about a fox.", 200).await?;
    let own = process.children().into_iter().find(|id| !others.contains(id));
    let speaking = long.saturating_sub(first_at_50).as_secs_f64();
    Ok(Words {
        load: cold.saturating_sub(first_at_50),
        first_at_50,
        first_at_500,
        tokens_a_second: output / speaking,
        worker_bytes: held_by(own)?,
    })
}

/// The time for an answer of this many tokens, and how many it had.
async fn say(process: &OnyxProcess, prompt: &str, tokens: u32) -> Result<(Duration, f64)> {
    let messages = json!([{"role": "user", "content": prompt}]);
    let body = json!({"model": "local/smollm2", "messages": messages, "max_tokens": tokens});
    let start = Instant::now();
    let answer: Value = process.post("/v1/chat/completions", &body).await.json();
    let took = start.elapsed();
    let output = answer["usage"]["completion_tokens"].as_f64();
    Ok((took, output.with_context(|| format!("no answer: {answer}"))?))
}
