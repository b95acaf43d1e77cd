//! Which agents answer in a session, and which listeners get notices of its changes.

use onyx_agent::{Notice, NoticeKind, RunInput, SessionPatch, SessionRef};
use onyx_storage::{Delivery, SessionStatus, TitleSource};
use onyx_test_support::Answer;
use onyx_types::{AgentId, LaneOrder, Limits, SessionOrigin, TurnBody};
use serde_json::json;

use crate::world::{World, all, ana, request};

async fn two_agents() -> World {
    let agents = json!({"list": [{"id": "ada", "default": true}, {"id": "bob"}]});
    World::with_agents([] as [Answer; 0], agents, Limits::default()).await
}

fn agents(names: &[&str]) -> Vec<AgentId> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

async fn authors(world: &World, session: onyx_types::SessionId) -> Vec<String> {
    let log = world.log(session).await;
    let answers = log.iter().filter(|turn| matches!(turn.body, TurnBody::AssistantText(_)));
    answers.map(|turn| serde_json::to_value(&turn.author).unwrap().to_string()).collect()
}

#[tokio::test]
async fn a_session_keeps_its_agents_for_later_runs_forks_and_fresh_starts() {
    let world = two_agents().await;
    let mut both = request(None, "hi");
    both.session =
        SessionRef::New { origin: SessionOrigin::Thread, agents: agents(&["bob", "ada"]) };
    let handle = world.agent.runs.start(both).await.unwrap();
    let session = handle.session_id;
    all(handle).await;
    world.say(Some(session), "again").await;
    assert_eq!(authors(&world, session).await.len(), 4);
    let meta = world.agent.sessions.meta(&ana(), session).await.unwrap();
    assert_eq!((&meta.agents, meta.mode), (&agents(&["bob", "ada"]), LaneOrder::Sequential));
    let path = format!("people/ana/sessions/bob/{session}.json");
    assert!(world.read(&path).unwrap().contains("\"thread\""), "its origin is on disk");

    let patch = SessionPatch { mode: Some(LaneOrder::Parallel), ..SessionPatch::default() };
    world.agent.sessions.patch(&ana(), session, patch).await.unwrap();
    let log = world.log(session).await;
    let answer = log.iter().rfind(|turn| matches!(turn.body, TurnBody::AssistantText(_)));
    let mut again = request(Some(session), "");
    again.input = RunInput::Regenerate(answer.unwrap().id);
    again.session = SessionRef::Asking { session, agents: agents(&["ada"]) };
    let handle = world.agent.runs.start(again).await.unwrap();
    let fork = handle.session_id;
    all(handle).await;
    assert_eq!(authors(&world, fork).await.len(), 3, "only the one that was asked");
    let fresh = world.agent.sessions.clear(&ana(), session).await.unwrap();
    for heir in [fork, fresh] {
        let meta = world.agent.sessions.meta(&ana(), heir).await.unwrap();
        assert_eq!((meta.agents, meta.mode), (agents(&["bob", "ada"]), LaneOrder::Parallel));
    }
    let old = world.agent.sessions.meta(&ana(), session).await.unwrap();
    assert_eq!(old.status, SessionStatus::Archived);
    let family = world.agent.sessions.family(&ana(), &old).await.unwrap();
    let ids: Vec<_> = family.iter().map(|meta| meta.session_id).collect();
    assert_eq!(ids, [session, fork]);
}

#[tokio::test]
async fn everything_that_happens_to_a_session_is_told_in_order() {
    let world = two_agents().await;
    let mut notices = world.agent.notices();
    let handle = world.start(None, "hi").await.unwrap();
    let (session, run) = (handle.session_id, handle.run_id);
    all(handle).await;
    // The notice of the run's end comes after the run's last event.
    let mut told = vec![notices.recv().await.unwrap(), notices.recv().await.unwrap()];
    let patch = SessionPatch { title: Some("Boats".to_owned()), ..SessionPatch::default() };
    let meta = world.agent.sessions.patch(&ana(), session, patch).await.unwrap();
    assert_eq!(meta.titled_by, TitleSource::Person);
    world.agent.sessions.delete(&ana(), session).await.unwrap();
    told.extend([notices.recv().await.unwrap(), notices.recv().await.unwrap()]);
    let expected = [
        NoticeKind::RunStarted(run),
        NoticeKind::RunEnded(run),
        NoticeKind::SessionChanged,
        NoticeKind::SessionDeleted,
    ];
    let expected = expected.map(|kind| Notice { person: ana(), session, kind });
    assert_eq!(told, expected);
}

#[tokio::test]
async fn words_for_an_idle_session_start_a_run() {
    let world = two_agents().await;
    let (session, _) = world.say(None, "hi").await;
    let sent =
        world.agent.runs.send(request(Some(session), "more"), Delivery::Steer).await.unwrap();
    let onyx_agent::SendOutcome::Started(handle) = sent else { panic!("not started") };
    all(handle).await;
    assert_eq!(authors(&world, session).await.len(), 2);
}
