//! Retrieved context of a message: it is found, fenced, stored and replayed unchanged.

use std::sync::Arc;

use onyx_knowledge::{Chunking, Index, IndexSettings};
use onyx_test_support::Answer;
use onyx_types::{Event, MatchType, ModelId, Scope, StatusCode, SystemClock, TurnBody};

use crate::world::{World, all, request};

async fn with_index(answers: usize) -> World {
    let world = World::new((0..answers).map(|n| Answer::text(format!("answer {n}")))).await;
    let home = world.folder.path().join("home");
    let settings = IndexSettings { home, chunking: Chunking::default() };
    let index = Index::new(world.store.clone(), Arc::new(SystemClock::new()), settings);
    world.agent.set_index(index);
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
    let first = world.agent.runs.start_with_context(request(None, "Who mends the roof?"), scopes());
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

/// Only the run notifies this index, and it does so before its end is announced.
#[tokio::test]
async fn what_was_said_is_found_as_soon_as_the_end_is_told() {
    let world = World::new([Answer::text("Egon mends roofs.")]).await;
    let home = world.folder.path().join("home");
    let settings = IndexSettings { home, chunking: Chunking::default() };
    let index = Index::new(world.store.clone(), Arc::new(SystemClock::new()), settings);
    world.agent.set_index(index.clone());
    // The index has finished its first sync before there is a session.
    assert_eq!(index.search_sessions(&"ana".parse().unwrap(), "roofs").await.unwrap(), []);
    let handle = world.agent.runs.start(request(None, "Who does it?")).await.unwrap();
    let session = handle.session_id;
    let mut events = handle.events;
    while let Some(event) = events.next().await {
        if matches!(event.event, Event::Done { .. }) {
            break;
        }
    }
    let found = index.search_sessions(&"ana".parse().unwrap(), "roofs").await.unwrap();
    let found: Vec<_> = found.iter().filter_map(|hit| Some(hit.session()?.0)).collect();
    assert_eq!(found, [session]);
}

#[tokio::test]
async fn a_chat_asks_for_nothing_and_gets_nothing() {
    let world = with_index(1).await;
    let (session, told) = world.say(None, "Who mends the roof?").await;
    assert!(!told.iter().any(|event| matches!(event, Event::Context { .. })));
    let log = world.log(session).await;
    assert!(!format!("{log:?}").contains("Egon"));
}

const SPACE: &str = "people/ana/spaces/0193b3a0-0000-7000-8000-000000000001";
const OTHER_SPACE: &str = "people/ana/spaces/0193b3a0-0000-7000-8000-000000000002";
const CHANNEL: &str = "0193b3a0-0000-7000-8000-000000000003";
const THREAD: &str = "0193b3a0-0000-7000-8000-000000000004";

/// The scopes in which context for a thread's message is searched. Some of them occur twice.
fn thread_scopes() -> Vec<Scope> {
    let space = Scope::Space("0193b3a0-0000-7000-8000-000000000001".parse().unwrap());
    vec![
        space.clone(),
        Scope::Channel(CHANNEL.parse().unwrap()),
        Scope::Thread(THREAD.parse().unwrap()),
        Scope::Agent("main".parse().unwrap()),
        space,
    ]
}

#[tokio::test]
async fn a_message_in_a_thread_is_answered_from_four_scopes_within_its_budget() {
    let world = with_index(2).await;
    for n in 0..30 {
        let padding = "and the gutter beside it ".repeat(40);
        world.write(&format!("{SPACE}/pages/{n}.md"), &format!("roof page {n} {padding}\n"));
    }
    world.write(&format!("{SPACE}/sources/s/a.md"), "The roof of the space's source.\n");
    let channel = format!("{SPACE}/channels/{CHANNEL}/sources/s/a.md");
    world.write(&channel, "The roof of the channel.\n");
    world.write(&format!("{SPACE}/threads/{THREAD}/sources/s/a.md"), "The roof of the thread.\n");
    world.write(&format!("{OTHER_SPACE}/pages/a.md"), "The roof of elsewhere.\n");
    world.write("people/bob/memory/main/MEMORY.md", "The roof of bob.\n");
    let mut asked = request(None, "Who mends the roof?");
    asked.model = Some(ModelId::new("mine/small"));
    let handle = world.agent.runs.start_with_context(asked, thread_scopes()).await.unwrap();
    let session = handle.session_id;
    let told = all(handle).await;
    let pieces = told.iter().find_map(|event| match event {
        Event::Context { pieces } => Some(pieces.clone()),
        _ => None,
    });
    let pieces = pieces.unwrap();
    for scope in thread_scopes() {
        assert!(pieces.iter().any(|piece| piece.scope == scope), "{scope:?} in {pieces:?}");
    }
    let mut places: Vec<_> =
        pieces.iter().map(|piece| (piece.source.clone(), piece.start_line)).collect();
    places.sort();
    let all_places = places.len();
    places.dedup();
    assert_eq!(places.len(), all_places, "nothing is given twice");
    assert!(pieces.iter().all(|piece| thread_scopes().contains(&piece.scope)), "{pieces:?}");

    let log = world.log(session).await;
    let block = log.iter().find_map(|turn| match &turn.body {
        TurnBody::User(user) => user.context.clone(),
        _ => None,
    });
    let block = block.unwrap();
    assert!(!block.contains("elsewhere") && !block.contains("bob") && !block.contains("Egon"));
    // Context takes a fifth of a window of 8,000. The fences around the pieces are estimated, so
    // the check leaves room for them.
    let tokens = onyx_types::estimate_tokens(&block);
    assert!(tokens <= 1_760 && tokens > 400, "{tokens}");
    let pages = pieces.iter().filter(|piece| piece.source.contains("/pages/")).count();
    assert!((1..12).contains(&pages), "{pages} pages fit");

    // Stored context stays unchanged when its files change, and when a replay reads it.
    world.write(&channel, "The roof is gone.\n");
    drop(world.say(Some(session), "And when?").await);
    let quoted = serde_json::to_string(&block).unwrap();
    let quoted = quoted.trim_matches('"');
    assert!(quoted.contains("The roof of the channel."), "{quoted}");
    let requests = world.model.requests();
    assert_eq!(requests.len(), 2);
    for request in requests {
        let messages = request.body["messages"].to_string();
        assert!(messages.contains(quoted), "byte for byte: {messages}");
    }
}
