use onyx_test_support::AgentClient;
use serde_json::{Value, json};

use super::with_scopes;
use crate::drafts::{draft_of, message, obedient, path, suggesting, vault};
use crate::ws::Client;

const WRITE: (&str, &str, &str) = ("write_file", "note.md", "written");

fn write_a_note() -> Value {
    json!({"message": message(&[(WRITE.0, json!({"path": WRITE.1, "content": WRITE.2}))])})
}

/// Tries every way of approving a draft together with a message.
async fn agree(client: &AgentClient, draft: &str) -> Vec<(&'static str, u16)> {
    let chat = json!({"message": "go on", "confirm": [draft]});
    let action = json!({"action_id": "risky", "confirm": true});
    let mut answered = Vec::new();
    for path in
        ["/api/agent/chat", "/api/agent/chat-stream", "/api/claude/chat", "/api/claude/chat-stream"]
    {
        answered.push((path, client.post(path, &chat).await.status));
        answered.push((path, client.post(path, &action).await.status));
    }
    let run = "/api/agent/actions/risky/run";
    answered.push((run, client.post(run, &json!({"confirm": true})).await.status));
    let approve = format!("{}/approve", path(draft));
    answered.push(("approve", client.post(&approve, &json!({})).await.status));
    let part = json!({"type": "dynamic-tool", "toolName": WRITE.0, "toolCallId": "call_1", "input": {},
        "state": "approval-responded", "approval": {"id": draft, "approved": true}});
    let said = json!({"role": "user", "parts": [{"type": "text", "text": "go on"}]});
    let page = json!({"agent": "main", "id": "chat-1",
        "messages": [said, {"id": "m", "role": "assistant", "parts": [part]}]});
    answered.push(("/api/v1/chat", client.post("/api/v1/chat", &page).await.status));
    answered
}

#[tokio::test]
async fn whoever_may_only_chat_approves_nothing_in_any_way() {
    let model = obedient().await;
    let action = "---\nrequires_confirmation: true\n---\nDo it.";
    let onyx =
        suggesting(&model).file("people/owner/vault/agent/actions/Risky.md", action).start().await;
    let (_, draft) = draft_of(&onyx, write_a_note()).await;
    let asked = model.request_count();
    for scopes in [json!(["chat"]), json!(["read", "chat"]), json!(["chat", "admin"])] {
        let client = with_scopes(&onyx, "owner", scopes.clone()).await;
        for (way, status) in agree(&client, &draft).await {
            assert_eq!(status, 403, "{scopes} {way}");
        }
    }
    let chats = onyx
        .post("/api/admin/tokens", &json!({"name": "chat", "scopes": ["chat", "read"]}))
        .await
        .expect(201)
        .json();
    let mut socket = Client::with_token(&onyx, chats["token"].as_str().unwrap()).await;
    let decide = json!({"draftId": draft, "decision": "approve"});
    let refused = socket.ask("drafts.decide", decide).await;
    assert_eq!(refused["error"]["code"], "forbidden", "{refused}");
    assert_eq!(model.request_count(), asked, "nothing ran");
    assert_eq!(vault(&onyx, WRITE.1), None);
    let state = onyx.get(&path(&draft)).await.expect(200).json()["state"].clone();
    assert_eq!(state, "pending");
    // Rejecting a draft, or ignoring it, needs only the right to chat.
    let chats = AgentClient::new(onyx.base_url(), chats["token"].as_str().unwrap());
    for body in [json!({"message": "hi"}), json!({"message": "hi", "confirm": []})] {
        let _ = chats.post("/api/agent/chat", &body).await.expect(200);
    }
    let unconfirmed = chats.post("/api/agent/actions/risky/run", &json!({})).await;
    assert_eq!(unconfirmed.expect(409).json()["code"], "confirmation_required");
}

#[tokio::test]
async fn whoever_may_chat_and_write_approves_with_a_message() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let (_, draft) = draft_of(&onyx, write_a_note()).await;
    let client = with_scopes(&onyx, "owner", json!(["chat", "write"])).await;
    let body = json!({"message": "go on", "confirm": [draft]});
    let _ = client.post("/api/agent/chat", &body).await.expect(200);
    assert_eq!(vault(&onyx, WRITE.1).as_deref(), Some(WRITE.2));
}
