use std::time::{Duration, Instant};

use onyx_test_support::{Answer, Finish, Script, ScriptedCall, ScriptedModel, Step, wait_for};
use serde_json::{Value, json};

use super::{assert_goes_on, in_session};
use crate::onyx;
use crate::witness::{self, Told};

/// The promised time. Most sessions are free in it on any machine.
const PROMISED: Duration = Duration::from_secs(1);
/// A slow machine may take longer for a few of them.
const FREE_AGAIN: Duration = Duration::from_secs(3);

/// Two steps with tools and a last step with text, slow enough to disconnect at any point. Before
/// its last words the model waits longer than a busy machine needs to notice that a client is gone.
fn steps() -> Vec<Answer> {
    let call = |id: &str, tool: &str, arguments: Value| ScriptedCall::new(id, tool, &arguments);
    let asks = |text: &str, calls: Vec<ScriptedCall>| {
        let steps = [Step::Text(text.into()), Step::PauseMs(50), Step::ToolCalls(calls)];
        Answer::script(Script::new(steps).ended(Finish::ToolCalls))
    };
    let last = [Step::Text("all ".into()), Step::PauseMs(1_000), Step::Text("done".into())];
    vec![
        asks("first", vec![call("a", "write_file", json!({"path": "a.md", "content": "a"}))]),
        asks("then", vec![call("b", "read_file", json!({"path": "a.md"}))]),
        Answer::script(Script::new(last).ended(Finish::Stop)),
    ]
}

#[tokio::test]
async fn a_client_gone_at_any_event_frees_its_session_and_the_next_message_works() {
    let model = ScriptedModel::start().await;
    // The answer depends on the request, so that a run whose client has left gets its own answers.
    model.respond_with(|request| {
        let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
        let last = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
        if messages[last].to_string().contains("next") {
            return Answer::text("ok");
        }
        let done = messages[last..].iter().filter(|message| message["role"] == "tool").count();
        steps().into_iter().nth(done).unwrap_or_else(|| Answer::text("ok"))
    });
    let onyx = onyx(&model).await;
    let mut events = 1;
    let mut freed = Vec::new();
    for left_after in 1.. {
        let mut lines = onyx.chat_lines(&json!({"message": "go"})).await;
        let mut told = Told::default();
        let mut seen = 0;
        while seen < left_after
            && let Some(event) = lines.next().await
        {
            told.hear(&event);
            seen += 1;
        }
        if told.status.is_some() {
            break;
        }
        events = seen;
        drop(lines);
        let gone = Instant::now();
        let session = told.session.clone().unwrap();
        // The time that the next request itself takes does not count.
        let free = wait_for("the session to be free", FREE_AGAIN, async || {
            let asked = Instant::now();
            let next = witness::talk(onyx.client(), &in_session(&session, "next")).await;
            (next.status.as_deref() == Some("done")).then_some(asked)
        })
        .await;
        freed.push(free.duration_since(gone));
        assert_eq!(model.answering(), 0, "the model's answer was let go");
        assert_goes_on(&onyx, &session, &told).await;
        let turns = witness::turns(onyx.client(), &session).await;
        let ended = turns.iter().find(|turn| turn["type"] == "run_end").unwrap();
        // If everything was said there is nothing left to cancel.
        let whole = told.text.ends_with("all done") && ended["status"] == "done";
        assert!(whole || ended["status"] == "cancelled", "{ended} left after {seen}: {told:?}");
    }
    assert!(events >= 7, "only {events} events to leave at");
    freed.sort_unstable();
    println!("free again after {freed:?}");
    assert!(freed[freed.len() / 2] < PROMISED, "half of them took longer: {freed:?}");
}
