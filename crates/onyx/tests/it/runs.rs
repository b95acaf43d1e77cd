//! Rejoining, stopping and undoing runs, and changing sessions, through the real server.

use onyx_test_support::{Answer, OnyxProcess, Script, ScriptedCall, ScriptedModel, Step};
use reqwest::Method;
use serde_json::{Value, json};

/// Reads `data:` lines of a stream of events, as JSON with their ids.
async fn read_events(
    onyx: &OnyxProcess,
    path: &str,
    last: Option<&str>,
    most: usize,
) -> Vec<(String, Value)> {
    let mut request = onyx.request(Method::GET, path);
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let mut answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let (mut text, mut events) = (String::new(), Vec::new());
    while events.len() < most {
        let Some(bytes) = answer.chunk().await.unwrap() else { break };
        text.push_str(std::str::from_utf8(&bytes).unwrap());
        while let Some(end) = text.find("\n\n") {
            let frame: String = text.drain(..end + 2).collect();
            let field =
                |name: &str| frame.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
            if let (Some(id), Some(data)) = (field("id:"), field("data:")) {
                events.push((id.to_owned(), serde_json::from_str(data).unwrap()));
            }
        }
    }
    events.truncate(most);
    events
}

#[tokio::test]
async fn a_client_that_comes_back_twenty_times_sees_every_byte_once() {
    let pieces: Vec<String> = (0..80).map(|n| format!("piece {n}, ")).collect();
    let model = ScriptedModel::with_answers([
        Answer::script(Script::text_pieces(pieces.clone())).delay_ms(20)
    ])
    .await;
    let onyx = crate::onyx(&model).await;
    let mut lines = onyx.chat_lines(&json!({"message": "count"})).await;
    let run = lines.until("start").await["run_id"].as_str().unwrap().to_owned();
    let path = format!("/api/runs/{run}/events");
    let (mut text, mut last, mut expected_seq) = (String::new(), None::<String>, 1);
    for round in 0.. {
        assert!(round < 200, "the run never ended");
        let most = if round < 20 { 4 } else { 1_000 };
        for (id, event) in read_events(&onyx, &path, last.as_deref(), most).await {
            assert_eq!(event["seq"], expected_seq);
            assert_eq!(id, format!("{run}:{expected_seq}"));
            expected_seq += 1;
            if event["type"] == "text_delta" {
                text.push_str(event["text"].as_str().unwrap());
            }
            last = Some(id);
            if event["type"] == "done" {
                assert!(round >= 20, "it ended before it was left twenty times");
                assert_eq!(text, pieces.concat());
                assert_eq!(lines.rest().await.last().unwrap()["type"], "done");
                return;
            }
        }
    }
}

#[tokio::test]
async fn a_run_is_stopped_by_its_id_and_foreign_ids_are_not_found() {
    let model = ScriptedModel::with_answers([Answer::script(Script::new([
        Step::Text("on and".to_owned()),
        Step::Hang,
    ]))])
    .await;
    let onyx = crate::onyx(&model).await;
    let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
    let run = lines.until("start").await["run_id"].as_str().unwrap().to_owned();
    lines.until("text").await;
    let stopped = onyx.post(&format!("/api/runs/{run}/cancel"), &json!({})).await.expect(200);
    assert_eq!(stopped.json(), json!({"stopped": true}));
    assert_eq!(lines.rest().await.last().unwrap()["status"], "cancelled");
    let unknown = "0197f3a0-0000-7000-8000-000000000001";
    let reply = onyx.get(&format!("/api/runs/{unknown}/events")).await.expect(404);
    assert_eq!(reply.json()["code"], "not_found");
    assert_eq!(onyx.get("/api/runs/nonsense/events").await.status, 400);
    let undo = onyx.post(&format!("/api/runs/{unknown}/undo"), &json!({})).await;
    assert_eq!(undo.status, 404);
}

#[tokio::test]
async fn what_a_run_wrote_is_undone_over_http() {
    let arguments = json!({"path": "note.md", "content": "theirs"});
    let model = ScriptedModel::with_answers([
        Answer::tool_calls([ScriptedCall::new("a", "write_file", &arguments)]),
        Answer::text("done"),
    ])
    .await;
    let onyx = crate::onyx(&model).await;
    let note = onyx.home().join("people/owner/vault/note.md");
    std::fs::create_dir_all(note.parent().unwrap()).unwrap();
    std::fs::write(&note, "mine").unwrap();
    let told = onyx.chat_stream(&json!({"message": "edit"})).await;
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "theirs");
    let run = told[0]["run_id"].as_str().unwrap();
    let reply = onyx.post(&format!("/api/runs/{run}/undo"), &json!({})).await.expect(200);
    assert_eq!(reply.json(), json!({"restored": ["vault/note.md"]}));
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "mine");
}

#[tokio::test]
async fn what_was_undone_is_done_again_and_what_somebody_changed_meanwhile_is_left() {
    let arguments = json!({"path": "note.md", "content": "theirs"});
    let fresh = json!({"path": "new.md", "content": "made"});
    let model = ScriptedModel::with_answers([
        Answer::tool_calls([
            ScriptedCall::new("a", "write_file", &arguments),
            ScriptedCall::new("b", "write_file", &fresh),
        ]),
        Answer::text("done"),
    ])
    .await;
    let onyx = crate::onyx(&model).await;
    let vault = onyx.home().join("people/owner/vault");
    std::fs::create_dir_all(&vault).unwrap();
    std::fs::write(vault.join("note.md"), "mine").unwrap();
    let told = onyx.chat_stream(&json!({"message": "edit"})).await;
    let run = told[0]["run_id"].as_str().unwrap();
    let both = json!(["vault/new.md", "vault/note.md"]);
    let read = |name: &str| std::fs::read_to_string(vault.join(name)).ok();
    let changes = async || onyx.get(&format!("/api/runs/{run}/changes")).await.expect(200).json();
    let post = async |what: &str| onyx.post(&format!("/api/runs/{run}/{what}"), &json!({})).await;

    assert_eq!(changes().await, json!({"paths": both, "undone": false}));
    assert_eq!(post("undo").await.status, 200);
    assert_eq!(changes().await, json!({"paths": both, "undone": true}));
    assert_eq!(post("redo").await.expect(200).json(), json!({"restored": both}));
    assert_eq!((read("note.md"), read("new.md")), (Some("theirs".into()), Some("made".into())));
    assert_eq!(changes().await["undone"], json!(false));

    assert_eq!(post("undo").await.status, 200);
    std::fs::write(vault.join("note.md"), "mine, later").unwrap();
    let conflict = post("redo").await.expect(412).json();
    assert_eq!(conflict["code"], "version_conflict");
    assert_eq!((read("note.md"), read("new.md")), (Some("mine, later".into()), None));
}

#[tokio::test]
async fn a_pinned_conversation_is_listed_by_that_with_its_forks() {
    let model = ScriptedModel::start().await;
    model.set_default(Answer::text("ok"));
    let onyx = crate::onyx(&model).await;
    let told = onyx.chat_stream(&json!({"message": "kept"})).await;
    let session = told[0]["session_id"].as_str().unwrap();
    onyx.chat_stream(&json!({"message": "passing"})).await;
    let pin = async |pinned: bool| {
        let path = format!("/v1/sessions/{session}");
        let patch = onyx.request(Method::PATCH, &path).json(&json!({"pinned": pinned}));
        patch.send().await.unwrap().json::<Value>().await.unwrap()["pinned"].clone()
    };
    let pinned = async || {
        let list = onyx.get("/v1/sessions?pinned=true").await.expect(200).json();
        let ids = list["sessions"].as_array().unwrap().iter().map(|one| one["id"].clone());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(pin(true).await, json!(true));
    assert_eq!(pinned().await, [json!(session)]);
    let turns = onyx.get(&format!("/v1/sessions/{session}/turns")).await.expect(200).json();
    let last = turns["turns"].as_array().unwrap().last().unwrap()["id"].clone();
    let fork = onyx.post(&format!("/v1/sessions/{session}/fork"), &json!({"turn_id": last})).await;
    let fork = fork.expect(201).json();
    assert_eq!(fork["pinned"], json!(true));
    assert_eq!(pinned().await, [fork["id"].clone()]);
    assert_eq!(pin(false).await, json!(false));
    assert_eq!(pinned().await, Vec::<Value>::new());
}

#[tokio::test]
async fn sessions_are_renamed_archived_forked_and_removed() {
    let model = ScriptedModel::start().await;
    model.set_default(Answer::text("ok"));
    let onyx = crate::onyx(&model).await;
    let told = onyx.chat_stream(&json!({"message": "first"})).await;
    let session = told[0]["session_id"].as_str().unwrap();
    onyx.chat_stream(&json!({"message": "second", "session_id": session})).await;
    let path = format!("/v1/sessions/{session}");

    let patch = json!({"title": "Boats", "status": "archived"});
    let patched = onyx.request(Method::PATCH, &path).json(&patch).send().await.unwrap();
    assert_eq!(patched.status(), 200);
    let shown = onyx.get(&path).await.expect(200).json();
    assert_eq!((&shown["title"], &shown["status"]), (&json!("Boats"), &json!("archived")));
    let found = onyx.get("/v1/sessions?q=boats&status=archived").await.expect(200).json();
    assert_eq!(found["sessions"].as_array().unwrap().len(), 1);

    let turns = onyx.get(&format!("{path}/turns")).await.expect(200).json();
    let first_user =
        turns["turns"].as_array().unwrap().iter().find(|t| t["type"] == "user").unwrap();
    let body = json!({"turn_id": first_user["id"]});
    let fork = onyx.post(&format!("{path}/fork"), &body).await.expect(201).json();
    assert_eq!((&fork["root"], &fork["fork_turn"]), (&json!(session), &first_user["id"]));
    let copied = onyx.history(fork["id"].as_str().unwrap()).await;
    assert_eq!(copied.len(), 1);

    let gone = onyx.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(gone.status(), 204);
    assert_eq!(onyx.get(&path).await.status, 404);
    let log = onyx.home().join(format!("people/owner/sessions/main/{session}.jsonl"));
    assert!(!log.exists());
}
