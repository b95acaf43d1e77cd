use std::time::{Duration, Instant};

use futures::future::select_all;
use onyx_test_support::{
    Answer, Fault, OnyxProcess, Script, ScriptedModel, Step, wait_for, wait_until,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{SOON, onyx, said};

/// A run that nobody wants any more ends within this time.
const QUICK: Duration = Duration::from_millis(1_500);

fn begins_and_hangs(text: &str) -> Script {
    Script::new([Step::Text(text.to_owned()), Step::Hang])
}

/// Tries it until it is quick, at most three times, because a busy machine may hold up one try.
async fn is_quick(mut attempt: impl AsyncFnMut() -> Duration) {
    let mut took = Vec::new();
    while took.len() < 3 {
        let time = attempt().await;
        if time < QUICK {
            return;
        }
        took.push(time);
    }
    panic!("each time it took long: {took:?}");
}

#[tokio::test]
async fn of_two_messages_at_once_on_one_session_exactly_one_runs() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    let session = onyx.chat_stream(&json!({"message": "first"})).await[0]["session_id"].clone();
    for _ in 0..10 {
        let before = model.request_count();
        // The answer does not end before the other message was refused, however late that comes.
        model.push(begins_and_hangs("half"));
        let body = json!({"message": "again", "session_id": session});
        let both = [(); 2].map(|()| Box::pin(onyx.post("/api/agent/chat-stream", &body)));
        let first = timeout(SOON, select_all(both)).await.expect("one of them is refused");
        let (refused, _, mut other) = first;
        assert_eq!(refused.expect(409).json()["code"], "session_busy");
        model.wait_for_requests(before + 1).await;
        let stopped = onyx.stop(session.as_str().unwrap()).await.expect(200).json();
        assert_eq!(stopped, json!({"stopped": true}));
        let _ = other.remove(0).await.expect(200);
        assert_eq!(model.request_count(), before + 1);
    }
}

#[tokio::test]
async fn stop_ends_the_answer_keeps_its_words_and_frees_the_session() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    is_quick(async || stop(&model, &onyx).await).await;
}

/// Stops an answer, and returns how long that took.
async fn stop(model: &ScriptedModel, onyx: &OnyxProcess) -> Duration {
    model.push(begins_and_hangs("half an "));
    let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
    let start = lines.next().await.unwrap();
    lines.until("text").await;
    let asked = Instant::now();
    let stopped = onyx.post("/api/agent/stop", &json!({"run_id": start["run_id"]})).await;
    assert_eq!(stopped.expect(200).json(), json!({"stopped": true}));
    let rest = lines.rest().await;
    let took = asked.elapsed();
    assert_eq!(rest.last().unwrap()["status"], "cancelled");
    let session = start["session_id"].as_str().unwrap();
    let messages = onyx.history(session).await;
    assert_eq!(
        (&messages[1]["content"], &messages[1]["status"]),
        (&json!("half an "), &json!("cancelled"))
    );
    let next = onyx.chat_stream(&json!({"message": "go on", "session_id": session})).await;
    assert_eq!(said(&next), "ok");
    let again = onyx.stop(session).await;
    assert_eq!(again.json(), json!({"stopped": false}));
    took
}

#[tokio::test]
async fn start_is_told_before_the_model_has_said_anything() {
    let model = ScriptedModel::with_answers([Answer::text("x").fault(Fault::HangBeforeHead)]).await;
    let onyx = onyx(&model).await;
    let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
    assert_eq!(lines.next().await.unwrap()["type"], "start");
}

#[tokio::test]
async fn a_client_that_goes_away_stops_its_run_at_once() {
    for path in ["/api/agent/chat-stream", "/api/agent/chat"] {
        is_quick(async || go_away(path).await).await;
    }
}

/// Leaves while an answer comes, and returns after how long its run had left the model.
async fn go_away(path: &str) -> Duration {
    let model = ScriptedModel::with_answers([begins_and_hangs("half")]).await;
    let onyx = onyx(&model).await;
    let body = json!({"message": "go"});
    let request = onyx.request(reqwest::Method::POST, path).json(&body).send();
    let talk = async {
        let response = request.await.unwrap();
        response.text().await.unwrap();
    };
    tokio::select! {
        () = talk => panic!("it does not end by itself"),
        () = model.wait_for_requests(1) => {}
    }
    let left = Instant::now();
    wait_until("the model's connection to close", SOON, || model.abandoned() == 1).await;
    let took = left.elapsed();
    let session = the_session(&onyx).await;
    let answer = wait_for("the run's end", SOON, async || {
        let messages = onyx.history(&session).await;
        messages.get(1).filter(|answer| answer["status"] != "streaming").cloned()
    })
    .await;
    assert_eq!(answer["status"], "cancelled", "{path}");
    let next = json!({"message": "go on", "session_id": session});
    // Nobody was told of the run's end, and the log has it a moment before the session is free.
    let next = wait_for("the session to be free", SOON, async || {
        let reply = onyx.post("/api/agent/chat", &next).await;
        (reply.status != 409).then_some(reply)
    })
    .await;
    assert_eq!(next.expect(200).json()["message"], "ok", "{path}");
    took
}

#[tokio::test]
async fn a_server_that_is_asked_to_end_tells_its_clients_and_marks_the_answer() {
    let model = ScriptedModel::with_answers([begins_and_hangs("half")]).await;
    let mut onyx = onyx(&model).await;
    let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
    let session = lines.next().await.unwrap()["session_id"].as_str().unwrap().to_owned();
    lines.until("text").await;
    let reading = tokio::spawn(lines.rest());
    assert_eq!(onyx.terminate().await.code(), Some(0));
    let rest = reading.await.unwrap();
    assert_eq!(rest.last().map(|event| event["type"].clone()), Some(json!("done")));
    assert!(!onyx.home().join("onyx.sock").exists());
    onyx.restart().await;
    let messages = onyx.history(&session).await;
    assert_eq!(messages[1]["content"], "half");
    assert_ne!(messages[1]["status"], "complete");
}

#[tokio::test]
async fn a_server_that_is_asked_to_end_lets_a_short_answer_finish() {
    let script = Script::new([Step::Text("a ".into()), Step::PauseMs(500), Step::Text("b".into())])
        .ended(onyx_test_support::Finish::Stop);
    let model = ScriptedModel::with_answers([script]).await;
    let mut onyx = onyx(&model).await;
    let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
    lines.until("text").await;
    let reading = tokio::spawn(lines.rest());
    assert_eq!(onyx.terminate().await.code(), Some(0));
    let rest = reading.await.unwrap();
    assert_eq!((said(&rest), &rest.last().unwrap()["status"]), ("b".to_owned(), &json!("done")));
}

#[tokio::test]
async fn a_server_that_is_asked_to_end_lets_what_passes_through_finish_or_says_so_in_its_format() {
    let slow = Script::new([Step::Text("a ".into()), Step::PauseMs(500), Step::Text("b".into())])
        .ended(onyx_test_support::Finish::Stop);
    for (script, ending) in [(slow, "[DONE]"), (begins_and_hangs("half"), "interrupted")] {
        let model = ScriptedModel::with_answers([script]).await;
        let mut onyx = onyx(&model).await;
        let ask = json!({"model": "mine/m", "stream": true,
            "messages": [{"role": "user", "content": "go"}]});
        let request = onyx.request(reqwest::Method::POST, "/v1/chat/completions").json(&ask);
        let mut response = request.send().await.unwrap();
        let first = response.chunk().await.unwrap().unwrap();
        let reading = tokio::spawn(async move { response.text().await });
        assert_eq!(onyx.terminate().await.code(), Some(0));
        let rest = reading.await.unwrap().expect("the stream ends well");
        let all = format!("{}{rest}", String::from_utf8_lossy(&first));
        let last = all.lines().rev().filter(|line| line.starts_with("data: ")).take(2);
        assert!(last.into_iter().any(|line| line.contains(ending)), "{all}");
    }
}

async fn the_session(onyx: &OnyxProcess) -> String {
    let list: Value = onyx.get("/v1/sessions").await.expect(200).json();
    list["sessions"][0]["id"].as_str().unwrap().to_owned()
}
