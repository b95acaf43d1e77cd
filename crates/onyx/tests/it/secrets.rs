//! Secrets are stored from the command line and used as a provider's key, and shown nowhere.

use onyx_test_support::{AgentClient, Desktop, Reply, ScriptedModel, wait_for};
use reqwest::Method;
use serde_json::{Value, json};

use crate::accounts::run_with_input;
use crate::{Ran, SOON, builder, command, run, said};

const CANARY: &str = "sk-canary-of-a-provider-key-xyz";

fn with_secret(model: &ScriptedModel) -> Value {
    let provider = json!({"kind": "openai", "baseUrl": model.base_url(), "apiKey": "secret:mine"});
    json!({"providers": {"mine": provider}})
}

#[tokio::test]
async fn a_secret_becomes_a_providers_key_at_once_and_is_shown_nowhere() {
    let model = ScriptedModel::start().await;
    let mut onyx =
        builder(&model).merge(with_secret(&model)).env("ONYX_LOG", "debug").start().await;
    let provider =
        async |onyx: &AgentClient| onyx.get("/ready").await.json()["dependencies"][2].clone();
    let before = provider(&onyx).await;
    assert!(before["detail"].as_str().unwrap().contains("no secret `mine`"), "{before}");
    let home = onyx.home();
    let set = run_with_input(&home, &["secrets", "set", "mine"], &format!("{CANARY}\n")).await;
    assert_eq!(set.code, Some(0), "{set:?}");
    wait_for("the provider", SOON, async || (provider(&onyx).await["state"] == "ok").then_some(()))
        .await;
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
    let sent = format!("Bearer {CANARY}");
    assert_eq!(model.last_request().header("authorization"), Some(sent.as_str()));
    let listed = run(&home, &["secrets", "list"]).await;
    assert!(listed.out.contains("mine") && listed.out.contains("sk-can…xyz"), "{listed:?}");
    let shown = onyx.get("/api/admin/secrets").await.expect(200);
    let doctor = run(&home, &["doctor"]).await;
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    let rotated = run(&home, &["secrets", "rotate", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&rotated.out).unwrap(), json!({"rotated": 1}));
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
    onyx.terminate().await;
    // This works without a server too, and for `doctor`, which uses the secret to ask the provider.
    let listed = run(&home, &["secrets", "list", "--json"]).await;
    assert!(listed.out.contains("sk-can…xyz"), "{listed:?}");
    let free = run(&home, &["doctor"]).await;
    assert_eq!(free.code, Some(0), "{free:?}");
    assert_eq!(model.last_request().header("authorization"), Some(sent.as_str()));
    let texts = [shown.text(), doctor.out, free.out, rotated.out, listed.out, onyx.log()];
    assert!(texts.iter().all(|text| !text.contains(CANARY)));
    for file in ["onyx.db", "onyx.db-wal", "onyx.json", "cache/onyx.json.good"] {
        let bytes = std::fs::read(home.join(file)).unwrap_or_default();
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "{file}");
    }
    assert_eq!(run(&home, &["secrets", "rm", "mine"]).await.code, Some(0));
    assert_eq!(run(&home, &["secrets", "rm", "mine"]).await.code, Some(4));
    assert_eq!(run(&home, &["secrets", "set", "a/b"]).await.code, Some(2));
}

#[tokio::test]
async fn a_tool_cannot_tell_a_model_a_secret_that_was_set_while_the_server_ran() {
    use onyx_test_support::{Script, ScriptedCall};
    let model = ScriptedModel::start().await;
    let onyx = builder(&model).start().await;
    let path = "people/owner/vault/notes.md";
    std::fs::create_dir_all(onyx.home().join("people/owner/vault")).unwrap();
    std::fs::write(onyx.home().join(path), format!("the key is {CANARY}\n")).unwrap();
    let set = run_with_input(&onyx.home(), &["secrets", "set", "mine"], CANARY).await;
    assert_eq!(set.code, Some(0), "{set:?}");
    let call = || ScriptedCall::new("c1", "read_file", &json!({"path": "notes.md"}));
    wait_for("the mask", SOON, async || {
        model.push(Script::tool_calls([call()]));
        onyx.chat_stream(&json!({"message": "read it"})).await;
        let told = model.last_request().body.to_string();
        assert!(told.contains("the key is"), "{told}");
        (!told.contains(CANARY)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn doctor_says_where_the_key_lies_and_how_to_get_at_it() {
    let model = ScriptedModel::start().await;
    let mut desktop = Desktop::with_keyring().await;
    let bus = desktop.bus_address();
    let elsewhere = tempfile::tempdir().unwrap();
    let keyring = [
        ("ONYX_KEYS", ""),
        ("XDG_DATA_HOME", elsewhere.path().to_str().unwrap()),
        ("DBUS_SESSION_BUS_ADDRESS", bus.as_str()),
    ];
    let mut server = builder(&model);
    for (name, value) in keyring {
        server = server.env(name, value);
    }
    let mut onyx = server.start().await;
    let home = onyx.home();
    let set = run_with_input(&home, &["secrets", "set", "mine"], CANARY).await;
    assert_eq!(set.code, Some(0), "{set:?}");
    let held = run(&home, &["doctor"]).await;
    assert!(held.out.contains("1 stored; their key is in the desktop's keyring"), "{held:?}");
    onyx.terminate().await;
    let doctor = async || {
        let ran = command(&home, &["doctor"]).envs(keyring).output().await.unwrap();
        Ran::from(ran)
    };
    let free = doctor().await;
    assert!(free.out.contains("1 stored; their key is in the desktop's keyring"), "{free:?}");
    desktop.log_out().await;
    let gone = doctor().await;
    assert!(gone.out.contains("secret mine: the key is in the keyring"), "{gone:?}");
    assert!(gone.out.contains("fix: unlock the keyring"), "{gone:?}");
    assert_eq!(gone.code, Some(1));
    // The server reports the error with a code, and works without the secret.
    onyx.restart().await;
    let listed = onyx.get("/api/admin/secrets").await.expect(200).json();
    assert_eq!(listed["secrets"][0]["key"], "keyring");
    let body = json!({"value": "another"});
    let path = "/api/admin/secrets/other";
    let refused = Reply::of(onyx.request(Method::PUT, path).json(&body)).await.expect(503).json();
    assert_eq!(refused["code"], "key_unavailable");
    desktop.log_in().await;
    let again = run(&home, &["secrets", "list"]).await;
    assert!(again.out.contains("sk-can…xyz"), "{again:?}");
}
