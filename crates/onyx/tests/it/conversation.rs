use onyx_test_support::{Answer, Script, ScriptedCall, ScriptedModel, Step};
use serde_json::{Value, json};

use crate::{onyx, said, types};

#[tokio::test]
async fn a_message_is_answered_kept_and_remembered() {
    let model = ScriptedModel::with_answers([
        Answer::script(Script::text_pieces(["Hel", "lo."])),
        Answer::text("You said hi."),
    ])
    .await;
    let onyx = onyx(&model).await;
    let first = onyx.chat_stream(&json!({"message": "hi"})).await;
    assert_eq!(types(&first), ["start", "text", "text", "done"]);
    let session = first[0]["session_id"].as_str().unwrap();
    assert_eq!(said(&first), "Hello.");
    let done = &first[3];
    assert_eq!(
        *done,
        json!({
            "type": "done", "session_id": session, "run_id": first[0]["run_id"], "status": "done",
            "usage": done["usage"],
        })
    );
    assert_eq!((&done["usage"]["input"], &done["usage"]["output"]), (&json!(10), &json!(5)));

    let body = json!({"message": "what?", "session_id": session});
    let second = onyx.post("/api/agent/chat", &body).await.expect(200).json();
    assert_eq!(
        (&second["message"], &second["session_id"]),
        (&json!("You said hi."), &json!(session))
    );
    assert_eq!((&second["tools"], &second["drafts"]), (&json!([]), &json!([])));
    let asked = &model.last_request().body["messages"];
    let roles: Vec<&Value> =
        asked.as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles[roles.len() - 3..], ["user", "assistant", "user"]);

    let messages = onyx.history(session).await;
    let brief: Vec<(&str, &str, &str)> = messages
        .iter()
        .map(|message| {
            let text = |name: &str| message[name].as_str().unwrap();
            (text("role"), text("content"), text("status"))
        })
        .collect();
    assert_eq!(
        brief,
        [
            ("user", "hi", "complete"),
            ("assistant", "Hello.", "complete"),
            ("user", "what?", "complete"),
            ("assistant", "You said hi.", "complete"),
        ]
    );
}

#[tokio::test]
async fn tools_show_in_the_stream_and_in_the_history_and_do_their_work() {
    let args = json!({"path": "notes/a.md", "content": "line\n"});
    let model = ScriptedModel::with_answers([
        Script::new([Step::Text("I write.".into())])
            .then(Step::ToolCalls(vec![ScriptedCall::new("c1", "write_file", &args).split(7)]))
            .ended(onyx_test_support::Finish::ToolCalls),
        Script::text("Written."),
    ])
    .await;
    let onyx = onyx(&model).await;
    let events = onyx.chat_stream(&json!({"message": "write it"})).await;
    assert_eq!(types(&events), ["start", "text", "tool_call", "tool_result", "text", "done"]);
    let call = &events[2];
    assert_eq!(
        (&call["id"], &call["tool"], &call["args"]),
        (&json!("c1"), &json!("write_file"), &args)
    );
    assert_eq!(
        (&call["label"]["verb"]["doing"], &call["label"]["subject"]),
        (&json!("Writing"), &json!("notes/a.md"))
    );
    assert_eq!(
        (&events[3]["id"], &events[3]["tool"], &events[3]["ok"]),
        (&json!("c1"), &json!("write_file"), &json!(true))
    );
    let file = onyx.home().join("people/owner/vault/notes/a.md");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "line\n");
    let messages = onyx.history(events[0]["session_id"].as_str().unwrap()).await;
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1]["content"], said(&events));
    assert_eq!(messages[1]["content"], "I write.\n\nWritten.");
    let tool = &messages[1]["tools"][0];
    assert_eq!(
        (&tool["tool"], &tool["ok"], &tool["args"]),
        (&json!("write_file"), &json!(true), &args)
    );
}

#[tokio::test]
async fn a_dry_run_shows_plans_and_does_nothing() {
    let args = json!({"path": "a.md", "content": "x"});
    let model = ScriptedModel::with_answers([
        Script::tool_calls([ScriptedCall::new("c", "write_file", &args)]),
        Script::text("So it would be."),
    ])
    .await;
    let onyx = onyx(&model).await;
    let events = onyx.chat_stream(&json!({"message": "x", "dry_run": true})).await;
    assert_eq!(types(&events), ["start", "tool_call", "tool_result", "text", "done"]);
    assert!(!onyx.home().join("people/owner/vault/a.md").exists());
}

#[tokio::test]
async fn a_cleared_session_is_archived_and_the_fresh_one_can_be_used() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let events = onyx.chat_stream(&json!({"message": "one"})).await;
    let old = events[0]["session_id"].clone();
    let cleared = onyx.post("/api/agent/session/clear", &json!({"session_id": old})).await;
    let fresh = cleared.expect(200).json()["session_id"].clone();
    assert_ne!(old, fresh);
    assert_eq!(onyx.history(fresh.as_str().unwrap()).await, Vec::<Value>::new());
    let events = onyx.chat_stream(&json!({"message": "two", "session_id": fresh})).await;
    assert_eq!(events[0]["session_id"], fresh);
    let listed = async |query: &str| {
        let list = onyx.get(&format!("/v1/sessions{query}")).await.expect(200).json();
        let ids = list["sessions"].as_array().unwrap().iter();
        ids.map(|session| session["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed("?status=active").await, std::slice::from_ref(&fresh));
    assert_eq!(listed("?status=archived").await, std::slice::from_ref(&old));
    assert_eq!(listed("").await, [fresh.clone(), old]);
    let session = onyx.get(&format!("/v1/sessions/{}", fresh.as_str().unwrap())).await.json();
    assert_eq!((&session["title"], &session["message_count"]), (&json!("two"), &json!(2)));
}

#[tokio::test]
async fn a_long_history_comes_in_pages_that_part_no_answer() {
    let args = json!({});
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let mut session = Value::Null;
    for number in 0..4 {
        model.push(Script::tool_calls([ScriptedCall::new(
            format!("c{number}"),
            "list_files",
            &args,
        )]));
        model.push(Script::text(format!("answer {number}")));
        let body = json!({"message": format!("question {number}"), "session_id": session});
        session = onyx.chat_stream(&body).await[0]["session_id"].clone();
    }
    let session = session.as_str().unwrap();
    let whole = onyx.history(session).await;
    assert_eq!(whole.len(), 8);
    let mut pages = Vec::new();
    let mut query = String::new();
    loop {
        let path = format!("/api/agent/session/history?session_id={session}&limit=3{query}");
        let page = onyx.get(&path).await.expect(200).json();
        pages.push(page["messages"].as_array().unwrap().clone());
        match page["before"].as_u64() {
            Some(before) => query = format!("&before={before}"),
            None => break,
        }
    }
    pages.reverse();
    assert!(pages.len() > 2, "{pages:?}");
    assert_eq!(pages.concat(), whole);
}

#[tokio::test]
async fn a_provider_that_fails_is_a_typed_error_and_the_words_are_kept() {
    let model = ScriptedModel::start().await;
    model.set_default(Answer::error(onyx_test_support::ErrorKind::Auth));
    let onyx = onyx(&model).await;
    let events = onyx.chat_stream(&json!({"message": "hi"})).await;
    assert_eq!(types(&events), ["start", "error", "done"]);
    assert_eq!(
        (&events[1]["code"], &events[2]["status"]),
        (&json!("provider_auth"), &json!("error"))
    );
    assert!(!events[1]["hint"].as_str().unwrap().is_empty());
    let session = events[0]["session_id"].as_str().unwrap();
    let messages = onyx.history(session).await;
    assert_eq!((&messages[0]["content"], &messages[1]["status"]), (&json!("hi"), &json!("error")));
    assert_eq!(messages[1]["error"]["code"], "provider_auth");

    let whole =
        onyx.post("/api/agent/chat", &json!({"message": "again", "session_id": session})).await;
    assert_eq!((whole.status, &whole.json()["code"]), (502, &json!("provider_auth")));
    assert_eq!(whole.json()["session_id"], session);
}

/// quality.md allows 8 KB; comparable programs send 18 to 41. The second conversation offers more
/// tools, because there is a first one to reach.
#[tokio::test]
async fn what_is_sent_for_a_hello_stays_small() {
    let model = ScriptedModel::with_answers([Answer::text("Hello."), Answer::text("Hi.")]).await;
    let onyx = onyx(&model).await;
    onyx.chat_stream(&json!({"message": "hello"})).await;
    onyx.chat_stream(&json!({"message": "hello"})).await;
    let sent = model.last_request();
    let tools = sent.body["tools"].as_array().unwrap();
    for name in ["read_file", "sessions_send"] {
        assert!(tools.iter().any(|tool| tool["function"]["name"] == name), "{tools:?}");
    }
    assert!(sent.raw.len() <= 8_000, "{} bytes: {}", sent.raw.len(), sent.body);
}
