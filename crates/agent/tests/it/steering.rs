use onyx_agent::{RunInput, SendOutcome, StopTarget};
use onyx_storage::{Delivery, InboxRow};
use onyx_test_support::{Answer, Script, ScriptedCall, Step, wait_until};
use onyx_types::{Event, RunStatus, SessionId, SessionKey, TurnBody, UserContent};
use serde_json::json;
use std::sync::mpsc;
use std::time::Duration;

use crate::world::{World, all, ana, request};

const PATIENCE: Duration = Duration::from_secs(30);

/// A run whose model lists files when the sender is dropped, and then answers.
async fn held() -> (World, onyx_agent::RunHandle, mpsc::SyncSender<()>) {
    let world = World::new(Vec::<Answer>::new()).await;
    let open = world.hold_answers([
        Answer::tool_calls([ScriptedCall::new("a", "list_files", &json!({}))]),
        Answer::text("blue it is"),
        Answer::text("and now the rest"),
    ]);
    let handle = world.start(None, "paint it").await.unwrap();
    (world, handle, open)
}

fn said(log: &[onyx_types::Turn]) -> Vec<String> {
    let words = log.iter().filter_map(|turn| match &turn.body {
        TurnBody::User(user) => Some(format!("user {}", user.content.text())),
        TurnBody::AssistantText(text) => Some(format!("agent {}", text.content)),
        TurnBody::ToolResult(_) => Some("result".to_owned()),
        _ => None,
    });
    words.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn words_for_a_running_session_join_it_after_the_tools_of_the_step() {
    let (world, handle, open) = held().await;
    let session = handle.session_id;
    let sent =
        world.agent.runs.send(request(Some(session), "in blue"), Delivery::Steer).await.unwrap();
    let SendOutcome::Queued { turn, run } = sent else { panic!("not queued") };
    assert_eq!(run, handle.run_id);
    drop(open);
    all(handle).await;
    let log = world.log(session).await;
    assert_eq!(said(&log), ["user paint it", "result", "user in blue", "agent blue it is"]);
    assert!(log.iter().any(|t| t.id == turn), "it has the id that was acknowledged");
    let key = SessionKey { person: ana(), agent: "main".parse().unwrap(), session };
    assert!(world.store.ledger.inbox(&key).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_follow_up_waits_for_the_answer() {
    let (world, handle, open) = held().await;
    let session = handle.session_id;
    world
        .agent
        .runs
        .send(request(Some(session), "then frame it"), Delivery::FollowUp)
        .await
        .unwrap();
    drop(open);
    all(handle).await;
    let expected = [
        "user paint it",
        "result",
        "agent blue it is",
        "user then frame it",
        "agent and now the rest",
    ];
    assert_eq!(said(&world.log(session).await), expected);
}

#[tokio::test]
async fn words_a_stopped_run_did_not_take_lead_the_next_one() {
    let world =
        World::new([Answer::script(Script::new([Step::Text("Hm".to_owned()), Step::Hang]))]).await;
    let mut handle = world.start(None, "one").await.unwrap();
    let session = handle.session_id;
    while let Some(envelope) = handle.events.next().await {
        if matches!(envelope.event, Event::TextDelta { .. }) {
            break;
        }
    }
    world.agent.runs.send(request(Some(session), "two"), Delivery::Steer).await.unwrap();
    world.agent.runs.stop(&ana(), StopTarget::Session(session)).await.unwrap();
    world.model.push(Answer::text("both"));
    world.say(Some(session), "three").await;
    assert_eq!(
        said(&world.log(session).await),
        ["user one", "agent Hm", "user two", "user three", "agent both"]
    );
}

async fn leave_words(world: &World, session: SessionId, text: &str) -> SessionKey {
    let key = SessionKey { person: ana(), agent: "main".parse().unwrap(), session };
    let row = InboxRow {
        turn: "0197f3a0-0000-7000-8000-00000000000c".parse().unwrap(),
        delivery: Delivery::Steer,
        words: UserContent::Text(text.to_owned()).into(),
        received_at: onyx_types::Timestamp::from_millis(0),
    };
    world.store.ledger.put_inbox(&key, row).await.unwrap();
    key
}

#[tokio::test]
async fn waiting_words_can_be_answered_on_their_own_and_only_once() {
    let world = World::new([Answer::text("one"), Answer::text("two")]).await;
    let (session, _) = world.say(None, "first").await;
    let key = leave_words(&world, session, "left over").await;
    let mut waiting = request(Some(session), "");
    waiting.input = RunInput::Waiting;
    let told = all(world.agent.runs.start(waiting.clone()).await.unwrap()).await;
    assert!(matches!(told.last(), Some(Event::Done { status: RunStatus::Done, .. })));
    assert_eq!(said(&world.log(session).await).last().unwrap(), "agent two");
    leave_words(&world, session, "left over").await;
    assert!(world.agent.runs.start(waiting).await.is_err(), "the log has them: not taken for new");
    assert!(world.store.ledger.inbox(&key).await.unwrap().is_empty());
}

#[tokio::test]
async fn text_that_streams_is_noted_and_survives_a_crash() {
    let world =
        World::new([Answer::script(Script::new([Step::Text("half a th".to_owned()), Step::Hang]))])
            .await;
    let handle = world.start(None, "go").await.unwrap();
    let (session, run) = (handle.session_id, handle.run_id);
    let path = format!("people/ana/sessions/main/{session}.jsonl");
    wait_until("the text is noted", PATIENCE, || {
        world.read(&format!("{path}.live")).is_some_and(|text| text.contains("half a th"))
    })
    .await;
    // The copy simulates a crash: it holds the files exactly as they are at this moment.
    let copy = tempfile::tempdir().unwrap();
    let status = std::process::Command::new("cp")
        .args(["-r", "--"])
        .arg(world.folder.path().join("home"))
        .arg(copy.path())
        .status()
        .unwrap();
    assert!(status.success());
    let after = World::reopen(copy, [Answer::text("x")]).await;
    assert_eq!(after.agent.recover().await.unwrap(), 1);
    let log = after.log(session).await;
    let TurnBody::AssistantText(text) = &log[2].body else { panic!("{log:?}") };
    assert_eq!((text.content.as_str(), text.status.as_str()), ("half a th", "interrupted"));
    assert_eq!(log[2].origin, onyx_types::Origin::Agent, "nothing from outside was read");
    assert!(after.read(&format!("{path}.live")).is_none());
    let row = async || after.agent.sessions.meta(&ana(), session).await.unwrap();
    let booked = row().await;
    assert_eq!((booked.message_count, booked.preview.as_str()), (1, "go"));
    after.store.rebuild_sessions().await.unwrap();
    assert_eq!(row().await.message_count, 1);

    world.agent.runs.stop(&ana(), StopTarget::Run(run)).await.unwrap();
    wait_until("the notes are gone", PATIENCE, || world.read(&format!("{path}.live")).is_none())
        .await;
}

#[tokio::test]
async fn a_reader_that_comes_back_twenty_times_sees_every_byte_once() {
    let pieces: Vec<String> = (0..60).map(|n| format!("{n:02} ")).collect();
    let world = World::new([Answer::script(Script::text_pieces(pieces.clone())).delay_ms(3)]).await;
    let handle = world.start(None, "count").await.unwrap();
    let (run, mut after, mut text) = (handle.run_id, 0, String::new());
    drop(handle);
    for _ in 0..1_000 {
        let mut reader = world.agent.runs.events(&ana(), run, after).await.unwrap();
        for _ in 0..3 {
            let Some(envelope) = reader.next().await else { break };
            assert_eq!(envelope.seq, after + 1);
            after = envelope.seq;
            match &envelope.event {
                Event::TextDelta { text: piece, .. } => text.push_str(piece),
                Event::Done { .. } => {
                    assert_eq!(text, pieces.concat());
                    assert!(after > 60);
                    return;
                }
                _ => {}
            }
        }
    }
    panic!("the run never ended");
}
