//! The companion of a space: what is stored, run and sent, and what happens after faults, as the
//! first seed describes it.

use onyx_test_support::{
    Answer, ErrorKind, Fault, Finish, OnyxProcess, Script, ScriptedCall, Step, wait_for,
};
use serde_json::{Value, json};

use super::{Follow, Told, call, house, read_stream, stream};
use crate::SOON;

pub(super) async fn companion(onyx: &OnyxProcess) -> String {
    let view = onyx.get("/api/spaces/home/companion").await.expect(200).json();
    format!("/api/conversations/{}", view["conversation_id"].as_str().unwrap())
}

pub(super) async fn post(onyx: &OnyxProcess, at: &str, content: &str) -> String {
    let posted = onyx.post(&format!("{at}/messages"), &json!({"content": content})).await;
    posted.expect(201).json()["message_id"].as_str().unwrap().to_owned()
}

async fn messages(onyx: &OnyxProcess, at: &str) -> Vec<Value> {
    let page = onyx.get(&format!("{at}/messages")).await.expect(200).json();
    page["messages"].as_array().unwrap().clone()
}

async fn run(onyx: &OnyxProcess, at: &str, message: &str) -> Vec<Told> {
    stream(onyx, &format!("{at}/stream?messageId={message}"), None).await
}

fn names(told: &[Told]) -> Vec<&str> {
    told.iter().map(|told| told.event.as_str()).collect()
}

fn text(told: &[Told]) -> String {
    let deltas = told.iter().filter(|told| told.event == "delta");
    deltas.map(|told| told.data["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_message_is_kept_run_told_and_remembered_with_its_draft() {
    let (model, onyx) = house().await;
    let _ = onyx
        .post("/api/spaces/home/pages", &json!({"title": "Soup", "body": "Leek"}))
        .await
        .expect(201);
    let at = companion(&onyx).await;
    let message = post(&onyx, &at, "Plan the shopping").await;
    // The message is on disk before anybody runs it.
    assert_eq!(messages(&onyx, &at).await[0]["content"], "Plan the shopping");
    assert_eq!(model.request_count(), 0);
    model.push(call("read", &json!({"type": "page", "id": "soup"})));
    let task = json!({"op": "create", "type": "task", "title": "Buy leek", "body": "Two."});
    model.push(call("propose_change", &task));
    model.push(Answer::text("I drafted a task."));
    let told = run(&onyx, &at, &message).await;
    assert_eq!(
        names(&told),
        ["tool", "tool", "tool", "tool", "draft", "delta", "done"],
        "{told:?}"
    );
    let chip = &told[0].data;
    assert_eq!((&chip["tool"], &chip["status"]), (&json!("read"), &json!("running")));
    assert!(chip["args_summary"].as_str().is_some_and(|line| !line.is_empty()), "{chip}");
    assert_eq!(told[1].data["status"], "ok");

    let said = messages(&onyx, &at).await;
    let [asked, answer] = said.as_slice() else { panic!("no rows for tools: {said:?}") };
    assert_eq!((&asked["role"], &asked["id"]), (&json!("user"), &json!(message)));
    assert_eq!(
        (&answer["role"], &answer["content"]),
        (&json!("assistant"), &json!("I drafted a task."))
    );
    assert_eq!(told.last().unwrap().data["assistant_message_id"], answer["id"]);
    let metadata = &answer["metadata"];
    let draft = &told[4].data["pending_change_id"];
    assert_eq!(metadata["draft_ids"], json!([draft]));
    assert_eq!(
        (&metadata["model"], &metadata["tools"][0]["status"]),
        (&json!("mine/some-model"), &json!("ok"))
    );
    assert_eq!(metadata["usage"], told.last().unwrap().data["usage"]);

    // Nothing was written. The same draft is in the Inbox, and approving it there writes the task.
    assert_eq!(onyx.get("/api/spaces/home/tasks").await.json(), json!({"entities": []}));
    let row = format!("/api/pending-changes/{}", draft.as_str().unwrap());
    let waiting = onyx.get(&row).await.expect(200).json();
    assert_eq!(waiting["state"], "pending");
    let document = json!({
        "kind": "task", "is_new": true, "title": "Buy leek",
        "fields": [],
        "body": [{"kind": "added", "text": "Two."}],
    });
    assert_eq!(waiting["preview"]["document"], document);
    let _ = onyx.post(&format!("{row}/approve"), &json!({})).await.expect(200);
    let tasks = onyx.get("/api/spaces/home/tasks").await.expect(200).json();
    assert_eq!(tasks["entities"][0]["title"], "Buy leek");
}

#[tokio::test]
async fn a_space_has_one_companion_with_its_default_agent() {
    let (model, onyx) = house().await;
    let (one, other) = tokio::join!(companion(&onyx), companion(&onyx));
    assert_eq!(one, other);
    let view = onyx.get("/api/spaces/home/companion").await.json();
    assert_eq!(view["agent"], "main");
    let _ = super::patch(&onyx, "/api/spaces/home", &json!({"default_agent": "scout"}))
        .await
        .expect(200);
    let view = onyx.get("/api/spaces/home/companion").await.json();
    assert_eq!((&view["agent"], &view["agent_name"]), (&json!("scout"), &json!("Scout")));
    let message = post(&onyx, &one, "hi").await;
    run(&onyx, &one, &message).await;
    assert_eq!(messages(&onyx, &one).await[1]["author"], "scout");
    let prompt = model.last_request().body.to_string();
    assert!(prompt.contains("Space: Home"), "{prompt}");
    let _ = onyx.get("/api/spaces/none/companion").await.expect(404);
    let chat = onyx.chat_stream(&json!({"message": "hi"})).await;
    let chat = format!("/api/conversations/{}/messages", chat[0]["session_id"].as_str().unwrap());
    assert_eq!(onyx.get(&chat).await.status, 404, "a chat is no companion");
}

#[tokio::test]
async fn a_failed_provider_is_an_error_event_and_the_message_can_be_run_again() {
    let (model, onyx) = house().await;
    let at = companion(&onyx).await;
    let message = post(&onyx, &at, "hi").await;
    model.set_default(Answer::error(ErrorKind::Auth));
    let told = run(&onyx, &at, &message).await;
    assert_eq!(names(&told), ["error", "done"], "{told:?}");
    assert_eq!(told[0].data["code"], "provider_auth");
    assert!(told[0].data["hint"].is_string());
    let said = messages(&onyx, &at).await;
    assert_eq!((&said[0]["content"], &said[1]["status"]), (&json!("hi"), &json!("error")));
    // After the id of the last event only the end is sent.
    let path = format!("{at}/stream?messageId={message}");
    let again = stream(&onyx, &path, Some(&told[0].id)).await;
    assert_eq!(names(&again), ["done"]);
    let asked = model.request_count();
    model.set_default(Answer::text("Here I am."));
    let told = run(&onyx, &at, &message).await;
    assert_eq!((text(&told).as_str(), model.request_count()), ("Here I am.", asked + 1));
    // A run that ended well is replayed and never run again.
    let told = stream(&onyx, &format!("{at}/stream"), None).await;
    assert_eq!((text(&told).as_str(), model.request_count()), ("Here I am.", asked + 1));
}

#[tokio::test]
async fn a_provider_that_breaks_off_or_falls_silent_in_a_call_has_changed_nothing() {
    let timeouts = json!({"providers": {"mine": {"timeouts": {"idleSeconds": 4}}}});
    let (model, onyx) = super::house_with(timeouts).await;
    let at = companion(&onyx).await;
    let message = post(&onyx, &at, "Add a task").await;
    let task = json!({"op": "create", "type": "task", "title": "Leek", "body": "x".repeat(4_000)});
    let call_of = || ScriptedCall::new("c", "propose_change", &task).split(40);
    model.push(Answer::script(Script::tool_calls([call_of()])).fault(Fault::ResetAt(2_000)));
    model.push(Script::new([Step::ToolCalls(vec![call_of()]), Step::Hang]));
    for code in ["provider_unavailable", "provider_timeout"] {
        let told = run(&onyx, &at, &message).await;
        assert_eq!(names(&told), ["error", "done"], "{told:?}");
        assert_eq!(told[0].data["code"], code);
        let drafts = onyx.get("/api/pending-changes").await.expect(200).json();
        assert_eq!(drafts["drafts"], json!([]), "{drafts}");
    }
    // The same with a call that arrives in one piece.
    model.push(call("propose_change", &task));
    model.push(Answer::text("Drafted."));
    let told = run(&onyx, &at, &message).await;
    assert_eq!(names(&told), ["tool", "tool", "draft", "delta", "done"], "{told:?}");
    let said = messages(&onyx, &at).await;
    assert_eq!(said.iter().filter(|said| said["role"] == "user").count(), 1, "{said:?}");
}

#[tokio::test]
async fn a_tool_that_fails_is_a_failed_chip_and_the_answer_goes_on() {
    let (model, onyx) = house().await;
    let at = companion(&onyx).await;
    let message = post(&onyx, &at, "Read it").await;
    model.push(call("read", &json!({"type": "page", "id": "missing"})));
    model.push(Answer::text("There is no such page."));
    let told = run(&onyx, &at, &message).await;
    assert_eq!(names(&told), ["tool", "tool", "delta", "done"]);
    assert_eq!(told[1].data["status"], "failed");
    assert_eq!(text(&told), "There is no such page.");
}

#[tokio::test]
async fn a_search_without_its_embedder_goes_by_words() {
    let dead = json!({"memory": {"embedder": "dead/embed"},
        "providers": {"dead": {"kind": "openai", "baseUrl": "http://127.0.0.1:9/v1"}}});
    let (model, onyx) = super::house_with(dead).await;
    let page = json!({"title": "Soup", "body": "Leek and Zinnober"});
    let _ = onyx.post("/api/spaces/home/pages", &page).await.expect(201);
    let at = companion(&onyx).await;
    let message = post(&onyx, &at, "Find it").await;
    model.push(call("search", &json!({"query": "Zinnober"})));
    model.push(Answer::text("Found."));
    let told = run(&onyx, &at, &message).await;
    assert_eq!(names(&told), ["tool", "tool", "delta", "done"]);
    assert_eq!(told[1].data["status"], "ok");
    let results = model.last_request().body["messages"].to_string();
    assert!(results.contains("Leek and Zinnober"), "{results}");
}

#[tokio::test]
async fn an_agent_that_may_only_read_is_refused_and_nothing_is_drafted() {
    let config = json!({"agents": {"list": [{"id": "main", "default": true, "tier": "read"}]}});
    let (model, onyx) = super::house_with(config).await;
    let at = companion(&onyx).await;
    let message = post(&onyx, &at, "Add a task").await;
    model.push(call("propose_change", &json!({"op": "create", "type": "task", "title": "x"})));
    model.push(Answer::text("I may only read."));
    let told = run(&onyx, &at, &message).await;
    assert_eq!(names(&told), ["tool", "tool", "delta", "done"]);
    assert_eq!(told[1].data["status"], "failed");
    let drafts = onyx.get("/api/pending-changes").await.expect(200).json();
    assert_eq!(drafts["drafts"], json!([]), "{drafts}");
}

#[tokio::test]
async fn a_client_that_goes_leaves_the_run_at_work_and_comes_back_without_gap_or_repeat() {
    let (model, onyx) = house().await;
    let at = companion(&onyx).await;
    let message = post(&onyx, &at, "Count").await;
    let pieces: Vec<String> = (0..60).map(|n| format!("{n} ")).collect();
    let steps = pieces.iter().flat_map(|piece| [Step::Text(piece.clone()), Step::PauseMs(10)]);
    model.push(Script::new(steps).ended(Finish::Stop));
    let path = format!("{at}/stream?messageId={message}");
    // The client disconnects after a few events.
    let first = read_stream(&onyx, &path, None, 5).await;
    assert_eq!(names(&first), ["delta"; 5]);
    let rest = stream(&onyx, &path, Some(&first[4].id)).await;
    assert_eq!(format!("{}{}", text(&first), text(&rest)), pieces.concat());
    assert_eq!(model.request_count(), 1);
    let whole = run(&onyx, &at, &message).await;
    assert_eq!((text(&whole), model.request_count()), (pieces.concat(), 1));
    let wrong = onyx.request(reqwest::Method::GET, &path).header("last-event-id", "nonsense");
    assert_eq!(onyx_test_support::Reply::of(wrong).await.status, 400);
}

#[tokio::test]
async fn a_message_to_a_busy_companion_waits_and_is_answered_by_itself() {
    let (model, onyx) = house().await;
    let at = companion(&onyx).await;
    let first = post(&onyx, &at, "one").await;
    model.push(Script::new([Step::Text("slow".into()), Step::PauseMs(5_000)]).ended(Finish::Stop));
    model.push(Answer::text("second answer"));
    model.push(Answer::text("third answer"));
    let path = format!("{at}/stream?messageId={first}");
    let begun = read_stream(&onyx, &path, None, 1).await;
    let second = post(&onyx, &at, "two").await;
    let third = post(&onyx, &at, "three").await;
    let mut waiting = Follow::begin(&onyx, &format!("{at}/stream?messageId={third}"), None).await;
    // The message is answered after the first, although no client asks for the answer.
    let said = wait_for("the second answer", SOON, async || {
        let said = messages(&onyx, &at).await;
        said.iter().any(|message| message["content"] == "second answer").then_some(said)
    })
    .await;
    let contents: Vec<_> =
        said.iter().take(4).map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(contents, ["one", "slow", "two", "second answer"]);
    // A client that waits for the third message gets its answer in turn.
    assert_eq!(text(&waiting.until("done").await), "third answer");
    assert_eq!(text(&run(&onyx, &at, &second).await), "second answer");
    let rest = stream(&onyx, &path, Some(&begun[0].id)).await;
    assert_eq!(names(&rest), ["done"]);
    assert_eq!(model.request_count(), 3);
}

#[tokio::test]
async fn a_question_waits_for_the_person_and_the_answer_goes_on_after_it() {
    let (model, onyx) = house().await;
    let at = companion(&onyx).await;
    let message = post(&onyx, &at, "Run it").await;
    model.push(call("exec", &json!({"argv": ["true"]})));
    model.push(Answer::text("Done."));
    let path = format!("{at}/stream?messageId={message}");
    let begun = read_stream(&onyx, &path, None, 2).await;
    assert_eq!(names(&begun), ["tool", "confirm"], "{begun:?}");
    let draft = begun[1].data["pending_change_id"].as_str().unwrap();
    let rejected = format!("/api/pending-changes/{draft}/reject");
    let _ = onyx.post(&rejected, &json!({"reason": "no"})).await.expect(200);
    let rest = stream(&onyx, &path, Some(&begun[1].id)).await;
    assert_eq!(text(&rest), "Done.", "{rest:?}");
}

#[tokio::test]
async fn what_the_person_looks_at_reaches_the_agent_and_no_later_prompt() {
    let (model, onyx) = house().await;
    let _ = onyx
        .post("/api/spaces/home/pages", &json!({"title": "Soup", "body": "Leek"}))
        .await
        .expect(201);
    let at = companion(&onyx).await;
    let body =
        json!({"content": "What is this?", "view": {"entityType": "page", "entityId": "soup"}});
    let message = onyx.post(&format!("{at}/messages"), &body).await.expect(201).json();
    model.push(call("context", &json!({})));
    let told = run(&onyx, &at, message["message_id"].as_str().unwrap()).await;
    assert_eq!(told[1].data["status"], "ok");
    let prompt = model.last_request().body.to_string();
    assert!(prompt.contains("looking at: page soup") && prompt.contains("Leek"), "{prompt}");
    let next = post(&onyx, &at, "And now?").await;
    run(&onyx, &at, &next).await;
    assert!(!model.last_request().body.to_string().contains("looking at: page soup"));
}

#[tokio::test]
async fn the_companion_is_told_of_conversations_about_what_the_person_looks_at() {
    let (model, onyx) = house().await;
    let soup = json!({"title": "Soup", "body": "Leek"});
    let _ = onyx.post("/api/spaces/home/pages", &soup).await.expect(201);
    model.push(Answer::text("An hour."));
    let told = onyx.chat_stream(&json!({"message": "How long does Zinnober boil?"})).await;
    let session = told[0]["session_id"].as_str().unwrap();
    let about = json!({"attached": {"space": "home", "kind": "page", "id": "soup"}});
    let path = format!("/v1/sessions/{session}");
    let attached = onyx.request(reqwest::Method::PATCH, &path).json(&about).send().await.unwrap();
    assert_eq!(attached.status(), 200);
    let at = companion(&onyx).await;
    let body =
        json!({"content": "What is this?", "view": {"entityType": "page", "entityId": "soup"}});
    let message = onyx.post(&format!("{at}/messages"), &body).await.expect(201).json();
    model.push(call("context", &json!({})));
    run(&onyx, &at, message["message_id"].as_str().unwrap()).await;
    let prompt = model.last_request().body.to_string();
    assert!(prompt.contains(&format!("conversation {session}")), "{prompt}");
    assert!(prompt.contains("How long does Zinnober boil?"), "{prompt}");
}

#[tokio::test]
async fn after_a_restart_an_interrupted_message_says_so_and_can_be_run_again() {
    let (model, mut onyx) = house().await;
    let at = companion(&onyx).await;
    let kept = post(&onyx, &at, "still here").await;
    model.push(Script::new([Step::Text("half".into()), Step::Hang]));
    let begun = read_stream(&onyx, &format!("{at}/stream?messageId={kept}"), None, 1).await;
    onyx.kill().await;
    onyx.restart().await;
    let path = format!("{at}/stream?messageId={kept}");
    let told = stream(&onyx, &path, Some(&begun[0].id)).await;
    assert_eq!(names(&told), ["error", "done"], "{told:?}");
    assert_eq!(told[0].data["code"], "interrupted");
    model.push(Answer::text("whole"));
    assert_eq!(text(&run(&onyx, &at, &kept).await), "whole");
    // The events come from the log alone, and from its middle.
    onyx.kill().await;
    onyx.restart().await;
    let asked = model.request_count();
    let told = run(&onyx, &at, &kept).await;
    assert_eq!((names(&told), text(&told).as_str()), (vec!["delta", "done"], "whole"));
    let rest = stream(&onyx, &path, Some(&told[0].id)).await;
    assert_eq!((names(&rest), model.request_count()), (vec!["done"], asked));
}

#[tokio::test]
async fn wrong_requests_to_a_conversation_are_refused() {
    let (_model, onyx) = house().await;
    let at = companion(&onyx).await;
    let _ = onyx.get(&format!("{at}/stream")).await.expect(404);
    let empty = onyx.post(&format!("{at}/messages"), &json!({"content": " "})).await.expect(400);
    assert_eq!(empty.json()["field"], "content");
    let view = json!({"content": "x", "view": {"entityType": "page"}});
    let wrong = onyx.post(&format!("{at}/messages"), &view).await.expect(400).json();
    assert!(wrong["field"].as_str().is_some_and(|field| field.starts_with("view")), "{wrong}");
    let _ = onyx.get(&format!("{at}/stream?messageId=nonsense")).await.expect(400);
    let unknown = "01936c00-0000-7000-8000-000000000001";
    let _ = onyx.get(&format!("{at}/stream?messageId={unknown}")).await.expect(404);
    let _ = onyx.get(&format!("{at}/messages?limit=0")).await.expect(400);
    let _ = onyx.get("/api/conversations/nonsense/messages").await.expect(404);
}

#[tokio::test]
async fn messages_are_paged_backwards() {
    let (_model, onyx) = house().await;
    let at = companion(&onyx).await;
    for number in 0..4 {
        let message = post(&onyx, &at, &format!("message {number}")).await;
        run(&onyx, &at, &message).await;
    }
    let mut seen = Vec::new();
    let mut path = format!("{at}/messages?limit=3");
    loop {
        let page = onyx.get(&path).await.expect(200).json();
        let mut part: Vec<_> = page["messages"].as_array().unwrap().clone();
        part.append(&mut seen);
        seen = part;
        let Some(before) = page["before"].as_str() else { break };
        path = format!("{at}/messages?limit=3&before={before}");
    }
    assert_eq!(seen, messages(&onyx, &at).await);
    assert_eq!(seen.len(), 8);
}
