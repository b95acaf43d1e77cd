//! One recorded conversation for each wire format over HTTP: companion, thread, persona, agent page
//! and AI SDK. Clients rely on these formats.

use onyx_test_support::{
    Answer, ErrorKind, Finish, OnyxProcess, Script, ScriptedCall, ScriptedModel, Step,
};
use onyx_types::TurnId;
use serde_json::{Value, json};

use super::companion::{companion, post};
use super::threads::{say, thread};
use super::{Follow, Told, call, house};

/// Replaces ids by numbers in the order of their first use, and times by a word, so that equal ids
/// can still be recognised.
fn masked(text: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let id = [36, 32].into_iter().filter_map(|length| rest.get(..length)).find(is_id);
        if let Some(id) = id {
            let at = known.iter().position(|other| other == id).unwrap_or_else(|| {
                known.push(id.to_owned());
                known.len() - 1
            });
            out.push_str(&format!("ID{}", at + 1));
            rest = &rest[id.len()..];
        } else if rest.get(..24).is_some_and(is_time) {
            out.push_str("TIME");
            rest = &rest[24..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// Whether the text is an id, with or without dashes.
fn is_id(text: &&str) -> bool {
    match text.len() {
        32 => text.chars().all(|letter| letter.is_ascii_hexdigit()),
        _ => text.parse::<TurnId>().is_ok(),
    }
}

/// Whether the text is a time such as `2026-01-01T00:00:00.000Z`.
fn is_time(text: &str) -> bool {
    let shape = text.replace(|letter: char| letter.is_ascii_digit(), "0");
    shape == "0000-00-00T00:00:00.000Z"
}

fn frames(told: &[Told]) -> String {
    let frame = |Told { id, event, data }: &Told| format!("id: {id}\nevent: {event}\n{data:#}\n\n");
    masked(&told.iter().map(frame).collect::<String>())
}

async fn whole(onyx: &OnyxProcess, path: &str, body: &Value) -> String {
    masked(&onyx.post(path, body).await.expect(200).text())
}

#[tokio::test]
async fn every_wire_is_as_it_was_recorded() {
    let (model, onyx) = house().await;
    let vault = onyx.home().join("people/owner/vault");
    std::fs::create_dir_all(&vault).unwrap();
    std::fs::write(vault.join("old.md"), "Dear diary\n").unwrap();
    insta::assert_snapshot!("companion_stream", companion_stream(&model, &onyx).await);
    insta::assert_snapshot!("thread_events", thread_events(&model, &onyx).await);

    model.push(
        Script::new([Step::Text("I ".into()), Step::Text("look.".into())])
            .then(Step::ToolCalls(vec![
                ScriptedCall::new("c1", "update_persona_name", &json!({"name": "Ranger"})),
                ScriptedCall::new("c2", "get_test_input", &json!({"id": "none"})),
            ]))
            .ended(Finish::ToolCalls),
    );
    model.push(Answer::text("It is called Ranger now."));
    let body = json!({"personaId": "scout", "message": "Call it Ranger"});
    let told = whole(&onyx, "/api/persona-agent/chat", &body).await;
    insta::assert_snapshot!("persona_stream", told);

    let note = json!({"path": "note.md", "content": "line\n"});
    model.push(
        Script::new([Step::Text("I write.".into())])
            .then(Step::ToolCalls(vec![
                ScriptedCall::new("c1", "list_files", &json!({})),
                ScriptedCall::new("c2", "write_file", &note),
            ]))
            .ended(Finish::ToolCalls),
    );
    model.push(Answer::error(ErrorKind::Auth));
    let body = json!({"agent": "scout", "message": "Write a note"});
    let told = whole(&onyx, "/api/agent/chat-stream", &body).await;
    insta::assert_snapshot!("ndjson_lines", told);

    model.push(
        Script::new([Step::Reasoning("Hm.".into()), Step::Text("Two ".into())])
            .then(Step::Text("masts.".into()))
            .ended(Finish::Stop),
    );
    let words = json!([{"type": "text", "text": "How many masts?"}]);
    let body = json!({"id": "chat", "trigger": "submit-message", "messageId": "m1",
        "messages": [{"id": "m1", "role": "user", "parts": words}]});
    insta::assert_snapshot!("ui_message_stream", whole(&onyx, "/api/v1/chat", &body).await);
}

/// A stream with tools that work and fail, a draft, a question with an answer, and pieces of text.
async fn companion_stream(model: &ScriptedModel, onyx: &OnyxProcess) -> String {
    let page = json!({"title": "Soup", "body": "Leek"});
    let _ = onyx.post("/api/spaces/home/pages", &page).await.expect(201);
    let at = companion(onyx).await;
    let message = post(onyx, &at, "Plan the shopping").await;
    model.push(Answer::tool_calls([
        ScriptedCall::new("c1", "read", &json!({"type": "page", "id": "soup"})),
        ScriptedCall::new("c2", "read", &json!({"type": "page", "id": "none"})),
    ]));
    let task = json!({"op": "create", "type": "task", "title": "Buy leek", "body": "Two."});
    model.push(call("propose_change", &task));
    model.push(call("delete_file", &json!({"path": "old.md"})));
    model.push(Script::text_pieces(["I drafted ", "a task."]));
    let path = format!("{at}/stream?messageId={message}");
    let mut stream = Follow::begin(onyx, &path, None).await;
    let mut told = stream.until("confirm").await;
    let draft = told.last().unwrap().data["pending_change_id"].as_str().unwrap().to_owned();
    let reject = format!("/api/pending-changes/{draft}/reject");
    let _ = onyx.post(&reject, &json!({"reason": "keep it"})).await.expect(200);
    told.extend(stream.until("done").await);
    assert!(stream.next().await.is_none());
    frames(&told)
}

/// An answer and a failing one. The text comes in one piece, because how pieces are joined depends
/// on time.
async fn thread_events(model: &ScriptedModel, onyx: &OnyxProcess) -> String {
    let thread = thread(onyx, &["scout"]).await;
    let mut events = Follow::begin(onyx, &format!("{thread}/events"), None).await;
    model.push(Answer::text("Two masts."));
    say(onyx, &thread, "How many masts?").await;
    let mut told = events.until("chat:complete").await;
    model.push(Answer::error(ErrorKind::Auth));
    say(onyx, &thread, "And sails?").await;
    told.extend(events.until("chat:error").await);
    // The number of a chunk in its run depends on time too.
    for told in &mut told {
        told.id = told.id.split_once(':').map_or_else(String::new, |(run, _)| format!("{run}:N"));
    }
    frames(&told)
}
