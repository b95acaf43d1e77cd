//! Nobody finds what is not theirs to see, whatever is asked.

use std::sync::Arc;

use onyx_knowledge::Search;
use onyx_storage::SourceKind;
use onyx_types::{PersonId, Scope, ScopeSet};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::world::{Meaning, World};

const PEOPLE: [&str; 2] = ["anna", "bert"];

/// Every place there is, each with a word of its own and some that all have.
fn fill(world: &World) {
    for person in PEOPLE {
        for place in [
            "vault/a.md",
            "vault/deep/b.md",
            "memory/main/MEMORY.md",
            "memory/other/MEMORY.md",
            "memory/main/daily/2026-01-01.md",
            "memory/other/sources/s/a.md",
            "spaces/0193b3a0-0000-7000-8000-000000000001/pages/p.md",
            "spaces/0193b3a0-0000-7000-8000-000000000001/sources/s/a.md",
            "spaces/0193b3a0-0000-7000-8000-000000000002/tasks/t.md",
            "spaces/0193b3a0-0000-7000-8000-000000000001/channels/0193b3a0-0000-7000-8000-000000000003/sources/s/a.md",
            "spaces/0193b3a0-0000-7000-8000-000000000001/threads/0193b3a0-0000-7000-8000-000000000004/sources/s/a.md",
        ] {
            let text = format!("secret common car {person} {}", place.replace(['/', '.'], " "));
            world.write(&format!("people/{person}/{place}"), text);
        }
    }
    world.write("shared/a.md", "secret common car shared");
}

fn scope() -> impl Strategy<Value = Scope> {
    let id = |n: u32| format!("0193b3a0-0000-7000-8000-00000000000{n}");
    prop_oneof![
        Just(Scope::Person),
        Just(Scope::Shared),
        "main|other|third".prop_map(|agent| Scope::Agent(agent.parse().unwrap())),
        (1..3_u32).prop_map(move |n| Scope::Space(id(n).parse().unwrap())),
        Just(Scope::Channel(id(3).parse().unwrap())),
        Just(Scope::Thread(id(4).parse().unwrap())),
    ]
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
    let world = runtime.block_on(async {
        let world = World::new().await;
        fill(&world);
        world.index.set_embedder(Some(Arc::new(Meaning::default())));
        world.index.catch_up().await.unwrap();
        world
    });
    let cases = (
        0..PEOPLE.len(),
        proptest::collection::vec(scope(), 0..5),
        proptest::collection::vec(proptest::sample::select(SourceKind::ALL.as_slice()), 0..3),
        proptest::collection::vec(word(), 1..5).prop_map(|words| words.join(" ")),
    );
    let found_anything = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(400));
    let outcome = runner.run(&cases, |(person, scopes, kinds, text)| {
        let person: PersonId = PEOPLE[person].parse().unwrap();
        let scopes = ScopeSet::new(person.clone(), scopes);
        let search = Search { text, scopes: scopes.clone(), kinds: kinds.clone(), limit: 100 };
        let answer = runtime.block_on(world.index.search(&search)).unwrap();
        for hit in &answer.hits {
            prop_assert!(scopes.allows(&hit.scope), "{:?} in {:?}", hit.scope, scopes);
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
        Ok(())
    });
    outcome.unwrap();
    let found = found_anything.get();
    assert!(found > 100, "the search found hardly anything: {found}");
}

#[tokio::test]
async fn a_scope_full_of_better_matches_hides_nothing_of_another() {
    let world = World::new().await;
    for n in 0..150 {
        world.write(&format!("people/bert/vault/{n}.md"), "apricot apricot apricot");
    }
    world.write("people/anna/vault/a.md", "one apricot among many other words of a long note");
    assert_eq!(world.paths("apricot").await, ["vault/a.md"]);
}
