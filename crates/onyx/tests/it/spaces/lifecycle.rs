//! What is deleted with a space, a channel or a thread, and what happens to waiting messages:
//! withdrawn, left by a crash, or in a deleted conversation.

use onyx_test_support::{Answer, Finish, OnyxProcess, Script, Step, wait_for};
use serde_json::{Value, json};

use super::companion::{companion, post};
use super::threads::{answer_id, messages, say, thread};
use super::{Follow, call, delete, house, house_with, patch, stream};
use crate::SOON;

fn hanging() -> Script {
    Script::new([Step::Text("half".into()), Step::Hang])
}

async fn attach(onyx: &OnyxProcess, kind: &str, id: &str) {
    let text = format!("The {kind} knows Zinnober.");
    let source = json!({"scope": {"type": kind, "id": id}, "kind": "text", "text": text});
    let made = onyx.post("/api/sources", &source).await.expect(201).json();
    let path = format!("/api/sources/{}/events", made["id"].as_str().unwrap());
    let _ = onyx.get(&path).await.expect(200);
}

/// The scopes of all sources.
async fn attached(onyx: &OnyxProcess) -> Vec<String> {
    let list = onyx.get("/api/sources").await.expect(200).json();
    let sources = list["sources"].as_array().unwrap().iter();
    let mut kinds: Vec<_> =
        sources.map(|source| source["scope"]["type"].as_str().unwrap().to_owned()).collect();
    kinds.sort_unstable();
    kinds
}

async fn origins(onyx: &OnyxProcess) -> Vec<String> {
    let list = onyx.get("/v1/sessions").await.expect(200).json();
    let sessions = list["sessions"].as_array().unwrap().iter();
    let mut origins: Vec<_> =
        sessions.map(|session| session["origin"].as_str().unwrap().to_owned()).collect();
    origins.sort_unstable();
    origins
}

#[tokio::test]
async fn conversations_and_sources_go_with_what_they_belong_to() {
    let (_model, onyx) = house().await;
    let first = thread(&onyx, &[]).await;
    let second = json!({"channel": "launch", "title": "Masts"});
    let second = onyx.post("/api/threads", &second).await.expect(201).json();
    let third = json!({"space": "home", "name": "Galley"});
    let _ = onyx.post("/api/channels", &third).await.expect(201);
    let third = json!({"channel": "galley", "title": "Soup"});
    let _ = onyx.post("/api/threads", &third).await.expect(201);
    companion(&onyx).await;
    let id = first.rsplit('/').next().unwrap();
    attach(&onyx, "thread", id).await;
    attach(&onyx, "thread", second["id"].as_str().unwrap()).await;
    attach(&onyx, "channel", "launch").await;
    attach(&onyx, "space", "home").await;
    attach(&onyx, "agent", "main").await;
    assert_eq!(attached(&onyx).await, ["agent", "channel", "space", "thread", "thread"]);
    let space = onyx.home().join("people/owner/spaces/home");

    let _ = delete(&onyx, &first).await.expect(204);
    assert_eq!(attached(&onyx).await, ["agent", "channel", "space", "thread"]);
    assert_eq!(origins(&onyx).await, ["companion", "thread", "thread"]);
    assert!(!space.join("threads").join(id).exists());

    let _ = delete(&onyx, "/api/channels/launch").await.expect(204);
    assert_eq!(attached(&onyx).await, ["agent", "space"]);
    assert_eq!(origins(&onyx).await, ["companion", "thread"]);
    assert!(!space.join("channels/launch").exists());

    let _ = delete(&onyx, "/api/spaces/home").await.expect(204);
    assert_eq!(attached(&onyx).await, ["agent"]);
    assert_eq!(origins(&onyx).await, Vec::<String>::new());
    assert!(!space.exists());
    wait_for("what was attached to be found no more", SOON, async || {
        let found = onyx.get("/api/search?q=Zinnober&types=source").await.expect(200).json();
        let left = found["results"].as_array().unwrap().iter();
        left.map(|hit| &hit["scope"]["type"]).eq([&json!("agent")]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_events_of_a_thread_that_is_deleted_at_work_end_with_that() {
    let (model, onyx) = house().await;
    let thread = thread(&onyx, &[]).await;
    let mut events = Follow::begin(&onyx, &format!("{thread}/events"), None).await;
    model.push(hanging());
    let first = answer_id(&say(&onyx, &thread, "one").await);
    events.until("chat:chunk").await;
    say(&onyx, &thread, "two").await;
    let _ = delete(&onyx, &thread).await.expect(204);
    let told = events.until("chat:deleted").await;
    assert_eq!(
        told[0].data,
        json!({"message_id": first, "content": "half", "status": "cancelled"})
    );
    let gone = &told.last().unwrap().data["error"];
    assert_eq!(
        (&gone["code"], &gone["message"]),
        (&json!("not_found"), &json!("This thread was deleted."))
    );
    assert!(gone["hint"].is_string());
    assert!(events.next().await.is_none(), "and nothing more");
    assert_eq!(model.request_count(), 1, "what waited was not begun");
    assert_eq!(onyx.get(&format!("{thread}/events")).await.status, 404);
}

#[tokio::test]
async fn the_streams_of_a_space_end_when_it_is_deleted() {
    let (model, onyx) = house().await;
    let thread = thread(&onyx, &[]).await;
    let mut idle = Follow::begin(&onyx, &format!("{thread}/events"), None).await;
    let at = companion(&onyx).await;
    let first = post(&onyx, &at, "one").await;
    model.push(hanging());
    let mut at_work = Follow::begin(&onyx, &format!("{at}/stream?messageId={first}"), None).await;
    at_work.until("delta").await;
    let second = post(&onyx, &at, "two").await;
    let mut waiting = Follow::begin(&onyx, &format!("{at}/stream?messageId={second}"), None).await;
    let _ = delete(&onyx, "/api/spaces/home").await.expect(204);
    at_work.until("done").await;
    assert!(at_work.next().await.is_none());
    let told = waiting.until("done").await;
    assert_eq!((told[0].event.as_str(), &told[0].data["code"]), ("error", &json!("not_found")));
    assert!(waiting.next().await.is_none());
    assert_eq!(idle.next().await.map(|told| told.event).as_deref(), Some("chat:deleted"));
    assert!(idle.next().await.is_none());
    assert_eq!(onyx.get(&format!("{at}/messages")).await.status, 404);
    assert_eq!(model.request_count(), 1);
}

#[tokio::test]
async fn a_message_taken_back_while_it_waits_is_answered_neither_now_nor_after_a_restart() {
    let (model, mut onyx) = house().await;
    let thread = thread(&onyx, &[]).await;
    let mut events = Follow::begin(&onyx, &format!("{thread}/events"), None).await;
    model.push(hanging());
    say(&onyx, &thread, "one").await;
    events.until("chat:chunk").await;
    let second = say(&onyx, &thread, "Zinnober").await;
    let third = say(&onyx, &thread, "three").await;
    let cancel = format!("/api/messages/{}/cancel", answer_id(&second));
    assert_eq!(onyx.post(&cancel, &json!({})).await.expect(200).json(), json!({"cancelled": true}));
    // The withdrawal is reported at once, while the first answer is still in progress.
    let told = events.until("chat:complete").await;
    assert_eq!(
        told.last().unwrap().data,
        json!({"message_id": answer_id(&second), "content": "", "status": "cancelled"})
    );
    assert_eq!(onyx.post(&cancel, &json!({})).await.status, 404, "it is over");
    let taken_back = |said: &[Value]| {
        let found = said.iter().find(|message| message["content"] == "Zinnober").cloned();
        found.map(|message| (message["id"].clone(), message["status"].clone()))
    };
    let expected = Some((second["user_message"]["id"].clone(), json!("cancelled")));
    assert_eq!(taken_back(&messages(&onyx, &thread).await), expected);

    // After a restart the message behind it is answered without a request; the withdrawn one is
    // not.
    model.push(Answer::text("the third answer"));
    onyx.kill().await;
    onyx.restart().await;
    let said = wait_for("the third answer", SOON, async || {
        let said = messages(&onyx, &thread).await;
        said.iter().any(|message| message["content"] == "the third answer").then_some(said)
    })
    .await;
    assert_eq!(said[1]["status"], "interrupted");
    let brief: Vec<_> = said
        .iter()
        .filter(|said| said["status"] != "interrupted")
        .map(|said| (said["content"].as_str().unwrap(), said["status"].as_str().unwrap()))
        .collect();
    let expected_now = [
        ("one", "complete"),
        ("Zinnober", "cancelled"),
        ("three", "complete"),
        ("the third answer", "complete"),
    ];
    assert_eq!(brief, expected_now);
    assert_eq!(said[4]["id"], third["assistant_messages"][0]["id"]);
    assert_eq!(taken_back(&said), expected);
    assert_eq!(model.request_count(), 2);
    let prompt = model.last_request().body.to_string();
    assert!(prompt.contains("three") && !prompt.contains("Zinnober"), "{prompt}");
    model.push(Answer::text("the fourth answer"));
    say(&onyx, &thread, "four").await;
    wait_for("the fourth answer", SOON, async || {
        let said = messages(&onyx, &thread).await;
        said.iter().any(|message| message["content"] == "the fourth answer").then_some(())
    })
    .await;
    assert!(!model.last_request().body.to_string().contains("Zinnober"));
}

#[tokio::test]
async fn a_waiting_message_of_a_companion_can_be_taken_back_and_waits_for_a_restart_too() {
    let (model, mut onyx) = house().await;
    let at = companion(&onyx).await;
    let first = post(&onyx, &at, "one").await;
    model.push(hanging());
    let mut at_work = Follow::begin(&onyx, &format!("{at}/stream?messageId={first}"), None).await;
    at_work.until("delta").await;
    let second = post(&onyx, &at, "Zinnober").await;
    post(&onyx, &at, "three").await;
    let cancel = format!("/api/messages/{second}/cancel");
    assert_eq!(onyx.post(&cancel, &json!({})).await.expect(200).json(), json!({"cancelled": true}));
    let refused = onyx.get(&format!("{at}/stream?messageId={second}")).await.json();
    assert_eq!(refused["code"], "cancelled", "{refused}");
    model.push(Answer::text("the third answer"));
    onyx.kill().await;
    onyx.restart().await;
    let told = wait_for("the third answer", SOON, async || {
        let said = onyx.get(&format!("{at}/messages")).await.expect(200).json();
        let last = said["messages"].as_array().unwrap().last().unwrap().clone();
        (last["content"] == "the third answer").then_some(last)
    })
    .await;
    assert_eq!(told["status"], "complete");
    assert_eq!(model.request_count(), 2);
    let refused = onyx.get(&format!("{at}/stream?messageId={second}")).await.json();
    assert_eq!(refused["code"], "cancelled", "{refused}");
    assert!(!model.last_request().body.to_string().contains("Zinnober"));
    // No answer was promised for a message that was stored and never requested.
    post(&onyx, &at, "four").await;
    onyx.kill().await;
    onyx.restart().await;
    onyx.chat_stream(&json!({"message": "hi"})).await;
    assert_eq!(model.request_count(), 3);
}

#[tokio::test]
async fn one_damaged_space_is_shown_with_its_error_and_the_others_work() {
    let (model, onyx) = house_with(json!({})).await;
    let spaces = onyx.home().join("people/owner/spaces");
    std::fs::create_dir_all(spaces.join("broken/pages")).unwrap();
    let card = spaces.join("broken/space.json");
    std::fs::write(&card, "{\"name\": ").unwrap();
    std::fs::write(spaces.join("broken/pages/soup.md"), "---\ntitle: Soup\n---\nLeek\n").unwrap();
    let list = onyx.get("/api/spaces").await.expect(200).json();
    let [home, broken] = list["spaces"].as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_eq!((&broken["id"], &broken["name"]), (&json!("broken"), &json!("broken")));
    assert!(broken["error"].as_str().unwrap().contains("space.json"), "{broken}");
    assert_eq!((&home["name"], home.get("error")), (&json!("Home"), None));
    // Its content can be read, and its broken card is not overwritten.
    let page = onyx.get("/api/spaces/broken/pages/soup").await.expect(200).json();
    assert_eq!(page["body"], "Leek\n");
    let renamed = patch(&onyx, "/api/spaces/broken", &json!({"name": "Mended"})).await;
    let companion_of_it = onyx.get("/api/spaces/broken/companion").await;
    for refused in [renamed.expect(500).json(), companion_of_it.expect(500).json()] {
        assert_eq!(refused["code"], "storage_failed");
        assert!(refused["hint"].as_str().unwrap().contains("space.json"), "{refused}");
    }
    assert_eq!(std::fs::read_to_string(&card).unwrap(), "{\"name\": ");
    // The companion of another space still works.
    let at = companion(&onyx).await;
    let message = post(&onyx, &at, "hi").await;
    model.push(call("read", &json!({"type": "page", "id": "none"})));
    let told = stream(&onyx, &format!("{at}/stream?messageId={message}"), None).await;
    assert_eq!(told.last().unwrap().event, "done");
    let prompt = model.last_request().body.to_string();
    assert!(prompt.contains("Space: Home"), "{prompt}");
    assert_eq!(origins(&onyx).await, ["companion"]);
    let _ = delete(&onyx, "/api/spaces/broken").await.expect(204);
    assert!(!spaces.join("broken").exists());
}

#[tokio::test]
async fn a_message_that_is_sent_twice_under_one_key_is_said_once() {
    let (model, mut onyx) = house().await;
    let thread = thread(&onyx, &["scout"]).await;
    let at = format!("{thread}/messages");
    let send = async |onyx: &OnyxProcess, path: &str, key: &str, content: &str| {
        let request = onyx.request(reqwest::Method::POST, path).header("idempotency-key", key);
        onyx_test_support::Reply::of(request.json(&json!({"content": content}))).await
    };
    let mut events = Follow::begin(&onyx, &format!("{thread}/events"), None).await;
    model.push(Script::new([Step::Text("aye".into()), Step::PauseMs(300)]).ended(Finish::Stop));
    let (one, other) = tokio::join!(send(&onyx, &at, "k1", "hi"), send(&onyx, &at, "k1", "hi"));
    let (one, other) = (one.expect(201).json(), other.expect(201).json());
    assert_eq!(one["user_message"]["id"], other["user_message"]["id"]);
    assert_eq!(answer_id(&one), answer_id(&other));
    events.until("chat:complete").await;
    // The receipt was lost, and the answer exists already.
    let late = send(&onyx, &at, "k1", "hi").await.expect(201).json();
    assert_eq!(late["user_message"]["id"], one["user_message"]["id"]);
    let [answer] = late["assistant_messages"].as_array().unwrap().as_slice() else { panic!() };
    assert_eq!(
        (&answer["id"], &answer["content"], &answer["status"]),
        (&json!(answer_id(&one)), &json!("aye"), &json!("complete"))
    );
    let other = send(&onyx, &at, "k1", "something else").await.expect(400).json();
    assert_eq!(other["field"], "Idempotency-Key", "{other}");
    assert_eq!(send(&onyx, &at, "", "hi").await.expect(400).json()["field"], "Idempotency-Key");

    let companion = format!("{}/messages", companion(&onyx).await);
    let kept = send(&onyx, &companion, "k1", "hi").await.expect(201).json();
    assert_ne!(kept["message_id"], one["user_message"]["id"], "another conversation");
    onyx.kill().await;
    onyx.restart().await;
    assert_eq!(send(&onyx, &companion, "k1", "hi").await.expect(201).json(), kept);
    let late = send(&onyx, &at, "k1", "hi").await.expect(201).json();
    assert_eq!(late["user_message"]["id"], one["user_message"]["id"]);
    let said = onyx.get(&companion).await.expect(200).json();
    assert_eq!(said["messages"].as_array().unwrap().len(), 1);
    assert_eq!((messages(&onyx, &thread).await.len(), model.request_count()), (2, 1));
}
