//! Requests that cannot work, and that nothing else is affected by them.

use std::os::unix::fs::{PermissionsExt, symlink};

use onyx_test_support::OnyxProcess;
use serde_json::{Value, json};

use super::{FRANCE, binary, complete, small_model, started, started_as};
use crate::said;

/// The error of a pass-through request, after which the server still works.
async fn refused(onyx: &OnyxProcess, model: &str, more: &Value) -> String {
    let text = complete(onyx, model, more).await.text();
    assert!(text.contains("\"error\""), "{model}: {text}");
    assert!(onyx.healthy().await, "{model}");
    text
}

async fn assert_answers(onyx: &OnyxProcess) {
    let events = onyx.chat_stream(&json!({"message": FRANCE})).await;
    assert!(said(&events).contains("Paris"), "{events:?}");
}

#[tokio::test]
#[ignore = "make test-live"]
async fn what_cannot_be_is_told_and_the_server_goes_on() {
    let whole = std::fs::read(small_model().await).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let mut garbled = whole[..5_000_000].to_vec();
    garbled[200..4_000_000].fill(0xff);
    let broken = [
        (file("cut.gguf", &whole[..whole.len() - 1]), "breaks off"),
        (file("short.gguf", &whole[..1_000_000]), "breaks off"),
        (file("garbled.gguf", &garbled), "damaged"),
        (file("page.gguf", b"<html>"), "not a GGUF model"),
        (file("empty.gguf", b""), "not a GGUF model"),
    ];
    let vast = json!({"id": "vast", "contextWindow": 500_000_000});
    let named = broken.iter().map(|(path, _)| Value::from(path.as_str()));
    let models: Vec<_> = named.chain([json!("smollm2"), vast]).collect();
    let onyx = started(json!({"models": models})).await;
    symlink(small_model().await, onyx.home().join("models/vast.gguf")).unwrap();
    let long = json!({"messages": [{"role": "user", "content": "word ".repeat(20_000)}]});
    let none = json!({});
    let broken = broken.into_iter().map(|(path, why)| (path, &none, why));
    for (model, more, why) in broken.chain([
        ("absent".to_owned(), &none, "onyx models pull absent"),
        ("vast".to_owned(), &none, "MB of memory"),
        ("smollm2".to_owned(), &long, "window"),
    ]) {
        let model = format!("local/{model}");
        let text = refused(&onyx, &model, more).await;
        assert!(text.contains(why), "{model}: {text}");
    }
    assert_answers(&onyx).await;
}

/// The header of the file is valid, so only llama.cpp can find the fault.
#[tokio::test]
#[ignore = "make test-live"]
async fn weights_of_nonsense_and_of_an_unknown_architecture_take_nothing_else_down() {
    let onyx = started(json!({})).await;
    let whole = std::fs::read(small_model().await).unwrap();
    let models = onyx.home().join("models");
    let mut nonsense = whole.clone();
    nonsense[60_000_000..].fill(0x7f);
    std::fs::write(models.join("nonsense.gguf"), nonsense).unwrap();
    let mut foreign = whole;
    let name = b"general.architecture";
    let at = foreign.windows(name.len()).position(|window| window == name).unwrap();
    let value = at + name.len() + 4 + 8;
    assert_eq!(&foreign[value..value + 5], b"llama");
    foreign[value..value + 5].copy_from_slice(b"alien");
    std::fs::write(models.join("foreign.gguf"), foreign).unwrap();

    let text = refused(&onyx, "local/foreign", &json!({})).await;
    assert!(text.contains("llama.cpp cannot load this model"), "{text}");
    // The answer makes no sense but must come: text or an error, without endless waiting.
    let answer = complete(&onyx, "local/nonsense", &json!({"max_tokens": 8})).await.json();
    assert!(answer["choices"].is_array() || answer["error"].is_object(), "{answer}");
    assert!(onyx.healthy().await);
    assert_answers(&onyx).await;
}

#[tokio::test]
#[ignore = "make test-live"]
async fn a_limit_of_memory_that_is_hit_while_loading_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("onyx");
    // The limit is enough for the gateway and a usual window. It makes the test independent of the
    // machine's free memory.
    let script = format!("#!/bin/sh\nulimit -v 3000000\nexec {} \"$@\"\n", binary().display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let wide = json!({"models": ["smollm2", {"id": "wide", "contextWindow": 150_000}]});
    let onyx = started_as(program, wide).await;
    symlink(small_model().await, onyx.home().join("models/wide.gguf")).unwrap();

    let text = refused(&onyx, "local/wide", &json!({})).await;

    println!("{text}");
    assert!(text.contains("memory"), "{text}");
    assert_answers(&onyx).await;
}
