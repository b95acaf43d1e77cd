use onyx_storage::{BeginIn, BeginRun};
use onyx_tools::{Masker, session_tools};
use onyx_types::{
    IdGenerator, Origin, SessionKey, SessionOrigin, Turn, TurnBody, UserContent, UserTurn,
};
use serde_json::json;

use crate::support::World;

/// A conversation of a person with one message.
async fn conversation(world: &World, person: &str, words: &str, origin: Origin) -> SessionKey {
    let at = world.cx.clock.wall();
    let mut mint = IdGenerator::new(u64::from(words.as_bytes()[0]));
    let key = SessionKey {
        person: person.parse().unwrap(),
        agent: "main".parse().unwrap(),
        session: mint.session(at),
    };
    let (run, input_turn) = (mint.run(at), mint.turn(at));
    let begin = BeginRun {
        run,
        key: key.clone(),
        input_turn,
        started_at: at,
        session: BeginIn::New(SessionOrigin::Chat),
    };
    world.store.ledger.begin_run(begin).await.unwrap();
    let lease = world.store.leases.acquire(&key, std::time::Duration::from_secs(60)).await.unwrap();
    let content = UserContent::Text(words.to_owned());
    let user = UserTurn::from(content);
    let turn = Turn {
        id: input_turn,
        ts: at,
        run: Some(run),
        lane: onyx_types::LaneId::default(),
        author: onyx_types::Author::Person(key.person.clone()),
        origin,
        body: TurnBody::User(user),
        extra: serde_json::Map::new(),
    };
    world.store.turns.append(&lease, &[turn]).await.unwrap();
    key
}

#[tokio::test]
async fn a_persons_own_conversations_are_listed_and_read_and_no_others() {
    let world = World::with(Vec::new(), Masker::default()).await;
    let tools = session_tools(&world.store);
    let world = world.with_tools(tools, Masker::default());
    assert_eq!(world.done("sessions_list", json!({})).await, "[none]");
    let own = conversation(&world, "ada", "alpha words", Origin::Person).await;
    let foreign = conversation(&world, "bob", "beta words", Origin::Person).await;
    let listed = world.done("sessions_list", json!({})).await;
    assert!(listed.starts_with(&own.session.to_string()) && listed.lines().count() == 1);
    let read = json!({"session": own.session.to_string()});
    let outcome = world.call("sessions_history", read).await;
    assert!(outcome.output.ends_with(" person] alpha words"), "{}", outcome.output);
    assert_eq!(outcome.origin, Origin::Person);
    let told =
        world.failed("sessions_history", json!({"session": foreign.session.to_string()})).await;
    assert_eq!(told, format!("there is no conversation {}", foreign.session));
    let told = world.failed("sessions_history", json!({"session": "../x"})).await;
    assert!(told.ends_with("is not an id; sessions_list shows them"), "{told}");
}

#[tokio::test]
async fn what_was_said_after_reading_from_outside_taints_again() {
    let world = World::with(Vec::new(), Masker::default()).await;
    let tools = session_tools(&world.store);
    let world = world.with_tools(tools, Masker::default());
    let key = conversation(&world, "ada", "gamma", Origin::AgentTainted).await;
    let read = json!({"session": key.session.to_string()});
    let outcome = world.call("sessions_history", read).await;
    assert_eq!(outcome.origin, Origin::AgentTainted);
}
