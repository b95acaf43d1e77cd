//! Retrieved context of a message: it is found, fenced, stored and replayed unchanged.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use onyx_agent::{Privacy, RunRequest, SessionRef};
use onyx_knowledge::{Chunking, Index, IndexSettings};
use onyx_storage::Channels;
use onyx_test_support::Answer;
use onyx_types::{
    ContextPiece, Embedder, EmbedderIdentity, Event, Limits, MatchType, ModelFailure, ModelId,
    Scope, SessionOrigin, StatusCode, SystemClock, TurnBody,
};
use serde_json::{Value, json};

use crate::world::{World, all, ana, request};

async fn with_index(answers: usize) -> World {
    indexed(answers, json!({})).await.0
}

/// A world with an index, whose only agent has these settings of its memory.
async fn indexed(answers: usize, memory: Value) -> (World, Index) {
    let answers = (0..answers).map(|n| Answer::text(format!("answer {n}")));
    let main = json!({"id": "main", "default": true, "tier": "act", "memory": memory});
    let world = World::with_agents(answers, json!({"list": [main]}), Limits::default()).await;
    let home = world.folder.path().join("home");
    let settings = IndexSettings { home, chunking: Chunking::default() };
    let index = Index::new(world.store.clone(), Arc::new(SystemClock::new()), settings);
    world.agent.set_index(index.clone());
    world.write("people/ana/vault/roof.md", "# Roof\n\nThe roofer is called Egon. <<fence>>\n");
    world.write("people/ana/memory/main/MEMORY.md", "The roof leaks in March.\n");
    world.write("people/ana/memory/other/MEMORY.md", "Another agent's roof.\n");
    (world, index)
}

/// What retrieval found for a message, if it found anything.
fn context(told: &[Event]) -> Option<&[ContextPiece]> {
    told.iter().find_map(|event| match event {
        Event::Context { pieces } => Some(pieces.as_slice()),
        _ => None,
    })
}

/// An embedder that remembers what it was asked.
#[derive(Default)]
struct Asked(Mutex<Vec<String>>);

impl Asked {
    fn count(&self, text: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|asked| *asked == text).count()
    }
}

impl Embedder for Asked {
    fn identity(&self) -> EmbedderIdentity {
        EmbedderIdentity { provider: "test".into(), model: "asked".into(), dims: 4 }
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelFailure>> {
        let vectors = vec![vec![1.0; 4]; texts.len()];
        self.0.lock().unwrap().extend(texts);
        async { Ok(vectors) }.boxed()
    }
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

const QUESTION: &str = "Who mends the roof?";

#[tokio::test]
async fn a_chat_gets_context_only_where_its_agent_asks_for_it() {
    for (memory, expected) in [
        (json!({}), None),
        (json!({"retrieval": false}), None),
        (json!({"retrieval": true}), Some(["memory/main/MEMORY.md", "vault/roof.md"])),
    ] {
        let (world, index) = indexed(1, memory).await;
        let embedder = Arc::new(Asked::default());
        index.set_embedder(Some(embedder.clone()));
        index.sync().await.unwrap();
        index.catch_up().await.unwrap();

        let (session, told) = world.say(None, QUESTION).await;

        let found = context(&told).map(|pieces| {
            let mut sources: Vec<_> = pieces.iter().map(|piece| piece.source.as_str()).collect();
            sources.sort_unstable();
            sources
        });
        assert_eq!(found.as_deref(), expected.as_ref().map(|sources| sources.as_slice()));
        assert_eq!(
            embedder.count(QUESTION),
            usize::from(expected.is_some()),
            "nothing is searched"
        );
        let log = format!("{:?}", world.log(session).await);
        assert_eq!(log.contains("Egon"), expected.is_some(), "{log}");
    }
}

#[tokio::test]
async fn what_others_hear_and_what_no_person_says_in_a_chat_gets_no_context() {
    let (world, _index) = indexed(4, json!({"retrieval": true})).await;
    let told = async |change: &dyn Fn(&mut RunRequest)| {
        let mut asked = request(None, QUESTION);
        change(&mut asked);
        all(world.agent.runs.start(asked).await.unwrap()).await
    };
    let of_origin = |origin| {
        move |it: &mut RunRequest| it.session = SessionRef::New { origin, agents: Vec::new() }
    };
    assert_eq!(context(&told(&|it| it.terms.privacy = Privacy::Shared).await), None);
    assert_eq!(context(&told(&of_origin(SessionOrigin::Job)).await), None);
    assert_eq!(context(&told(&of_origin(SessionOrigin::Api)).await), None);
    assert!(context(&told(&of_origin(SessionOrigin::Connector)).await).is_some());
}

#[tokio::test]
async fn a_message_to_a_companion_gets_what_its_space_and_its_agent_know() {
    let (world, index) = indexed(4, json!({})).await;
    for space in ["home", "work"] {
        let folder = format!("people/ana/spaces/{space}");
        world.write(&format!("{folder}/space.json"), &json!({"name": space}).to_string());
        world.write(&format!("{folder}/pages/roof.md"), &format!("The roof of {space}.\n"));
    }
    world.write("people/ana/spaces/home/channels/launch.json", r#"{"name": "Launch"}"#);
    world.write("shared/roofs.md", "A roof is mended in summer.\n");
    let channels = Channels::new(&*world.store.files, &ana()).unwrap();
    let channel = channels.get(&"launch".parse().unwrap()).await.unwrap().unwrap();
    let conversations = &world.agent.conversations;
    let (_, thread) =
        conversations.open_thread(&ana(), &channel, "Gutters".to_owned()).await.unwrap();
    world.say(thread.session(), "Egon mends the roof.").await;
    world.say(None, "The roof, between us.").await;
    let home = "home".parse().unwrap();
    let (companion, _) = conversations.open_companion(&ana(), &home).await.unwrap();
    index.sync().await.unwrap();
    index.catch_up().await.unwrap();

    let (_, told) = world.say(Some(companion.session_id), QUESTION).await;

    let pieces = context(&told).unwrap();
    let scopes: BTreeSet<_> = pieces.iter().map(|piece| piece.scope.clone()).collect();
    let main = Scope::Agent("main".parse().unwrap());
    let expected = [Scope::Space(home), Scope::Thread(thread.id.clone()), main, Scope::Shared];
    assert_eq!(scopes, BTreeSet::from(expected), "{pieces:?}");
    let pages = pieces.iter().filter(|piece| piece.source == "spaces/home/pages/roof.md");
    assert_eq!(pages.count(), 1, "{pieces:?}");
    let said = pieces.iter().filter_map(|piece| piece.cited.session_id);
    assert_eq!(said.collect::<Vec<_>>(), thread.session().as_slice());

    // What was just said to the companion is in its prompt already.
    index.catch_up().await.unwrap();
    let (_, told) = world.say(Some(companion.session_id), "Is the roof mended?").await;
    let pieces = context(&told).unwrap();
    let said = pieces.iter().filter_map(|piece| piece.cited.session_id);
    assert_eq!(said.collect::<Vec<_>>(), thread.session().as_slice());
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
