use onyx_test_support::{Script, ScriptedCall, ScriptedModel, Step, wait_until};
use serde_json::json;

use crate::{SOON, onyx, said};

#[tokio::test]
async fn a_server_killed_in_the_middle_of_an_answer_says_so_afterwards_and_goes_on() {
    let model = ScriptedModel::start().await;
    let mut onyx = onyx(&model).await;
    model.push(Script::new([Step::Text("half an answer".into()), Step::Hang]));
    let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
    let session = lines.next().await.unwrap()["session_id"].as_str().unwrap().to_owned();
    lines.until("text").await;
    onyx.kill().await;
    assert_eq!(lines.next().await, None);
    onyx.restart().await;
    let messages = onyx.history(&session).await;
    assert_eq!(
        (&messages[0]["content"], &messages[0]["status"]),
        (&json!("go"), &json!("complete"))
    );
    assert_eq!((messages.len(), &messages[1]["status"]), (2, &json!("interrupted")));
    let next = onyx.chat_stream(&json!({"message": "go on", "session_id": session})).await;
    assert_eq!(said(&next), "ok");
    assert_eq!(onyx.history(&session).await.len(), 4);
}

#[tokio::test]
async fn what_was_finished_before_a_kill_is_kept() {
    let args = json!({"path": "a.md", "content": "kept"});
    let model = ScriptedModel::with_answers([
        Script::tool_calls([ScriptedCall::new("c", "write_file", &args)]),
        Script::new([Step::Hang]),
    ])
    .await;
    let mut onyx = onyx(&model).await;
    let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
    let session = lines.next().await.unwrap()["session_id"].as_str().unwrap().to_owned();
    lines.until("tool_result").await;
    wait_until("the second request", SOON, || model.request_count() == 2).await;
    onyx.kill().await;
    onyx.restart().await;
    let messages = onyx.history(&session).await;
    assert_eq!(messages[1]["status"], "interrupted");
    assert_eq!(messages[1]["tools"][0]["ok"], true);
    // Usage that was paid for is recorded, though the run never ended.
    let used = onyx.get("/api/admin/usage").await.expect(200).json();
    assert_eq!(used["models"][0]["name"], "mine/some-model", "{used}");
    assert!(used["total"]["output"].as_u64().unwrap() > 0, "{used}");
    let next = onyx.chat_stream(&json!({"message": "go on", "session_id": session})).await;
    assert_eq!(said(&next), "ok");
    assert_eq!(model.request_count(), 3, "the finished call was not made again");
}
