//! Approving and rejecting, and changes that happened before the decision.

use onyx_test_support::{AgentClient, Reply, wait_for};
use reqwest::Method;
use serde_json::{Value, json};

use super::{draft_of, message, obedient, path, session_of, suggesting, vault, words};
use crate::SOON;

fn write(name: &str, content: &str) -> Value {
    let call = ("write_file", json!({"path": name, "content": content}));
    json!({"message": message(&[call])})
}

fn edit(session: &str, name: &str, old: &str, new: &str) -> Value {
    let call = ("edit_file", json!({"path": name, "old": old, "new": new}));
    json!({"message": message(&[call]), "session_id": session})
}

async fn approve(client: &AgentClient, draft: &str, body: &Value) -> Reply {
    client.post(&format!("{}/approve", path(draft)), body).await
}

#[tokio::test]
async fn what_an_agent_suggests_happens_when_a_person_approves_it_and_once() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let (events, draft) = draft_of(&onyx, write("a.md", "hello\n")).await;
    assert_eq!(vault(&onyx, "a.md"), None);
    let told = events.iter().find(|event| event["type"] == "draft").unwrap();
    let preview = json!({
        "kind": "diff", "path": "a.md",
        "unified": "--- a.md\n+++ a.md\n@@ -0,0 +1 @@\n+hello\n",
        "diff_lines": [
            {"kind": "file", "text": "--- a.md"},
            {"kind": "file", "text": "+++ a.md"},
            {"kind": "hunk", "text": "@@ -0,0 +1 @@"},
            {"kind": "added", "text": "hello"},
        ],
    });
    assert_eq!(told["preview"], preview);
    let row = onyx.get(&path(&draft)).await.expect(200).json();
    assert_eq!(
        (&row["state"], &row["tool"], &row["summary"], &row["preview"]),
        (&json!("pending"), &json!("write_file"), &json!("Create a.md +1 −0"), &preview)
    );
    let list = onyx.get("/api/pending-changes?state=pending").await.expect(200).json();
    assert_eq!(list["drafts"], json!([row]));
    let done = approve(onyx.client(), &draft, &json!({})).await.expect(200).json();
    assert_eq!((&done["state"], &done["decided_by"]), (&json!("applied"), &json!("owner")));
    assert_eq!(vault(&onyx, "a.md").as_deref(), Some("hello\n"));
    let again = approve(onyx.client(), &draft, &json!({})).await.expect(409).json();
    assert_eq!(again["code"], "draft_decided");
    let late = onyx.post(&format!("{}/reject", path(&draft)), &json!({})).await.expect(409).json();
    assert_eq!(late["code"], "draft_decided");
    let audit = onyx.get("/api/admin/audit").await.expect(200).json();
    let results: Vec<&str> = audit["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["result"].as_str().unwrap())
        .collect();
    assert_eq!(
        results,
        [
            format!("draft {draft}: applied: wrote a.md (6 bytes)"),
            format!("draft {draft}: approved, started"),
            format!("draft {draft}"),
        ]
    );
    let chains = onyx.get("/api/admin/audit/verify").await.expect(200).json();
    assert_eq!(chains["chains"][0], json!({"person": "owner", "whole": true, "rows": 3}));
}

#[tokio::test]
async fn a_decision_reaches_the_agent_with_its_sessions_next_message_and_starts_no_run() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let (events, draft) = draft_of(&onyx, write("a.md", "hello\n")).await;
    let asked = model.request_count();
    let body = json!({"reason": "not like this"});
    let row = onyx.post(&format!("{}/reject", path(&draft)), &body).await.expect(200).json();
    assert_eq!((&row["state"], &row["reason"]), (&json!("rejected"), &json!("not like this")));
    assert_eq!((vault(&onyx, "a.md"), model.request_count()), (None, asked));
    let session = session_of(&events);
    for _ in 0..2 {
        onyx.chat_stream(&json!({"message": "and now?", "session_id": session})).await;
    }
    let turns = onyx.get(&format!("/v1/sessions/{session}/turns")).await.expect(200).json();
    let turns = turns["turns"].as_array().unwrap();
    let decisions: Vec<&Value> = turns.iter().filter(|turn| turn["type"] == "decision").collect();
    assert_eq!(decisions.len(), 1, "{decisions:#?}");
    assert_eq!(
        (&decisions[0]["draft_id"], &decisions[0]["state"], &decisions[0]["reason"]),
        (&json!(draft), &json!("rejected"), &json!("not like this"))
    );
    let request = model.last_request();
    let messages = request.body["messages"].as_array().unwrap();
    let told = format!("[The person decided on draft {draft}: rejected. They say: not like this]");
    let heard = messages.iter().filter(|message| words(&message["content"]).contains(&told));
    assert_eq!(heard.count(), 1, "{messages:#?}");
}

#[tokio::test]
async fn a_changed_byte_of_the_target_makes_a_draft_stale_and_shows_it_afresh() {
    let model = obedient().await;
    let onyx = suggesting(&model).file("people/owner/vault/a.md", "one\ntwo\n").start().await;
    let call = ("edit_file", json!({"path": "a.md", "old": "one", "new": "1"}));
    let (_, draft) = draft_of(&onyx, json!({"message": message(&[call])})).await;
    let file = onyx.home().join("people/owner/vault/a.md");
    std::fs::write(&file, "one\ntwO\n").unwrap();
    let stale = approve(onyx.client(), &draft, &json!({})).await.expect(409).json();
    assert_eq!(stale["code"], "draft_stale");
    let fresh = "--- a.md\n+++ a.md\n@@ -1,2 +1,2 @@\n-one\n+1\n twO\n";
    assert_eq!(stale["preview"]["unified"], fresh);
    assert_eq!(stale["draft"]["state"], "stale");
    assert_eq!(vault(&onyx, "a.md").as_deref(), Some("one\ntwO\n"));
    // A draft that changed cannot be approved unseen: neither by approving again nor with an old
    // hash.
    let unseen = approve(onyx.client(), &draft, &json!({})).await.expect(409).json();
    assert_eq!(unseen["code"], "draft_stale");
    let hash = &stale["draft"]["plan_hash"];
    std::fs::write(&file, "one\ntw0\n").unwrap();
    let later =
        approve(onyx.client(), &draft, &json!({"plan_hash": hash})).await.expect(409).json();
    assert_eq!(later["code"], "draft_stale");
    let hash = &later["draft"]["plan_hash"];
    let done = approve(onyx.client(), &draft, &json!({"plan_hash": hash})).await.expect(200).json();
    assert_eq!(done["state"], "applied");
    assert_eq!(vault(&onyx, "a.md").as_deref(), Some("1\ntw0\n"));
}

#[tokio::test]
async fn a_changed_byte_of_the_payload_is_refused() {
    let model = obedient().await;
    let mut onyx = suggesting(&model).start().await;
    let (_, draft) = draft_of(&onyx, write("a.md", "harmless-payload\n")).await;
    onyx.terminate().await;
    let database = onyx.home().join("onyx.db");
    let mut bytes = std::fs::read(&database).unwrap();
    let places: Vec<usize> = bytes
        .windows(16)
        .enumerate()
        .filter(|(_, window)| *window == b"harmless-payload")
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] = b'H';
    }
    std::fs::write(&database, bytes).unwrap();
    onyx.restart().await;
    let refused = approve(onyx.client(), &draft, &json!({})).await.expect(409).json();
    assert_eq!(refused["code"], "draft_stale");
    assert_eq!(vault(&onyx, "a.md"), None);
}

#[tokio::test]
async fn of_many_approvals_at_once_one_applies() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let (_, draft) = draft_of(&onyx, write("a.md", "hello\n")).await;
    let tries = (0..8).map(|_| {
        let (client, draft) = (onyx.client().clone(), draft.clone());
        tokio::spawn(async move { approve(&client, &draft, &json!({})).await.status })
    });
    let tries: Vec<_> = tries.collect();
    let mut statuses = Vec::new();
    for attempt in tries {
        statuses.push(attempt.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
    let audit = onyx.get("/api/admin/audit").await.expect(200).json();
    let rows = audit["rows"].as_array().unwrap();
    let approved = rows.iter().filter(|row| row["result"].as_str().unwrap().contains("approved"));
    assert_eq!(approved.count(), 1);
}

#[tokio::test]
async fn a_draft_that_has_run_out_is_gone() {
    let model = obedient().await;
    let onyx = suggesting(&model).merge(json!({"limits": {"draft_days": 0}})).start().await;
    let (_, draft) = draft_of(&onyx, write("a.md", "hello\n")).await;
    let late = approve(onyx.client(), &draft, &json!({})).await.expect(410).json();
    assert_eq!(
        (&late["code"], &late["draft"]["state"]),
        (&json!("draft_expired"), &json!("expired"))
    );
    let reject = onyx.post(&format!("{}/reject", path(&draft)), &json!({})).await;
    assert_eq!(reject.expect(410).json()["code"], "draft_expired");
    assert_eq!(vault(&onyx, "a.md"), None);
}

#[tokio::test]
async fn later_edits_build_on_what_is_drafted_and_are_decided_as_one() {
    let model = obedient().await;
    let onyx = suggesting(&model).file("people/owner/vault/a.md", "one\ntwo\n").start().await;
    let call = ("edit_file", json!({"path": "a.md", "old": "one", "new": "1"}));
    let (events, first) = draft_of(&onyx, json!({"message": message(&[call])})).await;
    let session = session_of(&events);
    let (_, second) = draft_of(&onyx, edit(&session, "a.md", "1\ntwo", "1\n2")).await;
    let old = onyx.get(&path(&first)).await.expect(200).json();
    assert_eq!((&old["state"], &old["superseded_by"]), (&json!("superseded"), &json!(second)));
    let new = onyx.get(&path(&second)).await.expect(200).json();
    let whole = "--- a.md\n+++ a.md\n@@ -1,2 +1,2 @@\n-one\n-two\n+1\n+2\n";
    assert_eq!(new["preview"]["unified"], whole);
    let gone = approve(onyx.client(), &first, &json!({})).await.expect(409).json();
    assert_eq!(gone["code"], "draft_decided");

    let read = ("read_file", json!({"path": "a.md"}));
    let body = json!({"message": message(std::slice::from_ref(&read)), "session_id": session});
    onyx.chat_stream(&body).await;
    let seen = tool_output(&model.last_request().body);
    assert!(seen.starts_with(&format!("[as draft {second} would leave it")), "{seen}");
    assert!(seen.contains("1\n2"), "{seen}");
    // Another session sees the file on disk.
    onyx.chat_stream(&json!({"message": message(&[read])})).await;
    let seen = tool_output(&model.last_request().body);
    assert!(seen.contains("one\ntwo") && !seen.contains("draft"), "{seen}");

    let done = approve(onyx.client(), &second, &json!({})).await.expect(200).json();
    assert_eq!(done["state"], "applied");
    assert_eq!(vault(&onyx, "a.md").as_deref(), Some("1\n2\n"));
    let run = done["run_id"].as_str().unwrap();
    let undone = onyx.post(&format!("/api/runs/{run}/undo"), &json!({})).await.expect(200).json();
    assert_eq!(undone["restored"], json!(["vault/a.md"]));
    assert_eq!(vault(&onyx, "a.md").as_deref(), Some("one\ntwo\n"));
}

fn tool_output(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let last = messages.iter().rfind(|message| message["role"] == "tool").unwrap();
    words(&last["content"])
}

#[tokio::test]
async fn drafts_of_others_are_not_there() {
    let model = obedient().await;
    let onyx = suggesting(&model).merge(json!({"people": ["anna"]})).start().await;
    let made = json!({"name": "anna's", "people": ["anna"]});
    let token = onyx.post("/api/admin/tokens", &made).await.expect(201).json();
    let anna = AgentClient::new(onyx.client().base_url(), token["token"].as_str().unwrap());
    let (events, draft) = draft_of(&onyx, write("a.md", "hello\n")).await;
    let _ = anna.get(&path(&draft)).await.expect(404);
    let _ = approve(&anna, &draft, &json!({})).await.expect(404);
    let _ = anna.post(&format!("{}/reject", path(&draft)), &json!({})).await.expect(404);
    let list = anna.get("/api/pending-changes").await.expect(200).json();
    assert_eq!(list, json!({"drafts": []}));
    let list = format!("/api/pending-changes?session={}", session_of(&events));
    assert_eq!(anna.get(&list).await.expect(200).json(), json!({"drafts": []}));
    assert_eq!(onyx.get(&path(&draft)).await.expect(200).json()["state"], "pending");
    assert_eq!(vault(&onyx, "a.md"), None);
}

#[tokio::test]
async fn bad_decisions_are_told_by_their_field_and_change_nothing() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let (_, draft) = draft_of(&onyx, write("a.md", "hello\n")).await;
    for (body, field) in [
        (json!({"scope": "always"}), "scope"),
        (json!({"scope": "run"}), "scope"),
        (json!({"plan_hash": "12"}), "plan_hash"),
        (json!({"reason": 3}), "reason"),
        (json!({"reason": "x".repeat(20_000)}), "reason"),
    ] {
        let problem = approve(onyx.client(), &draft, &body).await.expect(400).json();
        assert!(problem["detail"].as_str().unwrap().starts_with(field), "{problem}");
    }
    let other = "0".repeat(64);
    let wrong = approve(onyx.client(), &draft, &json!({"plan_hash": other})).await.expect(409);
    assert_eq!(wrong.json()["code"], "draft_stale");
    let _ = onyx.get("/api/pending-changes/nothing").await.expect(400);
    let unknown = "01890000-0000-7000-8000-000000000000";
    let _ = approve(onyx.client(), unknown, &json!({})).await.expect(404);
    assert_eq!(vault(&onyx, "a.md"), None);
}

#[tokio::test]
async fn the_feed_tells_every_change_of_a_draft() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let request = onyx.request(Method::GET, "/api/pending-changes/events");
    let mut feed = request.send().await.unwrap();
    assert_eq!(feed.status(), 200);
    let (_, draft) = draft_of(&onyx, write("a.md", "hello\n")).await;
    let _ = approve(onyx.client(), &draft, &json!({})).await.expect(200);
    let mut text = String::new();
    let states = wait_for("the feed to tell of the draft", SOON, async || {
        let chunk = feed.chunk().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        let frames: Vec<Value> = text
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .filter_map(|data| serde_json::from_str(data.trim()).ok())
            .collect();
        let applied = frames.iter().any(|frame| frame["state"] == "applied");
        applied.then(|| frames.iter().map(|frame| frame["id"].clone()).collect::<Vec<_>>())
    })
    .await;
    assert!(states.iter().all(|id| *id == draft.as_str()), "{text}");
}

#[tokio::test]
async fn drafts_named_in_a_message_are_approved_before_its_run() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let (events, draft) = draft_of(&onyx, write("a.md", "hello\n")).await;
    let session = session_of(&events);
    let body = json!({"message": "go on", "session_id": session, "confirm": [draft]});
    onyx.chat_stream(&body).await;
    assert_eq!(vault(&onyx, "a.md").as_deref(), Some("hello\n"));
    let heard = model.last_request().body["messages"].to_string();
    assert!(heard.contains(&format!("decided on draft {draft}: applied")), "{heard}");
    let again = onyx.post("/api/agent/chat-stream", &body).await.expect(409).json();
    assert_eq!(again["code"], "draft_decided");
}

#[tokio::test]
async fn what_cannot_be_shown_whole_is_not_drafted() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let events = onyx.chat_stream(&write("a.md", &"long\n".repeat(80_000))).await;
    assert!(events.iter().all(|event| event["type"] != "draft"));
    let result = events.iter().find(|event| event["type"] == "tool_result").unwrap();
    assert_eq!(result["ok"], false);
    assert!(result["summary"].as_str().unwrap().contains("a person must see all"), "{result}");
    let list = onyx.get("/api/pending-changes").await.expect(200).json();
    assert_eq!(list, json!({"drafts": []}));
}

#[tokio::test]
async fn a_dry_run_shows_what_it_would_draft_and_drafts_nothing() {
    let model = obedient().await;
    let onyx = suggesting(&model).start().await;
    let mut body = write("a.md", "hello\n");
    body["dry_run"] = true.into();
    let events = onyx.chat_stream(&body).await;
    let result = events.iter().find(|event| event["type"] == "tool_result").unwrap();
    assert_eq!(result["summary"], "Dry run: Create a.md +1 −0");
    assert_eq!(onyx.get("/api/pending-changes").await.expect(200).json(), json!({"drafts": []}));
}
