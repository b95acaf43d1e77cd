//! The events of a run are kept for ten minutes after its end, whatever other runs send meanwhile.

use onyx_test_support::{Answer, Finish, Script, ScriptedCall, Step, wait_until};
use onyx_types::{Envelope, ErrorCode, Event, PersonId, RunId};
use serde_json::json;
use std::time::Duration;

use crate::world::{World, ana};

async fn told_after(world: &World, run: RunId, after: u64) -> Vec<Envelope> {
    let mut events = world.agent.runs.events(&ana(), run, after).await.unwrap();
    let mut told = Vec::new();
    while let Some(envelope) = events.next().await {
        told.push(Envelope::clone(&envelope));
    }
    told
}

async fn at_rest(world: &World) {
    let patience = Duration::from_secs(30);
    wait_until("nothing is at work", patience, || world.agent.runs.count() == 0).await;
}

/// A run with reasoning, pieces, two tools at once and a failure among them.
fn with_tools() -> [Answer; 2] {
    let write = json!({"path": "a.md", "content": "a"});
    let calls = vec![
        ScriptedCall::new("a", "write_file", &write),
        ScriptedCall::new("b", "read_file", &json!({"path": "nowhere.md"})),
    ];
    let first = [
        Step::Reasoning("Hm, grü".into()),
        Step::Reasoning("ße".into()),
        Step::Text("I wri".into()),
        Step::Text("te. ".into()),
        Step::ToolCalls(calls),
    ];
    let pieces = (0..40).map(|number| format!("{number} 🌍 "));
    [
        Answer::script(Script::new(first).ended(Finish::ToolCalls)),
        Answer::script(Script::text_pieces(pieces)),
    ]
}

#[tokio::test]
async fn a_run_is_told_again_number_by_number_however_long_the_answers_after_it_are() {
    let long = || Answer::text("long ".repeat(60_000));
    let [first, second] = with_tools();
    let world = World::new([first, second, Answer::text("ok"), long(), long(), long()]).await;
    let handle = world.start(None, "go").await.unwrap();
    let (session, run) = (handle.session_id, handle.run_id);
    crate::world::all(handle).await;
    let before = told_after(&world, run, 0).await;
    let handle = world.start(Some(session), "short").await.unwrap();
    let short = handle.run_id;
    crate::world::all(handle).await;
    let before_short = told_after(&world, short, 0).await;
    for _ in 0..3 {
        world.say(None, "tell me everything").await;
    }
    at_rest(&world).await;
    for after in 0..=before.len() {
        let expected = &before[after..];
        assert_eq!(told_after(&world, run, after as u64).await, expected, "after {after}");
    }
    assert_eq!(told_after(&world, short, 0).await, before_short);

    let other: PersonId = "bob".parse().unwrap();
    let fault = world.agent.runs.events(&other, run, 0).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::NotFound, "it is nobody else's");
    world.agent.sessions.delete(&ana(), session).await.unwrap();
    let fault = world.agent.runs.events(&ana(), run, 0).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::NotFound, "with its session it is gone");
}

#[tokio::test]
async fn a_run_that_failed_or_was_stopped_is_told_again_as_it_was() {
    let long = || Answer::text("long ".repeat(60_000));
    let broken = Script::new([Step::Text("half ".into()), Step::Hang]);
    let world =
        World::new([Answer::status(400, "{}"), Answer::script(broken), long(), long()]).await;
    let failed = world.start(None, "fail").await.unwrap();
    let failed_run = failed.run_id;
    crate::world::all(failed).await;
    let stopped = world.start(None, "stop").await.unwrap();
    let stopped_run = stopped.run_id;
    let mut events = stopped.events;
    while !matches!(events.next().await.unwrap().event, Event::TextDelta { .. }) {}
    let target = onyx_agent::StopTarget::Run(stopped_run);
    assert!(world.agent.runs.stop(&ana(), target).await.unwrap());
    let before =
        [told_after(&world, failed_run, 0).await, told_after(&world, stopped_run, 0).await];
    for _ in 0..2 {
        world.say(None, "tell me everything").await;
    }
    at_rest(&world).await;
    let after = [told_after(&world, failed_run, 0).await, told_after(&world, stopped_run, 0).await];
    assert_eq!(after, before);
}
