//! Messages that wait behind an answer in a thread or a companion, when their gateway is killed or
//! another one is asked.

use std::time::{Duration, Instant};

use onyx_test_support::{Answer, Finish, OnyxProcess, Script, ScriptedModel, Step, wait_for};
use reqwest::Method;
use serde_json::{Value, json};

use super::together::{FAILOVER, two};
use crate::SOON;

/// Longer than the failover, so that a failed wait and a late answer are told apart.
const PATIENCE: Duration = Duration::from_secs(60);

fn hanging() -> Script {
    Script::new([Step::Text("half an answer".into()), Step::Hang])
}

async fn space(onyx: &OnyxProcess) {
    let made = onyx.post("/api/spaces", &json!({"name": "Home"})).await.expect(201).json();
    assert_eq!(made["id"], "home");
}

/// A thread of a new channel.
async fn thread(onyx: &OnyxProcess) -> String {
    space(onyx).await;
    let channel = json!({"space": "home", "name": "Launch", "purpose": "Ship the boat."});
    let _ = onyx.post("/api/channels", &channel).await.expect(201);
    let thread = json!({"channel": "launch", "title": "Sails"});
    let made = onyx.post("/api/threads", &thread).await.expect(201).json();
    format!("/api/threads/{}", made["id"].as_str().unwrap())
}

/// The path of the conversation with the companion of a new space.
pub(super) async fn companion(onyx: &OnyxProcess) -> String {
    space(onyx).await;
    let view = onyx.get("/api/spaces/home/companion").await.expect(200).json();
    format!("/api/conversations/{}", view["conversation_id"].as_str().unwrap())
}

async fn say(onyx: &OnyxProcess, at: &str, content: &str) -> Value {
    onyx.post(&format!("{at}/messages"), &json!({"content": content})).await.expect(201).json()
}

/// What was said, without the answer that was cut off and answers that have not begun.
async fn said(onyx: &OnyxProcess, at: &str) -> Vec<String> {
    let page = onyx.get(&format!("{at}/messages")).await.expect(200).json();
    let contents = page["messages"].as_array().unwrap().iter();
    let contents = contents.map(|message| message["content"].as_str().unwrap().to_owned());
    contents.filter(|content| !content.is_empty() && content != "half an answer").collect()
}

/// Waits until both messages that waited are answered: each once, and in the order in which they
/// came.
async fn both_answered(onyx: &OnyxProcess, at: &str, model: &ScriptedModel, killed: Instant) {
    wait_for("the first message to be taken up", PATIENCE, async || {
        (model.request_count() > 1).then_some(())
    })
    .await;
    assert!(killed.elapsed() < FAILOVER, "{:?}", killed.elapsed());
    let whole = ["one", "two", "Second.", "three", "Third."];
    let found = wait_for("both answers", PATIENCE, async || {
        let found = said(onyx, at).await;
        found.iter().any(|content| content == "Third.").then_some(found)
    })
    .await;
    assert_eq!(found, whole);
    assert_eq!(model.request_count(), 3, "each message was answered once");
}

#[tokio::test]
async fn messages_that_wait_in_a_thread_of_a_killed_gateway_are_answered_by_another() {
    let model = ScriptedModel::with_answers([hanging()]).await;
    let (_place, mut one, two) = two(&model).await;
    let at = thread(&one).await;
    say(&one, &at, "one").await;
    model.wait_for_requests(1).await;
    say(&one, &at, "two").await;
    say(&one, &at, "three").await;
    model.push(Answer::text("Second."));
    model.push(Answer::text("Third."));
    one.kill().await;
    both_answered(&two, &at, &model, Instant::now()).await;
}

#[tokio::test]
async fn messages_that_wait_in_a_companion_of_a_killed_gateway_are_answered_by_another() {
    let model = ScriptedModel::with_answers([hanging()]).await;
    let (_place, mut one, two) = two(&model).await;
    let at = companion(&one).await;
    let first = say(&one, &at, "one").await;
    let first = first["message_id"].as_str().unwrap();
    let stream = one.request(Method::GET, &format!("{at}/stream?messageId={first}"));
    let stream = tokio::spawn(stream.send());
    model.wait_for_requests(1).await;
    // One waits where the answer is given, the other at the gateway that stays.
    say(&one, &at, "two").await;
    say(&two, &at, "three").await;
    model.push(Answer::text("Second."));
    model.push(Answer::text("Third."));
    one.kill().await;
    both_answered(&two, &at, &model, Instant::now()).await;
    stream.abort();
}

#[tokio::test]
async fn a_message_to_a_companion_that_another_gateway_answers_waits_for_its_turn() {
    let slow = Script::new([Step::Text("First".into()), Step::PauseMs(12_000)]);
    let model = ScriptedModel::with_answers([slow.ended(Finish::Stop)]).await;
    let (_place, one, two) = two(&model).await;
    let at = companion(&one).await;
    let first = say(&one, &at, "one").await;
    let path = |message: &Value| {
        format!("{at}/stream?messageId={}", message["message_id"].as_str().unwrap())
    };
    let stream = tokio::spawn(one.request(Method::GET, &path(&first)).send());
    model.wait_for_requests(1).await;
    model.push(Answer::text("Second."));
    let second = say(&two, &at, "two").await;
    // The answer that another gateway gives is followed to its end.
    let followed = two.get(&path(&first)).await.expect(200).text();
    assert!(followed.contains("First") && followed.contains("event: done"), "{followed}");
    let answered = two.get(&path(&second)).await.expect(200).text();
    assert!(answered.contains("Second."), "{answered}");
    assert_eq!(said(&two, &at).await, ["one", "First", "two", "Second."]);
    assert_eq!(model.request_count(), 2, "each message was answered once");
    drop(stream.await.unwrap().unwrap());
    let shown = wait_for("the first gateway to show it", SOON, async || {
        Some(said(&one, &at).await).filter(|said| said.len() == 4)
    })
    .await;
    assert_eq!(shown[3], "Second.");
}

#[tokio::test]
async fn a_message_that_waits_at_one_gateway_is_shown_and_withdrawn_at_the_other() {
    let model = ScriptedModel::with_answers([hanging()]).await;
    let (_place, one, two) = two(&model).await;
    let at = thread(&one).await;
    let first = say(&one, &at, "one").await;
    model.wait_for_requests(1).await;
    let second = say(&one, &at, "two").await;
    let answer = &second["assistant_messages"][0]["id"];
    let page = two.get(&format!("{at}/messages")).await.expect(200).json();
    let shown = page["messages"].as_array().unwrap().iter().find(|shown| shown["id"] == *answer);
    assert_eq!(shown.expect("its placeholder")["status"], "streaming", "{page:#}");
    let cancel = async |onyx: &OnyxProcess, answer: &Value| {
        let path = format!("/api/messages/{}/cancel", answer.as_str().unwrap());
        onyx.post(&path, &json!({})).await.expect(200).json()
    };
    assert_eq!(cancel(&two, answer).await, json!({"cancelled": true}));
    // The model has one answer more, which the next message gets.
    model.push(Answer::text("Third."));
    cancel(&one, &first["assistant_messages"][0]["id"]).await;
    let third = say(&one, &at, "three").await;
    wait_for("the answer to the third message", SOON, async || {
        let page = two.get(&format!("{at}/messages")).await.expect(200).json();
        let all = page["messages"].as_array().unwrap().iter();
        let mut answers = all.filter(|message| message["content"] == "Third.");
        answers.any(|answer| answer["question"] == third["user_message"]["id"]).then_some(())
    })
    .await;
    assert_eq!(model.request_count(), 2, "the second message was not answered");
}

#[tokio::test]
async fn an_answer_in_a_thread_is_stopped_by_its_message_through_the_other_gateway() {
    let model = ScriptedModel::with_answers([hanging(), hanging()]).await;
    let (_place, one, two) = two(&model).await;
    let at = thread(&one).await;
    for number in 1..=2 {
        let sent = say(&one, &at, "go").await;
        model.wait_for_requests(number).await;
        // An answer stops one of those who answer; the message itself stops all of them.
        let id = if number == 1 {
            &sent["assistant_messages"][0]["id"]
        } else {
            &sent["user_message"]["id"]
        };
        let path = format!("/api/messages/{}/cancel", id.as_str().unwrap());
        let stopped = two.post(&path, &json!({})).await.expect(200).json();
        assert_eq!(stopped, json!({"cancelled": true}));
        wait_for("the answer to be over", SOON, async || {
            let page = one.get(&format!("{at}/messages")).await.expect(200).json();
            let mut messages = page["messages"].as_array().unwrap().iter();
            messages.all(|message| message["status"] != "streaming").then_some(())
        })
        .await;
    }
}
