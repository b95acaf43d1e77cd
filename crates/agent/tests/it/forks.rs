use onyx_agent::{ForkPoint, RunInput};
use onyx_storage::Delivery;
use onyx_test_support::{Answer, Finish, Script, ScriptedCall, Step};
use onyx_types::{ErrorCode, RunStatus, SessionId, TurnBody, TurnId};
use serde_json::json;

use crate::world::{World, all, ana, kinds, request};

fn find(log: &[onyx_types::Turn], kind: &str, nth: usize) -> TurnId {
    log.iter().filter(|turn| turn.body.kind() == kind).nth(nth).unwrap().id
}

#[tokio::test]
async fn another_answer_is_a_fork_of_the_same_family() {
    let world =
        World::new([Answer::text("one"), Answer::text("two"), Answer::text("another two")]).await;
    let (session, _) = world.say(None, "first").await;
    world.say(Some(session), "second").await;
    let before = world.log(session).await;
    let answer = find(&before, "assistant_text", 1);

    let mut again = request(Some(session), "");
    again.input = RunInput::Regenerate(answer);
    let handle = world.agent.runs.start(again).await.unwrap();
    let fork = handle.session_id;
    all(handle).await;

    assert_ne!(fork, session);
    assert_eq!(world.log(session).await, before, "the original is untouched");
    let log = world.log(fork).await;
    let texts: Vec<_> = log
        .iter()
        .filter_map(|turn| match &turn.body {
            TurnBody::AssistantText(text) => Some(text.content.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["one", "another two"]);
    let meta = world.agent.sessions.meta(&ana(), fork).await.unwrap();
    assert_eq!((meta.root, meta.last_run_status), (session, Some(RunStatus::Done)));
    assert_eq!(meta.fork_turn, Some(find(&log, "user", 1)));
    let sent = world.model.last_request().body["messages"].to_string();
    assert!(sent.contains("second") && !sent.contains("\"two\""));
}

/// The message counts and previews of the sessions' rows, newest session first.
async fn counted(world: &World, sessions: &[SessionId]) -> Vec<(u64, String)> {
    let mut rows = Vec::new();
    for session in sessions {
        let meta = world.agent.sessions.meta(&ana(), *session).await.unwrap();
        rows.push((meta.message_count, meta.preview));
    }
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn messages_are_counted_alike_while_they_come_in_a_fork_and_from_the_log() {
    let call = ScriptedCall::new("a", "list_files", &json!({}));
    let first = Script::new([Step::Text("I look.".into()), Step::ToolCalls(vec![call])]);
    let world = World::new(Vec::<Answer>::new()).await;
    let open = world.hold_answers([
        Answer::script(first.ended(Finish::ToolCalls)),
        Answer::text("blue it is"),
        Answer::status(400, "{}"),
        Answer::text("never mind"),
        Answer::text("rather red"),
    ]);
    let handle = world.start(None, "paint it").await.unwrap();
    let session = handle.session_id;
    world.agent.runs.send(request(Some(session), "in blue"), Delivery::Steer).await.unwrap();
    drop(open);
    all(handle).await;
    world.say(Some(session), "fails").await;
    world.say(Some(session), "hm").await;
    let log = world.log(session).await;
    let answer = find(&log, "assistant_text", 1);
    let mut again = request(Some(session), "");
    again.input = RunInput::Regenerate(answer);
    let handle = world.agent.runs.start(again).await.unwrap();
    let regenerated = handle.session_id;
    all(handle).await;
    let through =
        world.agent.sessions.fork(&ana(), session, ForkPoint::Through(answer)).await.unwrap();
    let question = find(&log, "user", 0);
    let start =
        world.agent.sessions.fork(&ana(), session, ForkPoint::Through(question)).await.unwrap();
    let empty =
        world.agent.sessions.fork(&ana(), session, ForkPoint::Before(question)).await.unwrap();

    let sessions = [session, regenerated, through, start, empty];
    let rows = counted(&world, &sessions).await;
    let row = |count, preview: &str| (count, preview.to_owned());
    let expected = [
        row(7, "never mind"),
        row(4, "rather red"),
        row(4, "blue it is"),
        row(1, "paint it"),
        row(0, ""),
    ];
    assert_eq!(rows, expected);
    world.store.rebuild_sessions().await.unwrap();
    assert_eq!(counted(&world, &sessions).await, expected);
}

#[tokio::test]
async fn saying_it_differently_leaves_everything_before_it() {
    let world = World::new([Answer::text("one"), Answer::text("two"), Answer::text("three")]).await;
    let (session, _) = world.say(None, "first").await;
    world.say(Some(session), "second").await;
    let second = find(&world.log(session).await, "user", 1);
    let fork = world.agent.sessions.fork(&ana(), session, ForkPoint::Before(second)).await.unwrap();
    world.say(Some(fork), "rather this").await;
    let sent = world.model.last_request().body["messages"].to_string();
    assert!(sent.contains("first") && sent.contains("rather this") && !sent.contains("second"));

    let first = find(&world.log(session).await, "user", 0);
    let empty = world.agent.sessions.fork(&ana(), session, ForkPoint::Before(first)).await.unwrap();
    assert!(!kinds(&world.log(empty).await).contains(&"user"));
    let unknown = "0197f3a0-0000-7000-8000-000000000001".parse().unwrap();
    let fault =
        world.agent.sessions.fork(&ana(), session, ForkPoint::Through(unknown)).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::NotFound);
}

#[tokio::test]
async fn a_stored_message_is_answered_once_and_again_only_after_a_failure() {
    let world = World::new([Answer::status(400, "{}"), Answer::text("now it works")]).await;
    let (session, told) = world.say(None, "hi").await;
    assert!(crate::world::error_of(&told).is_some());
    let turn = find(&world.log(session).await, "user", 0);
    let mut stored = request(Some(session), "");
    stored.input = RunInput::Stored(turn);
    let handle = world.agent.runs.start(stored.clone()).await.unwrap();
    all(handle).await;
    let log = world.log(session).await;
    assert_eq!(kinds(&log).iter().filter(|kind| **kind == "user").count(), 1);
    let again = world.agent.runs.start(stored).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::SessionBusy, "it has its answer");
}
