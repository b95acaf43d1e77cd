use onyx_test_support::networks::{FakeTelegram, TELEGRAM_TOKEN};
use onyx_test_support::{ScriptedModel, wait_for};
use reqwest::Method;
use serde_json::json;

use super::{account, connected, run_with_input, settled};
use crate::{SOON, builder};

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_added_tested_paired_and_removed_from_the_terminal_while_the_server_runs() {
    let (model, telegram) = (ScriptedModel::start().await, FakeTelegram::start().await);
    model.set_default("Welcome.");
    let onyx = builder(&model).start().await;
    let url = telegram.url();
    let added = run_with_input(
        &onyx.home(),
        &["connectors", "add", "telegram", "main", "--api-base", &url],
        TELEGRAM_TOKEN,
    )
    .await;
    assert!(added.contains("telegram/main"), "{added}");
    let file = std::fs::read_to_string(onyx.config_path()).unwrap();
    assert!(file.contains("secret:telegram-main") && !file.contains(TELEGRAM_TOKEN), "{file}");
    let tested = run_with_input(&onyx.home(), &["connectors", "test", "telegram"], "").await;
    assert!(
        tested.contains("@onyx_test_bot") && tested.contains("https://t.me/onyx_test_bot"),
        "{tested}"
    );

    telegram.say(42, "hello");
    settled(&onyx, &telegram).await;
    let listed = run_with_input(&onyx.home(), &["connectors", "list"], "").await;
    let code = listed.split("onyx connectors pair ").nth(1).unwrap().trim().to_owned();
    assert!(telegram.texts(42)[0].contains(&code));
    let paired = run_with_input(&onyx.home(), &["connectors", "pair", &code], "").await;
    assert!(paired.contains("Person 42 can now talk to your agents"), "{paired}");
    telegram.say(42, "and now?");
    settled(&onyx, &telegram).await;
    assert_eq!(telegram.texts(42).last().unwrap(), "Welcome.");

    let bind = |agent: serde_json::Value| {
        let path = "/api/admin/connectors/telegram/main/peers/42/agent";
        onyx_test_support::Reply::of(
            onyx.client().request(Method::PUT, path).json(&json!({"agent": agent})),
        )
    };
    let _ = bind(json!("nobody")).await.expect(400);
    let _ = bind(json!("main")).await.expect(204);
    let file = std::fs::read_to_string(onyx.config_path()).unwrap();
    assert!(file.contains("agentId"), "{file}");
    let peers = onyx.get("/api/admin/connectors/telegram/main/peers").await.expect(200).json();
    assert_eq!(peers["peers"][0]["agent"], "main");
    let path = "/api/admin/connectors/telegram/main/agent";
    let all_of_it = onyx.client().request(Method::PUT, path).json(&json!({"agent": "main"}));
    let _ = onyx_test_support::Reply::of(all_of_it).await.expect(204);
    let all = onyx.get("/api/admin/connectors").await.expect(200).json();
    assert_eq!(all["accounts"][0]["agent"], "main");
    let bindings = all["bindings"].as_array().unwrap();
    assert!(
        bindings.iter().any(|binding| binding["account"] == "main" && binding["peer"].is_null()),
        "{all}"
    );
    assert!(all["accounts"][0]["qr"]["size"].as_u64().unwrap() > 20, "{all}");

    // Removing an agent removes its bindings, so the default agent answers.
    let other = json!({"id": "other", "name": "Other", "model": "mine/some-model"});
    let _ = onyx.post("/v1/agents", &other).await.expect(201);
    let _ = bind(json!("other")).await.expect(204);
    let gone = onyx.client().request(Method::DELETE, "/v1/agents/other");
    let _ = onyx_test_support::Reply::of(gone).await.expect(204);
    let peers = onyx.get("/api/admin/connectors/telegram/main/peers").await.expect(200).json();
    assert_eq!(peers["peers"][0]["agent"], "main");

    run_with_input(&onyx.home(), &["connectors", "remove", "telegram"], "").await;
    let list = onyx.get("/api/admin/connectors").await.expect(200).json();
    assert_eq!(list["accounts"], json!([]));
    assert!(!onyx.log().contains(TELEGRAM_TOKEN), "the token is in the log");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_token_and_a_bad_account_are_refused_with_a_reason() {
    let (model, telegram) = (ScriptedModel::start().await, FakeTelegram::start().await);
    let onyx = builder(&model).start().await;
    let test = json!({"network": "telegram", "token": "1:wrong", "api_base": telegram.url()});
    let refused = onyx.post("/api/admin/connectors/test", &test).await.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains("token does not work"), "{refused}");
    let test = json!({"network": "telegram", "token": "no token at all"});
    let refused = onyx.post("/api/admin/connectors/test", &test).await.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains("not a Telegram bot token"), "{refused}");
    let test = json!({"network": "pigeon", "token": "x"});
    let _ = onyx.post("/api/admin/connectors/test", &test).await.expect(400);
    let put = onyx
        .client()
        .request(Method::PUT, "/api/admin/connectors/pigeon/main")
        .json(&json!({"token": "x"}));
    let refused = onyx_test_support::Reply::of(put).await.expect(400).json();
    assert!(refused["detail"].as_str().unwrap().contains("there is no such network"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_the_file_connects_and_disconnects_and_a_dead_network_is_shown() {
    let (model, telegram) = (ScriptedModel::start().await, FakeTelegram::start().await);
    let onyx = connected(&model, &telegram).await;
    wait_for("it to listen", SOON, async || {
        (account(&onyx).await["state"] == "listening").then_some(())
    })
    .await;
    let text = std::fs::read_to_string(onyx.config_path()).unwrap();
    let elsewhere = text.replace(&telegram.url(), "http://127.0.0.1:9");
    std::fs::write(onyx.config_path(), elsewhere).unwrap();
    let failing = wait_for("it to fail", SOON, async || {
        let account = account(&onyx).await;
        (account["state"] == "failing").then_some(account)
    })
    .await;
    assert!(failing["detail"].as_str().unwrap().contains("127.0.0.1"), "{failing}");
    let ready = onyx.get("/ready").await.json();
    let shown = ready["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .find(|at| at["name"] == "connector:telegram/main")
        .unwrap()
        .clone();
    assert_eq!(shown["state"], "degraded");
    std::fs::write(onyx.config_path(), text).unwrap();
    wait_for("it to listen again", SOON, async || {
        (account(&onyx).await["state"] == "listening").then_some(())
    })
    .await;
}
