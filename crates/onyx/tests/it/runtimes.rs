//! Runtimes, the programs through which models are asked, in the whole server.

use onyx_test_support::{Answer, FakeProgram, OnyxBuilder, ScriptedModel, wait_until};
use serde_json::{Value, json};

use crate::{SOON, builder, run, said, types};

fn with_claude(model: &ScriptedModel, fake: &FakeProgram) -> OnyxBuilder {
    let command = fake.program();
    builder(model).merge(json!({
        "providers": {
            "mine": {"models": [{"id": "claude-x", "price": {"input": 0, "output": 0}}]},
            "claude-subscription": {"command": command},
        },
    }))
}

fn agent(model: &str) -> Value {
    json!({"agents": {"list": [{"id": "main", "default": true, "model": model, "tier": "act"}]}})
}

#[tokio::test]
async fn an_agent_answers_through_the_claude_cli_and_onyx_executes_its_tools() {
    let model = ScriptedModel::start().await;
    let fake = FakeProgram::claude([
        json!({"text": "Let me see.", "calls": [
            {"id": "toolu_1", "name": "list_files", "arguments": {}}]}),
        json!({"text": "There is one note."}),
        json!({"text": "You are welcome."}),
    ]);
    let onyx = with_claude(&model, &fake)
        .merge(agent("claude-subscription/sonnet"))
        .file("people/owner/vault/note.md", "hello")
        .start()
        .await;
    let events = onyx.chat_stream(&json!({"message": "what is there?"})).await;
    assert_eq!(types(&events), ["start", "text", "tool_call", "tool_result", "text", "done"]);
    let results = fake.noted("results")[0].to_string();
    assert!(results.contains("note.md"), "{results}");
    let session = events[0]["session_id"].clone();
    let again = onyx.chat_stream(&json!({"message": "thanks", "session_id": session})).await;
    assert_eq!(said(&again), "You are welcome.");
    assert_eq!(fake.processes().len(), 1, "one process for the whole conversation");
    assert_eq!(model.request_count(), 0);
}

#[tokio::test]
async fn a_killed_server_leaves_no_child_behind() {
    let model = ScriptedModel::start().await;
    let fake = FakeProgram::claude([json!({"text": "Wait", "fault": "hangs"})]);
    let mut onyx =
        with_claude(&model, &fake).merge(agent("claude-subscription/sonnet")).start().await;
    let mut lines = onyx.client().chat_lines(&json!({"message": "hi"})).await;
    let _ = lines.until("text").await;
    let child = fake.processes()[0];
    let status = || std::fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
    assert!(status().contains("State:"));
    onyx.kill().await;
    let is_gone = || status().is_empty() || status().contains("State:\tZ");
    wait_until("the child to be gone", SOON, is_gone).await;
}

#[tokio::test]
async fn a_child_that_is_killed_ends_the_run_with_an_error_and_the_next_one_works() {
    let model = ScriptedModel::start().await;
    let fake = FakeProgram::claude([json!({"text": "Half", "fault": "dies"})]);
    let onyx = with_claude(&model, &fake).merge(agent("claude-subscription/sonnet")).start().await;
    let mut lines = onyx.client().chat_lines(&json!({"message": "hi"})).await;
    let _ = lines.until("text").await;
    // The process kills itself right after these words, and nobody waits for it until a timeout.
    let events = tokio::time::timeout(SOON, lines.rest()).await.expect("the run ends");
    assert_eq!(types(&events), ["error", "done"]);
    assert_eq!(events[0]["code"], "provider_unavailable");
    assert_eq!(said(&onyx.chat_stream(&json!({"message": "hi"})).await), "ok");
}

#[tokio::test]
async fn the_subscription_answers_for_anthropics_models_where_the_person_chose_it() {
    let model = ScriptedModel::start().await;
    let fake = FakeProgram::claude([
        json!({"text": "By subscription."}),
        json!({"fault": "login_expired"}),
        json!({"fault": "login_expired"}),
    ]);
    let onyx = with_claude(&model, &fake).merge(agent("mine/claude-x")).start().await;
    model.set_default(Answer::text("By key."));
    let hi = json!({"message": "hi"});
    assert_eq!(said(&onyx.chat_stream(&hi).await), "By key.");
    let health = async || onyx.get("/api/agent/health").await.expect(200).json()["runtime"].clone();
    assert_eq!(health().await, json!({"mode": "anthropic_api_key", "state": "ok"}));

    let mode = json!({"runtime_mode": "gateway_subscription"});
    let _ = onyx.post("/api/agent/config", &mode).await.expect(200);
    let events = onyx.chat_stream(&hi).await;
    assert_eq!(
        (types(&events), said(&events)),
        (vec!["start", "text", "done"], "By subscription.".to_owned())
    );
    let argv = fake.noted("argv")[0].to_string();
    assert!(argv.contains("\"--model\",\"claude-x\""), "{argv}");
    let gateway = health().await;
    assert_eq!(
        (&gateway["mode"], &gateway["state"]),
        (&json!("gateway_subscription"), &json!("ok"))
    );
    assert!(gateway["detail"].as_str().unwrap().contains("jo@example.org"), "{gateway}");

    // The sign-in is no longer valid, so this run and later ones use the configured model and say
    // so.
    let events = onyx.chat_stream(&hi).await;
    assert_eq!(
        (types(&events), said(&events)),
        (vec!["start", "status", "text", "done"], "By key.".to_owned())
    );
    assert_eq!(health().await["state"], "degraded");
    let processes = fake.processes().len();
    let events = onyx.chat_stream(&hi).await;
    assert_eq!(types(&events), ["start", "status", "text", "done"]);
    assert!(events[1]["message"].as_str().unwrap().contains("claude auth login"), "{events:?}");
    assert_eq!(fake.processes().len(), processes, "what is known to fail is not asked");

    let _ = onyx.post("/api/agent/config", &json!({"fallback": false})).await.expect(200);
    let refused = onyx.post("/api/agent/chat-stream", &hi).await.expect(502).json();
    assert_eq!(refused["code"], "provider_unavailable");
    assert!(refused["hint"].as_str().unwrap().contains("anthropic_api_key"), "{refused}");

    // After a new sign-in, a test of the provider is enough to use it again.
    let test = onyx.post("/api/admin/providers/claude-subscription/test", &json!({})).await;
    assert_eq!(test.expect(200).json()["ok"], true);
    assert_eq!(health().await["state"], "ok");
}

#[tokio::test]
async fn a_claude_that_is_not_installed_is_told_by_the_doctor_the_list_and_the_run() {
    let model = ScriptedModel::start().await;
    let onyx = builder(&model)
        .merge(json!({"providers": {"claude-subscription": {"command": "/nowhere/claude"},
                "pi": {"command": "/nowhere/pi"}}}))
        .merge(agent("claude-subscription/sonnet"))
        .start()
        .await;
    let providers = onyx.get("/api/admin/providers").await.expect(200).json();
    for name in ["claude-subscription", "pi"] {
        let provider =
            providers["providers"].as_array().unwrap().iter().find(|one| one["name"] == name);
        let provider = provider.unwrap();
        assert_eq!(provider["state"], "disabled");
        assert!(provider["detail"].as_str().unwrap().contains("not on this machine"), "{provider}");
    }
    let refused = onyx.chat_stream(&json!({"message": "hi"})).await;
    let error = refused.iter().find(|event| event["type"] == "error").unwrap();
    assert!(error["message"].as_str().unwrap().contains("npm install"), "{refused:?}");
    let doctor = run(&onyx.home(), &["doctor"]).await;
    assert!(doctor.out.contains("there is no program /nowhere/claude"), "{}", doctor.out);
    let sign_in = onyx.post("/api/admin/providers/pi/login", &json!({})).await.expect(400).json();
    assert!(sign_in.to_string().contains("/login"), "{sign_in}");
}
