//! Tests that no person finds what they may not see, whatever they search for.

use std::sync::Arc;

use onyx_knowledge::Search;
use onyx_storage::SourceKind;
use onyx_types::{PersonId, Scope, ScopeSet, SessionOrigin};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::talk::Talk;
use crate::world::{Meaning, World};

const PEOPLE: [&str; 2] = ["anna", "bert"];

const SPACES: [&str; 2] =
    ["0193b3a0-0000-7000-8000-000000000001", "0193b3a0-0000-7000-8000-000000000002"];
const CHANNEL: &str = "0193b3a0-0000-7000-8000-000000000003";
const THREAD: &str = "0193b3a0-0000-7000-8000-000000000004";

/// A label that every text of a scope contains, so that the text itself says who may see it.
fn label(scope: &Scope) -> String {
    let name: String = format!("{scope:?}").chars().filter(|c| c.is_alphanumeric()).collect();
    format!("[{name}]")
}

/// Fills every place there is with texts. Each place has a word of its own and some that all have.
/// Returns the scopes that exist.
async fn fill(world: &World) -> Vec<Scope> {
    let agent = |name: &str| Scope::Agent(name.parse().unwrap());
    let space = |place: usize| Scope::Space(SPACES[place].parse().unwrap());
    let channel = Scope::Channel(CHANNEL.parse().unwrap());
    let thread = Scope::Thread(THREAD.parse().unwrap());
    let [home, away] = SPACES;
    let mut scopes = vec![Scope::Person, Scope::Shared, agent("third")];
    for person in PEOPLE {
        for (path, scope) in [
            ("vault/a.md".to_owned(), Scope::Person),
            ("vault/deep/b.md".to_owned(), Scope::Person),
            ("memory/main/MEMORY.md".to_owned(), agent("main")),
            ("memory/other/MEMORY.md".to_owned(), agent("other")),
            ("memory/main/daily/2026-01-01.md".to_owned(), agent("main")),
            ("memory/other/sources/s/a.md".to_owned(), agent("other")),
            (format!("spaces/{home}/pages/p.md"), space(0)),
            (format!("spaces/{home}/sources/s/a.md"), space(0)),
            (format!("spaces/{away}/tasks/t.md"), space(1)),
            (format!("spaces/{home}/channels/{CHANNEL}/sources/s/a.md"), channel.clone()),
            (format!("spaces/{home}/threads/{THREAD}/sources/s/a.md"), thread.clone()),
        ] {
            let words = path.replace(['/', '.'], " ");
            let text = format!("secret common car {person} {words} {}", label(&scope));
            world.write(&format!("people/{person}/{path}"), text);
            scopes.push(scope);
        }
        for origin in [
            SessionOrigin::Chat,
            SessionOrigin::Companion,
            SessionOrigin::Thread,
            SessionOrigin::Thread,
            SessionOrigin::Connector,
            SessionOrigin::Api,
        ] {
            scopes.extend(talk(world, person, origin).await);
        }
    }
    let text = format!("secret common car shared {}", label(&Scope::Shared));
    world.write("shared/a.md", text);
    scopes.sort();
    scopes.dedup();
    scopes
}

/// Holds a conversation, and returns the scope from which it may be found.
async fn talk(world: &World, person: &str, origin: SessionOrigin) -> Option<Scope> {
    let mut talk = Talk::new(world, person, origin);
    let session = talk.key.session.to_string();
    let scope = match origin {
        SessionOrigin::Companion => {
            let card = format!("people/{person}/spaces/{}/space.json", SPACES[1]);
            world.write(&card, format!("{{\"companion\": \"{session}\"}}"));
            Some(Scope::Space(SPACES[1].parse().unwrap()))
        }
        SessionOrigin::Thread => Some(Scope::Thread(session.parse().unwrap())),
        SessionOrigin::Api => None,
        _ => Some(Scope::Agent(talk.key.agent.clone())),
    };
    let whose = scope.as_ref().map_or_else(|| "[nobody]".to_owned(), label);
    talk.run(world, &[format!("secret common car {person} {whose}")]).await;
    scope
}

fn word() -> impl Strategy<Value = String> {
    const KNOWN: [&str; 9] =
        ["secret", "common", "car", "vehicle", "anna", "bert", "shared", "vault", "other"];
    prop_oneof![
        8 => proptest::sample::select(KNOWN.as_slice()).prop_map(str::to_owned),
        1 => Just("\"secret common\"".to_owned()),
        1 => Just("com*".to_owned()),
        1 => "[a-zA-Z0-9*\"():^+~-]{0,6}",
    ]
}

#[test]
fn a_chunk_of_another_person_or_scope_is_never_returned() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (world, places) = runtime.block_on(async {
        let world = World::new().await;
        let places = fill(&world).await;
        world.index.set_embedder(Some(Arc::new(Meaning::default())));
        world.index.catch_up().await.unwrap();
        (world, places)
    });
    let cases = (
        0..PEOPLE.len(),
        proptest::collection::vec(proptest::sample::select(places.clone()), 0..5),
        proptest::collection::vec(proptest::sample::select(SourceKind::ALL.as_slice()), 0..3),
        proptest::collection::vec(word(), 1..5).prop_map(|words| words.join(" ")),
    );
    let found_anything = std::cell::Cell::new(0);
    let found_sessions = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(400));
    let outcome = runner.run(&cases, |(person, scopes, kinds, text)| {
        let person: PersonId = PEOPLE[person].parse().unwrap();
        let scopes = ScopeSet::new(person.clone(), scopes);
        let search = Search { text, scopes: scopes.clone(), kinds: kinds.clone(), limit: 100 };
        let answer = runtime.block_on(world.index.search(&search)).unwrap();
        for hit in &answer.hits {
            prop_assert!(scopes.allows(&hit.scope), "{:?} in {:?}", hit.scope, scopes);
            prop_assert!(hit.text.contains(&label(&hit.scope)), "{:?}: {}", hit.scope, hit.text);
            prop_assert!(kinds.is_empty() || kinds.contains(&hit.kind));
            match &hit.key.person {
                Some(owner) => {
                    prop_assert_eq!(owner, &person);
                    prop_assert!(hit.text.contains(person.as_str()));
                }
                None => prop_assert_eq!(&hit.scope, &Scope::Shared),
            }
        }
        found_anything.set(found_anything.get() + answer.hits.len());
        let sessions = answer.hits.iter().filter(|hit| hit.kind == SourceKind::Session).count();
        found_sessions.set(found_sessions.get() + sessions);
        Ok(())
    });
    outcome.unwrap();
    let found = (found_anything.get(), found_sessions.get());
    assert!(found.0 > 100 && found.1 > 30, "the search found hardly anything: {found:?}");
    // Each person finds all that is theirs, and all conversations that are for everyone.
    for person in PEOPLE {
        let scopes = ScopeSet::new(person.parse().unwrap(), places.clone());
        let kinds = vec![SourceKind::Session];
        let search = Search { text: "secret".to_owned(), scopes, kinds, limit: 100 };
        let answer = runtime.block_on(world.index.search(&search)).unwrap();
        assert_eq!(answer.hits.len(), 5, "{person}: {:?}", answer.hits);
    }
}

#[tokio::test]
async fn a_scope_full_of_better_matches_hides_nothing_of_another() {
    let world = World::new().await;
    for n in 0..150 {
        world.write(&format!("people/bert/vault/{n}.md"), "apricot apricot apricot");
    }
    world.write("people/anna/vault/a.md", "one apricot among many other words of a long note");
    // A search waits only a short while for so many files.
    world.index.sync().await.unwrap();
    assert_eq!(world.paths("apricot").await, ["vault/a.md"]);
}
