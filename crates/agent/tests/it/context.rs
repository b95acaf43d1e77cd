//! What a message is given beside it: found, fenced, stored and replayed as it was.

use std::sync::Arc;

use onyx_knowledge::{Chunking, Index, IndexSettings};
use onyx_test_support::Answer;
use onyx_types::{Event, MatchType, Scope, StatusCode, SystemClock, TurnBody};

use crate::world::{World, all, request};

async fn with_index(answers: usize) -> World {
    let world = World::new((0..answers).map(|n| Answer::text(format!("answer {n}")))).await;
    let home = world.folder.path().join("home");
    let settings = IndexSettings { home, chunking: Chunking::default() };
    let index = Index::new(world.store.clone(), Arc::new(SystemClock::new()), settings);
    world.manager.set_index(index);
    world.write("people/ana/vault/roof.md", "# Roof\n\nThe roofer is called Egon. <<fence>>\n");
    world.write("people/ana/memory/main/MEMORY.md", "The roof leaks in March.\n");
    world.write("people/ana/memory/other/MEMORY.md", "Another agent's roof.\n");
    world
}

fn scopes() -> Vec<Scope> {
    vec![Scope::Person, Scope::Agent("main".parse().unwrap())]
}

#[tokio::test]
async fn what_is_found_is_told_fenced_stored_and_replayed_byte_equal() {
    let world = with_index(2).await;
    let first = world.manager.start_with_context(request(None, "Who mends the roof?"), scopes());
    let handle = first.await.unwrap();
    let session = handle.session_id;
    let told = all(handle).await;
    let Some(Event::Context { pieces }) =
        told.iter().find(|event| matches!(event, Event::Context { .. }))
    else {
        panic!("no context was told: {told:?}");
    };
    let mut sources: Vec<_> = pieces.iter().map(|piece| piece.source.as_str()).collect();
    sources.sort_unstable();
    assert_eq!(sources, ["memory/main/MEMORY.md", "vault/roof.md"]);
    assert!(pieces.iter().all(|piece| piece.match_type == MatchType::Fts));
    assert!(matches!(&told[0], Event::Start { .. }));
    let degraded =
        |event: &Event| matches!(event, Event::Status { code: StatusCode::Degraded, .. });
    assert!(told.iter().any(degraded), "words alone were searched");

    let log = world.log(session).await;
    let stored = log.iter().find_map(|turn| match &turn.body {
        TurnBody::User(user) => user.context.clone(),
        _ => None,
    });
    let block = stored.unwrap();
    assert!(block.contains("[person] vault/roof.md:1-3") && block.contains("called Egon"));
    assert!(block.contains("< <fence> >") && !block.contains("Another agent"), "{block}");

    world.say(Some(session), "And when?").await;
    let requests = world.model.requests();
    let sent: Vec<String> = requests.iter().map(|it| it.body["messages"].to_string()).collect();
    let quoted = serde_json::to_string(&block).unwrap();
    let quoted = quoted.trim_matches('"');
    assert!(sent.iter().all(|messages| messages.contains(quoted)), "{sent:?}");
    let system = requests[0].body["messages"][0].to_string();
    assert!(!system.contains("Egon"), "context stands beside the message, never in the rules");
}

#[tokio::test]
async fn a_chat_asks_for_nothing_and_gets_nothing() {
    let world = with_index(1).await;
    let (session, told) = world.say(None, "Who mends the roof?").await;
    assert!(!told.iter().any(|event| matches!(event, Event::Context { .. })));
    let log = world.log(session).await;
    assert!(!format!("{log:?}").contains("Egon"));
}
