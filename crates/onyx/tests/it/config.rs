use onyx_test_support::{AgentClient, DEFAULT_KEY, OnyxProcess, ScriptedModel, canary, wait_for};
use serde_json::{Value, json};

use crate::{SOON, builder, command, config, onyx, run, said};

async fn ready(onyx: &OnyxProcess) -> (u16, Value) {
    let reply = onyx.get("/ready").await;
    (reply.status, reply.json())
}

async fn wait_for_config(onyx: &OnyxProcess, state: &str) -> Value {
    wait_for(&format!("the config to be {state}"), SOON, async || {
        let (_, body) = ready(onyx).await;
        let config =
            body["dependencies"].as_array()?.iter().find(|at| at["name"] == "config")?.clone();
        (config["state"] == state).then_some(config)
    })
    .await
}

#[tokio::test]
async fn a_broken_edit_changes_nothing_and_says_so_and_a_good_one_counts_at_once() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    assert_eq!(
        ready(&onyx).await,
        (
            200,
            json!({"status": "ready", "dependencies": [
                {"name": "config", "kind": "config", "state": "ok"},
                {"name": "storage", "kind": "storage", "state": "ok"},
                {"name": "provider:mine", "kind": "provider", "instance": "mine", "state": "ok"},
            ]})
        )
    );
    let good = std::fs::read_to_string(onyx.config_path()).unwrap();
    for (nonsense, says) in [
        ("{ nonsense", "line 1, column"),
        ("{ agents: { list: 'x' } }", "agents.list"),
        ("{ gateway: { bind: '0.0.0.0' } }", "gateway.bind"),
        ("{ agents: { list: [ { id: '../x' } ] } }", "agents"),
        (
            "{ agents: { list: [ { id: 'main', tools: { deny: ['no_such_tool'] } } ] } }",
            "no_such_tool",
        ),
        // Mail is never sent over a network without encryption.
        (
            "{ mail: { host: 'mail.example.org', security: 'none', from: 'a@b.example' } }",
            "mail.security",
        ),
        ("{ mail: { host: '127.0.0.1', security: 'none', from: 'nobody' } }", "mail.from"),
        (
            "{ mail: { host: 'm.example', from: 'a@b.example', recipients: ['*.example'] } }",
            "mail.recipients",
        ),
    ] {
        std::fs::write(onyx.config_path(), nonsense).unwrap();
        let shown = wait_for_config(&onyx, "degraded").await;
        assert!(shown["detail"].as_str().unwrap().contains(says), "{shown}");
        assert_eq!(ready(&onyx).await.1["status"], "degraded");
        assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
        let doctor = run(&onyx.home(), &["doctor"]).await;
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
        assert!(doctor.out.contains(says), "{doctor:?}");
        std::fs::write(onyx.config_path(), &good).unwrap();
        wait_for_config(&onyx, "ok").await;
    }
    assert!(onyx.log().contains("the edit is not taken up"));
}

#[tokio::test]
async fn agents_models_and_the_token_follow_the_file() {
    let (first, second) = (ScriptedModel::start().await, ScriptedModel::start().await);
    let onyx = onyx(&first).await;
    let mut config = config(&second);
    let token = canary::secret("onyx_sk_other");
    config["gateway"]["auth"]["token"] = json!(token);
    config["agents"]["list"][0]["id"] = json!("other");
    // Most editors replace the file by a new one.
    let fresh = onyx.home().join("onyx.json.new");
    std::fs::write(&fresh, config.to_string()).unwrap();
    std::fs::rename(&fresh, onyx.config_path()).unwrap();
    let client = AgentClient::new(onyx.base_url(), token);
    wait_for("the new token", SOON, async || {
        (client.get("/v1/sessions").await.status == 200).then_some(())
    })
    .await;
    assert_eq!(onyx.get("/v1/sessions").await.status, 401);
    assert_eq!(said(&client.chat_stream(&json!({"message": "x", "agent": "other"})).await), "ok");
    let gone = client.post("/api/agent/chat", &json!({"message": "x", "agent": "main"})).await;
    assert_eq!(gone.status, 404);
    assert_eq!((first.request_count(), second.request_count()), (0, 1));
}

#[tokio::test]
async fn a_missing_variable_disables_its_provider_and_nothing_else() {
    let model = ScriptedModel::start().await;
    let more = json!({"providers": {"paid": {"kind": "openai", "baseUrl": "http://127.0.0.1:9/v1", "apiKey": "${ONYX_TEST_ABSENT}"}}});
    let onyx = builder(&model).merge(more).start().await;
    let (status, body) = ready(&onyx).await;
    let paid = &body["dependencies"][3];
    assert_eq!(
        (status, &paid["name"], &paid["state"]),
        (200, &json!("provider:paid"), &json!("degraded"))
    );
    assert!(paid["detail"].as_str().unwrap().contains("ONYX_TEST_ABSENT"));
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
    let doctor = run(&onyx.home(), &["doctor"]).await;
    assert!(doctor.out.contains("ONYX_TEST_ABSENT"), "{doctor:?}");
    // A variable in `.env` counts as set.
    std::fs::write(
        onyx.home().join(".env"),
        format!("ONYX_TEST_ABSENT={}\n", canary::secret("paid")),
    )
    .unwrap();
    wait_for("the provider", SOON, async || {
        (ready(&onyx).await.1["status"] == "ready").then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_real_environment_goes_before_the_file() {
    let model = ScriptedModel::start().await;
    let onyx =
        builder(&model).file(".env", format!("MY_KEY={}\n", canary::secret("file"))).start().await;
    onyx.chat_stream(&json!({"message": "hi"})).await;
    let sent = format!("Bearer {DEFAULT_KEY}");
    assert_eq!(model.last_request().header("authorization"), Some(sent.as_str()));
}

#[tokio::test]
async fn a_first_start_with_no_config_works() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let mut serve = command(&home, &["serve", "--port", "0"]).spawn().unwrap();
    let mut lines = tokio::io::BufReader::new(serve.stdout.take().unwrap());
    let mut line = String::new();
    tokio::io::AsyncBufReadExt::read_line(&mut lines, &mut line).await.unwrap();
    let base = line.trim().strip_prefix("Onyx is running at ").unwrap().to_owned();
    let token = std::fs::read_to_string(home.join("token")).unwrap();
    let client = AgentClient::new(base, token.trim());
    let events = client.chat_stream(&json!({"message": "hi"})).await;
    assert_eq!(events[1]["code"], "provider_unavailable");
    assert!(events[1]["message"].as_str().unwrap().contains("onyx.json"), "{}", events[1]);
}

#[tokio::test]
async fn a_server_started_on_a_broken_config_goes_on_with_the_last_good_one_and_says_so() {
    let model = ScriptedModel::start().await;
    let mut onyx = onyx(&model).await;
    let good = std::fs::read_to_string(onyx.config_path()).unwrap();
    onyx.kill().await;
    std::fs::write(onyx.config_path(), "{ nonsense").unwrap();
    onyx.restart().await;
    let shown = wait_for_config(&onyx, "degraded").await;
    assert!(shown["detail"].as_str().unwrap().contains("line 1, column"), "{shown}");
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
    std::fs::write(onyx.config_path(), good).unwrap();
    wait_for_config(&onyx, "ok").await;
}

#[tokio::test]
async fn a_server_does_not_start_beyond_this_machine_or_on_a_broken_config() {
    let model = ScriptedModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    let start = async |text: String| {
        std::fs::write(folder.path().join("onyx.json"), text).unwrap();
        run(folder.path(), &["serve"]).await
    };
    let mut open = config(&model);
    open["gateway"] = json!({"bind": "0.0.0.0", "port": 0});
    let refused = start(open.to_string()).await;
    assert_eq!(
        (refused.code, refused.err.contains("0.0.0.0 is not a loopback address")),
        (Some(1), true),
        "{refused:?}"
    );
    let broken = start("{ nonsense".to_owned()).await;
    assert_eq!((broken.code, broken.err.contains("line 1, column")), (Some(1), true), "{broken:?}");
}
