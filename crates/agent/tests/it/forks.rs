use onyx_agent::{ForkPoint, RunInput};
use onyx_test_support::Answer;
use onyx_types::{ErrorCode, RunStatus, TurnBody, TurnId};

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
    let handle = world.manager.start(again).await.unwrap();
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
    let meta = world.manager.session_meta(&ana(), fork).await.unwrap();
    assert_eq!((meta.root, meta.last_run_status), (session, Some(RunStatus::Done)));
    assert_eq!(meta.fork_turn, Some(find(&log, "user", 1)));
    let sent = world.model.last_request().body["messages"].to_string();
    assert!(sent.contains("second") && !sent.contains("\"two\""));
}

#[tokio::test]
async fn saying_it_differently_leaves_everything_before_it() {
    let world = World::new([Answer::text("one"), Answer::text("two"), Answer::text("three")]).await;
    let (session, _) = world.say(None, "first").await;
    world.say(Some(session), "second").await;
    let second = find(&world.log(session).await, "user", 1);
    let fork = world.manager.fork(&ana(), session, ForkPoint::Before(second)).await.unwrap();
    world.say(Some(fork), "rather this").await;
    let sent = world.model.last_request().body["messages"].to_string();
    assert!(sent.contains("first") && sent.contains("rather this") && !sent.contains("second"));

    let first = find(&world.log(session).await, "user", 0);
    let empty = world.manager.fork(&ana(), session, ForkPoint::Before(first)).await.unwrap();
    assert!(!kinds(&world.log(empty).await).contains(&"user"));
    let unknown = "0197f3a0-0000-7000-8000-000000000001".parse().unwrap();
    let fault = world.manager.fork(&ana(), session, ForkPoint::Through(unknown)).await.unwrap_err();
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
    let handle = world.manager.start(stored.clone()).await.unwrap();
    all(handle).await;
    let log = world.log(session).await;
    assert_eq!(kinds(&log).iter().filter(|kind| **kind == "user").count(), 1);
    let again = world.manager.start(stored).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::SessionBusy, "it has its answer");
}
