//! Known secrets reach no model, transcript, event or log.

use onyx_test_support::{OnyxProcess, Reply, ScriptedModel, wait_until};
use reqwest::Method;
use serde_json::{Value, json};

use super::{obedient, sent, told};
use crate::{SOON, builder, run};

const KEY: &str = "sk-live-provider-key-0123456789";

/// The files of the home that hold the key, except those where it belongs.
fn holding(onyx: &OnyxProcess, belongs: &[&str]) -> Vec<String> {
    let found = std::process::Command::new("grep")
        .args(["-rlaF", KEY, "."])
        .current_dir(onyx.home())
        .output()
        .unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    let names = text.lines().map(|line| line.trim_start_matches("./").to_owned());
    names.filter(|name| !belongs.contains(&name.as_str())).collect()
}

#[tokio::test]
async fn a_key_that_stands_in_files_and_messages_goes_nowhere() {
    let model = obedient().await;
    let keys = format!("the key is {KEY}, keep it\n");
    let mut onyx = builder(&model)
        .merge(json!({"providers": {"mine": {"apiKey": KEY}}}))
        .env("ONYX_LOG", "debug")
        .file("people/owner/vault/keys.md", keys.as_str())
        .file("people/owner/USER.md", keys.as_str())
        .file("people/owner/memory/main/MEMORY.md", keys.as_str())
        .start()
        .await;
    let read = ("read_file", json!({"path": "keys.md"}));
    let find = ("search_files", json!({"text": "the key is"}));
    let events = told(&onyx, &[read, find]).await;
    assert!(format!("{events:?}").contains("the key is [secret], keep it"), "{events:#?}");
    let spoken = sent(&onyx, json!({"message": format!("is it {KEY}?")})).await;
    assert!(!format!("{events:?}{spoken:?}").contains(KEY));
    for request in model.requests() {
        assert!(!request.body.to_string().contains(KEY), "{:#}", request.body);
    }
    let audit = run(&onyx.home(), &["audit", "export"]).await;
    assert!(!audit.out.contains(KEY));
    assert!(!onyx.log().contains(KEY));
    onyx.terminate().await;
    let belongs = [
        "onyx.json",
        "cache/onyx.json.good",
        "people/owner/vault/keys.md",
        "people/owner/USER.md",
        "people/owner/memory/main/MEMORY.md",
    ];
    let leaked: Vec<String> = holding(&onyx, &belongs)
        .into_iter()
        // The index holds the person's own files, which may contain the key.
        .filter(|name| !name.starts_with("cache/index") && !name.starts_with("cache/text"))
        .collect();
    assert_eq!(leaked, Vec::<String>::new());
}

/// The error message of an edit quotes the faulty part, which is a key here.
#[tokio::test]
async fn a_key_in_an_event_is_masked_on_stderr_and_in_the_kept_log() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).merge(json!({"providers": {"mine": {"apiKey": KEY}}})).start().await;
    let file = onyx.home().join("onyx.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    config["agents"]["list"][0]["tier"] = json!(KEY);
    std::fs::write(&file, config.to_string()).unwrap();
    let words = "the edit is not taken up";
    wait_until("the edit to be looked at", SOON, || onyx.log().contains(words)).await;
    let log = onyx.log();
    let line = log.lines().find(|line| line.contains(words)).unwrap();
    assert!(line.contains("[secret]") && !log.contains(KEY), "{line}");
    let kept = onyx.get("/api/admin/logs?level=error").await.expect(200).text();
    assert!(kept.contains(words) && kept.contains("[secret]") && !kept.contains(KEY), "{kept}");
}

#[tokio::test]
async fn a_stored_secret_is_masked_at_once_although_the_config_is_broken() {
    let model = obedient().await;
    let onyx = builder(&model).file("people/owner/vault/note.md", "nothing").start().await;
    std::fs::write(onyx.home().join("onyx.json"), "{ nonsense").unwrap();
    let words = "the edit is not taken up";
    wait_until("the edit to be looked at", SOON, || onyx.log().contains(words)).await;
    let secret = onyx.request(Method::PUT, "/api/admin/secrets/menos");
    let _ = Reply::of(secret.json(&json!({"value": KEY}))).await.expect(204);
    std::fs::write(onyx.home().join("people/owner/vault/note.md"), format!("it is {KEY}")).unwrap();
    let events = told(&onyx, &[("read_file", json!({"path": "note.md"}))]).await;
    assert!(format!("{events:?}").contains("it is [secret]"), "{events:#?}");
    for request in model.requests() {
        assert!(!request.body.to_string().contains(KEY), "{:#}", request.body);
    }
}
