//! The provider's stream cut at every frame boundary and one byte beside it, end to end.

use onyx_test_support::{Answer, Fault, Finish, Script, ScriptedCall, ScriptedModel, Step, Wire};
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
    // The stream of the request that onyx makes, usage included.
    onyx.chat_stream(&json!({"message": "warm up"})).await;
    let frames = Wire::OpenAiChat.stream(&answer(), &model.last_request().body);
    let whole = frames.bytes().len();
    let mut cuts: Vec<usize> = frames
        .boundaries()
        .into_iter()
        .flat_map(|boundary| [boundary.saturating_sub(1), boundary, boundary + 1])
        .filter(|cut| *cut < whole)
        .collect();
    cuts.push(0);
    cuts.sort_unstable();
    cuts.dedup();
    // Everything from the finish reason on may be missing without harm to what was said.
    let finished = frames.boundaries()[frames.boundaries().len() - 3];
    for cut in cuts {
        for fault in [Fault::CloseAt(cut), Fault::ResetAt(cut), Fault::EndAt(cut)] {
            model.set_default(Answer::script(answer()).fault(fault));
            if cut >= finished {
                // A whole answer perhaps: then the tools run once, and the next answer ends it.
                model.push(Answer::script(answer()).fault(fault));
                model.set_default(Answer::text("done"));
            }
            let events = onyx.chat_stream(&json!({"message": format!("cut at {cut}")})).await;
            check(&onyx, &events, cut, fault).await;
        }
    }
}

async fn check(onyx: &onyx_test_support::OnyxProcess, events: &[Value], cut: usize, fault: Fault) {
    let kinds = types(events);
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("start", "done"), "{fault:?}: {events:?}");
    let session = events[0]["session_id"].as_str().unwrap();
    let messages = onyx.history(session).await;
    assert_eq!(messages[0]["content"], format!("cut at {cut}"));
    let vault = onyx.home().join("people/owner/vault");
    let written = vault.join("a.md").exists() || vault.join("b.md").exists();
    let status = events.last().unwrap()["status"].as_str().unwrap();
    if status == "done" {
        assert!(written, "{fault:?}: {events:?}");
        for name in ["a.md", "b.md"] {
            std::fs::remove_file(vault.join(name)).unwrap();
        }
        return;
    }
    assert!(!written && !kinds.contains(&"tool_call"), "{fault:?}: {events:?}");
    let error = events.iter().find(|event| event["type"] == "error").unwrap();
    let code = error["code"].as_str().unwrap();
    assert!(matches!(code, "provider_truncated" | "provider_unavailable"), "{fault:?}: {error}");
    assert_eq!(messages[1]["status"], "error");
}
