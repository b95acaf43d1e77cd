//! Conversations of a space stay in it.

use onyx_test_support::{Answer, OnyxProcess, ScriptedModel, wait_for};
use serde_json::{Value, json};

use super::threads::{say, thread};
use super::{Follow, call, house};
use crate::SOON;

async fn thread_in_work(onyx: &OnyxProcess) -> String {
    std::fs::create_dir_all(onyx.home().join("people/owner/spaces/work")).unwrap();
    let channel = json!({"space": "work", "name": "Office"});
    let _ = onyx.post("/api/channels", &channel).await.expect(201);
    let made = onyx.post("/api/threads", &json!({"channel": "office", "title": "Desk"})).await;
    format!("/api/threads/{}", made.expect(201).json()["id"].as_str().unwrap())
}

async fn say_to_the_end(onyx: &OnyxProcess, thread: &str, content: &str) {
    let mut events = Follow::begin(onyx, &format!("{thread}/events"), None).await;
    say(onyx, thread, content).await;
    events.until("chat:complete").await;
}

/// The result of a search of conversations that the model got.
fn told(model: &ScriptedModel) -> String {
    let body = model.last_request().body;
    let messages = body["messages"].as_array().unwrap().iter();
    let results: Vec<&Value> = messages.filter(|message| message["role"] == "tool").collect();
    results.last().unwrap()["content"].to_string()
}

#[tokio::test]
async fn conversations_are_found_from_where_they_belong_and_from_nowhere_else() {
    let (model, onyx) = house().await;
    let (home, work) = (thread(&onyx, &[]).await, thread_in_work(&onyx).await);
    say_to_the_end(&onyx, &home, "Zinnober at home").await;
    say_to_the_end(&onyx, &work, "Zinnober at work").await;
    onyx.chat_stream(&json!({"message": "Zinnober in private"})).await;
    let found = wait_for("all three conversations", SOON, async || {
        let found = onyx.get("/api/search?q=Zinnober&types=session").await.expect(200).json();
        (found["results"].as_array().unwrap().len() == 3).then_some(found)
    })
    .await;
    let found = found["results"].as_array().unwrap().iter();
    let mut scopes: Vec<_> = found.map(|hit| hit["scope"]["type"].as_str().unwrap()).collect();
    scopes.sort_unstable();
    assert_eq!(scopes, ["agent", "thread", "thread"]);

    // Retrieval adds no conversations: neither of elsewhere nor of this thread.
    let context = onyx.get(&format!("{work}/context?q=Zinnober")).await.expect(200).json();
    assert_eq!(context["pieces"], json!([]));

    // An agent that searches finds the conversations of its own space.
    let search = || call("session_search", &json!({"query": "Zinnober"}));
    model.push(search());
    model.push(Answer::text("found"));
    say_to_the_end(&onyx, &work, "What was that about?").await;
    let in_work = told(&model);
    assert!(in_work.contains("Zinnober at work"), "{in_work}");
    assert!(!in_work.contains("at home"), "{in_work}");
    model.push(search());
    model.push(Answer::text("found"));
    onyx.chat_stream(&json!({"message": "What was that about?"})).await;
    let in_chat = told(&model);
    assert!(in_chat.contains("Zinnober in private"), "{in_chat}");
    assert!(!in_chat.contains("at home") && !in_chat.contains("at work"), "{in_chat}");
}
