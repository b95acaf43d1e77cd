use onyx_test_support::{Answer, Recording, Script, ScriptedModel, Step, wait_for};
use serde_json::json;

use crate::{SOON, builder, config, onyx, said, types};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_sessions_stream_at_once_without_an_error() {
    const SESSIONS: usize = 200;
    let pieces: Vec<String> = (0..20).map(|number| format!("{number} ")).collect();
    let whole = pieces.concat();
    let model = ScriptedModel::start().await;
    model.set_recording(Recording::Off);
    model.set_default(Answer::script(Script::text_pieces(pieces)).delay_ms(20));
    let onyx = onyx(&model).await;
    let talks: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let client = onyx.client().clone();
            tokio::spawn(async move {
                client.chat_stream(&json!({"message": format!("message {number}")})).await
            })
        })
        .collect();
    for talk in talks {
        let events = talk.await.unwrap();
        assert_eq!(
            (said(&events), events.last().unwrap()["status"].as_str()),
            (whole.clone(), Some("done")),
            "{:?}",
            types(&events)
        );
    }
    assert!(onyx.healthy().await);
}

#[tokio::test]
async fn beyond_the_cap_a_request_is_told_when_to_come_back() {
    let model = ScriptedModel::start().await;
    model.set_default(Answer::script(Script::new([Step::Text("…".into()), Step::Hang])));
    let onyx = builder(&model).merge(json!({"gateway": {"maxRuns": 2}})).start().await;
    let message = json!({"message": "hi"});
    let mut first = onyx.chat_lines(&message).await;
    let session = first.until("start").await["session_id"].as_str().unwrap().to_owned();
    let mut second = onyx.chat_lines(&message).await;
    second.until("text").await;

    let refused = onyx.post("/api/agent/chat-stream", &message).await.expect(503);
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(refused.json()["code"], "overloaded");

    // Each time that a client gets the end of a run, the run's slot is free.
    let mut third = first;
    let mut session = session;
    for _ in 0..20 {
        let _ = onyx.stop(&session).await.expect(200);
        third.until("done").await;
        third = onyx.chat_lines(&message).await;
        session = third.until("start").await["session_id"].as_str().unwrap().to_owned();
    }
    third.until("text").await;
    assert_eq!(onyx.post("/api/agent/chat-stream", &message).await.status, 503);

    // The limit follows the config file, and runs at work continue.
    let mut raised = config(&model);
    raised["gateway"]["maxRuns"] = json!(3);
    std::fs::write(onyx.config_path(), raised.to_string()).unwrap();
    wait_for("a fourth place", SOON, async || {
        let request = onyx.request(reqwest::Method::POST, "/api/agent/chat-stream");
        let answer = request.json(&message).send().await.unwrap();
        (answer.status() == 200).then_some(())
    })
    .await;
}
