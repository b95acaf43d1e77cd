//! Cuts the provider's stream at every frame boundary and one byte beside it, through the whole
//! server.

use onyx_test_support::{
    Answer, Fault, Finish, OnyxProcess, Script, ScriptedCall, ScriptedModel, Step, Wire,
};
use serde_json::{Value, json};

use crate::{onyx, types};

fn answer() -> Script {
    Script::new([Step::Text("I write ".into()), Step::Text("both.".into())])
        .then(Step::ToolCalls(vec![
            ScriptedCall::new("a", "write_file", &json!({"path": "a.md", "content": "a"})).split(9),
            ScriptedCall::new("b", "write_file", &json!({"path": "b.md", "content": "b"})).split(9),
        ]))
        .ended(Finish::ToolCalls)
}

#[tokio::test]
async fn a_cut_stream_runs_no_tool_keeps_the_message_and_ends_with_a_typed_error_and_done() {
    let model = ScriptedModel::start().await;
    let onyx = onyx(&model).await;
    // The stream that the provider sends for Onyx's request.
    onyx.chat_stream(&json!({"message": "warm up"})).await;
    let frames = Wire::OpenAiChat.stream(&answer(), &model.last_request().body);
    let text = String::from_utf8(frames.bytes()).unwrap();
    let marker = text.find(r#""finish_reason":"tool_calls""#).unwrap();
    // The answer is complete from the finish marker on, with or without the end of its line.
    let finished = frames.boundaries().into_iter().find(|end| *end > marker).unwrap() - 2;
    for cut in cuts(&frames.boundaries(), text.len()) {
        for fault in [Fault::CloseAt(cut), Fault::ResetAt(cut), Fault::EndAt(cut)] {
            // A retry before the first byte is cut again. Only a request with tool results is
            // answered completely.
            model.respond_with(move |request| {
                let last = request.body["messages"].as_array().and_then(|all| all.last());
                match last {
                    Some(last) if last["role"] == "tool" => Answer::text("done"),
                    _ => Answer::script(answer()).fault(fault),
                }
            });
            let message = format!("{fault:?}");
            let events = onyx.chat_stream(&json!({"message": message})).await;
            let session = events[0]["session_id"].as_str().unwrap();
            let messages = onyx.history(session).await;
            assert_eq!(messages[0]["content"], message);
            let status = events.last().unwrap()["status"].as_str().unwrap();
            match status {
                // Only bytes after the finish marker were lost.
                "done" if cut >= finished => assert_eq!(take_written(&onyx), 2, "{message}"),
                "error" => {
                    check_error(&events, &messages, &message);
                    assert_eq!(take_written(&onyx), 0, "{message}");
                    // A successful answer keeps the provider's breaker closed, which would open
                    // after several failures.
                    model.respond_with(|_| Answer::text("fine"));
                    let fine = onyx.chat_stream(&json!({"message": "once more"})).await;
                    assert_eq!(fine.last().unwrap()["status"], "done");
                }
                other => panic!("{message} ended {other}: {:?}", types(&events)),
            }
        }
    }
}

/// Each boundary and the bytes before and after it.
fn cuts(boundaries: &[usize], whole: usize) -> Vec<usize> {
    let around = |at: &usize| [at.saturating_sub(1), *at, at + 1];
    let mut cuts: Vec<usize> =
        [0].iter().chain(boundaries).flat_map(around).filter(|cut| *cut < whole).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

fn check_error(events: &[Value], messages: &[Value], message: &str) {
    let kinds = types(events);
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("start", "done"), "{message}: {kinds:?}");
    assert!(!kinds.contains(&"tool_call"), "{message}: {kinds:?}");
    let errors: Vec<_> = events.iter().filter(|event| event["type"] == "error").collect();
    let code = errors[0]["code"].as_str().unwrap();
    assert!(matches!(code, "provider_truncated" | "provider_unavailable"), "{message}: {code}");
    assert_eq!((errors.len(), &messages[1]["status"]), (1, &json!("error")), "{message}");
}

/// How many of the two files exist. They are removed.
fn take_written(onyx: &OnyxProcess) -> usize {
    let vault = onyx.home().join("people/owner/vault");
    let remove = |name: &&str| std::fs::remove_file(vault.join(name)).is_ok();
    ["a.md", "b.md"].into_iter().filter(remove).count()
}
