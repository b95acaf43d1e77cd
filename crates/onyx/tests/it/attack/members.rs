//! What a member may approve, and what only the owner may approve.

use onyx_test_support::{AgentClient, OnyxProcess, ScriptedModel};
use serde_json::{Value, json};

use crate::builder;
use crate::drafts::{draft_of, message, obedient, path};

pub(crate) async fn member(onyx: &OnyxProcess) -> AgentClient {
    drop(onyx.post("/api/admin/people", &json!({"id": "anna"})).await.expect(201));
    let token = json!({"name": "t", "people": ["anna"]});
    let token = onyx.post("/api/admin/tokens", &token).await.expect(201).json();
    AgentClient::new(onyx.base_url(), token["token"].as_str().unwrap())
}

async fn proposed(client: &AgentClient, call: (&str, Value)) -> String {
    let body = json!({"message": message(&[call])});
    let events = client.chat_stream(&body).await;
    let draft = events.iter().rfind(|event| event["type"] == "draft");
    let draft = draft.unwrap_or_else(|| panic!("no draft among {events:#?}"));
    draft["draft_id"].as_str().unwrap().to_owned()
}

async fn house(model: &ScriptedModel, more: Value) -> OnyxProcess {
    builder(model)
        .merge(json!({"agents": {"list": [
            {"id": "main", "default": true, "model": "mine/some-model", "tier": "suggest"},
        ]}}))
        .merge(more)
        .start()
        .await
}

const ECHO: (&str, [&str; 2]) = ("exec", ["echo", "hello"]);

fn echo() -> (&'static str, Value) {
    (ECHO.0, json!({"argv": ECHO.1}))
}

fn note() -> (&'static str, Value) {
    ("write_file", json!({"path": "a.md", "content": "hello\n"}))
}

#[tokio::test]
async fn a_member_approves_changes_of_their_files_and_no_command() {
    let model = obedient().await;
    let onyx = house(&model, json!({})).await;
    let anna = member(&onyx).await;
    let write = proposed(&anna, note()).await;
    let row = anna.post(&format!("{}/approve", path(&write)), &json!({})).await.expect(200).json();
    assert_eq!(row["state"], "applied");
    let run = proposed(&anna, echo()).await;
    let refused =
        anna.post(&format!("{}/approve", path(&run)), &json!({})).await.expect(403).json();
    assert_eq!(refused["code"], "owner_required", "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("limits.members_may_approve"), "{refused}");
    let row = anna.get(&path(&run)).await.expect(200).json();
    assert_eq!((&row["state"], &row["needs_owner"]), (&json!("pending"), &json!(true)), "{row}");
    // The other ways of approving are refused too: in a message, or for the whole run.
    let body = json!({"message": "go on", "confirm": [run]});
    let told = anna.post("/api/agent/chat", &body).await;
    assert_ne!(told.status, 200, "{}", told.text());
    assert_eq!(anna.get(&path(&run)).await.json()["state"], "pending");
    // A member may always reject.
    drop(anna.post(&format!("{}/reject", path(&run)), &json!({})).await.expect(200));
    // The owner may approve the owner's own drafts.
    let (_, own) = draft_of(&onyx, json!({"message": message(&[echo()])})).await;
    let row = onyx.post(&format!("{}/approve", path(&own)), &json!({})).await.expect(200).json();
    assert_eq!((&row["state"], &row["needs_owner"]), (&json!("applied"), &json!(false)));
}

#[tokio::test]
async fn the_owner_decides_what_a_member_may_not() {
    let model = obedient().await;
    let onyx = house(&model, json!({})).await;
    let anna = member(&onyx).await;
    let note = proposed(&anna, note()).await;
    let run = proposed(&anna, echo()).await;
    let list = onyx.get("/api/admin/pending-changes").await.expect(200).json();
    let ids: Vec<&Value> = list["drafts"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&json!(run)], "what anna may decide herself is hers alone: {list}");
    assert_eq!(list["drafts"][0]["person"], "anna");
    drop(anna.get("/api/admin/pending-changes").await.expect(403));
    let decide =
        |draft: &str, what: &str| format!("/api/admin/pending-changes/anna/{draft}/{what}");
    drop(onyx.post(&decide(&note, "approve"), &json!({})).await.expect(404));
    drop(anna.post(&decide(&run, "approve"), &json!({})).await.expect(403));
    let row = onyx.post(&decide(&run, "approve"), &json!({})).await.expect(200).json();
    assert_eq!((&row["state"], &row["decided_by"]), (&json!("applied"), &json!("owner")), "{row}");
    assert!(row["output"].as_str().unwrap().contains("hello"), "{row}");
    let other = proposed(&anna, echo()).await;
    let row = onyx.post(&decide(&other, "reject"), &json!({})).await.expect(200).json();
    assert_eq!(row["state"], "rejected");
}

#[tokio::test]
async fn the_config_says_what_members_may_approve() {
    let model = obedient().await;
    let allowed = json!({"limits": {"members_may_approve": ["write", "execute"]}});
    let onyx = house(&model, allowed).await;
    let anna = member(&onyx).await;
    let run = proposed(&anna, echo()).await;
    let row = anna.post(&format!("{}/approve", path(&run)), &json!({})).await.expect(200).json();
    assert_eq!(row["state"], "applied");
}

#[tokio::test]
async fn containers_are_the_owners_and_off_unless_named() {
    let model = ScriptedModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    let (program, socket) = (folder.path().join("docker"), folder.path().join("docker.sock"));
    std::fs::write(&program, "#!/bin/sh\necho listed\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    std::fs::write(&socket, "").unwrap();
    let docker = json!({"tools": {"docker": {"program": program, "socket": socket}}});
    let agents = |tools: Value| {
        json!({"agents": {"list": [{"id": "main", "default": true, "model": "mine/some-model",
            "tier": "act", "tools": tools}]}})
    };
    let offered = |model: &ScriptedModel| model.last_request().body["tools"].to_string();
    let unnamed = builder(&model).merge(agents(json!({}))).merge(docker.clone()).start().await;
    drop(unnamed.chat_stream(&json!({"message": "hi"})).await);
    assert!(!offered(&model).contains("docker_"), "{}", offered(&model));
    let named = json!({"allow": ["read_file", "group:docker"]});
    let onyx = builder(&model).merge(agents(named)).merge(docker).start().await;
    drop(onyx.chat_stream(&json!({"message": "hi"})).await);
    assert!(offered(&model).contains("docker_exec"), "{}", offered(&model));
    let anna = member(&onyx).await;
    drop(anna.chat_stream(&json!({"message": "hi"})).await);
    assert!(!offered(&model).contains("docker_"), "{}", offered(&model));
}
