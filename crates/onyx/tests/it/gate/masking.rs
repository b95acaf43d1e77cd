//! Known secrets reach no model, transcript, event or log, wherever they stand.

use onyx_test_support::OnyxProcess;
use serde_json::json;

use super::{obedient, sent, told};
use crate::{builder, run};

const KEY: &str = "sk-live-provider-key-0123456789";

/// Every file of the home that holds the key, but those where it belongs.
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
        // The index is made of the person's own files and holds what they hold.
        .filter(|name| !name.starts_with("cache/index") && !name.starts_with("cache/text"))
        .collect();
    assert_eq!(leaked, Vec::<String>::new());
}
