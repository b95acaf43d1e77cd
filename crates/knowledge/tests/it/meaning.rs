//! Tests the search by meaning, and what happens without it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onyx_knowledge::{EmbeddingState, Retrieval, SearchSettings, Weights};
use onyx_types::{MatchType, PersonId, Scope};

use crate::world::{Meaning, World, chat};

async fn with_notes() -> (World, Arc<Meaning>) {
    let world = World::new().await;
    world.write("people/anna/vault/car.md", "The automobile needs new tyres.");
    world.write("people/anna/vault/doctor.md", "The physician said to rest.");
    world.write("people/anna/vault/bread.md", "Flour, water, salt.");
    let embedder = Arc::new(Meaning::default());
    world.index.set_embedder(Some(Arc::clone(&embedder) as _));
    world.index.catch_up().await.unwrap();
    (world, embedder)
}

#[tokio::test]
async fn other_words_for_the_same_are_found_by_meaning() {
    let (world, _) = with_notes().await;
    let answer = world.ask("my vehicle", &chat("anna")).await;
    assert_eq!((answer.degraded, answer.partial), (None, false));
    assert_eq!(answer.hits[0].path(), "vault/car.md");
    assert_eq!(answer.hits[0].match_type, MatchType::Vec);
    let both = world.find("physician").await;
    assert_eq!(
        (both[0].path().as_str(), both[0].match_type),
        ("vault/doctor.md", MatchType::Hybrid)
    );
    assert!(both[0].score > answer.hits[0].score);
}

#[tokio::test]
async fn a_message_is_searched_for_as_it_was_said_whatever_it_quotes() {
    let (world, embedder) = with_notes().await;
    let said = r#"He said "my vehicle" is an "old thi*" again"#;
    let retrieval = Retrieval {
        person: "anna".parse().unwrap(),
        groups: Retrieval::separately([
            Scope::Person,
            Scope::Agent("main".parse().unwrap()),
            Scope::Shared,
        ]),
        session: None,
        text: said.to_owned(),
        max_tokens: 1_000,
    };
    let before = embedder.calls.load(Ordering::Relaxed);
    let found = world.index.retrieve(&retrieval).await.unwrap();
    assert_eq!(embedder.calls.load(Ordering::Relaxed), before + 1);
    let first = &found.hits[0];
    assert_eq!((first.path().as_str(), first.match_type), ("vault/car.md", MatchType::Vec));
    // A typed search for the same text asks for exactly these words.
    assert_eq!(world.paths(said).await, [""; 0]);
}

#[tokio::test]
async fn without_an_embedder_words_are_found_and_it_says_so() {
    let world = World::new().await;
    world.write("people/anna/vault/car.md", "The automobile needs new tyres.");
    let answer = world.ask("tyres", &chat("anna")).await;
    assert_eq!(answer.hits.len(), 1);
    assert_eq!(answer.degraded.as_deref(), Some("no embedder is configured"));
    let status = world.index.status(&"anna".parse().unwrap()).await.unwrap();
    assert_eq!(status.embedding, EmbeddingState::Off);
}

#[tokio::test]
async fn an_embedder_that_fails_degrades_and_is_caught_up_with_later() {
    let (world, embedder) = with_notes().await;
    embedder.down.store(true, Ordering::Relaxed);
    world.write("people/anna/vault/surgeon.md", "The surgeon is kind.");
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    let answer = world.ask("kind", &chat("anna")).await;
    assert_eq!(answer.hits[0].path(), "vault/surgeon.md");
    assert_eq!(answer.degraded.as_deref(), Some("the embedder is away"));
    let anna = "anna".parse().unwrap();
    let status = world.index.status(&anna).await.unwrap();
    assert!(matches!(status.embedding, EmbeddingState::Failing { .. }));
    assert_eq!((status.chunks, status.vectors), (4, 3));

    embedder.down.store(false, Ordering::Relaxed);
    world.index.catch_up().await.unwrap();
    let answer = world.ask("doctor", &chat("anna")).await;
    assert_eq!(answer.degraded, None);
    let paths: Vec<_> = answer.hits.iter().map(|hit| hit.path()).collect();
    assert!(paths.contains(&"vault/surgeon.md".to_owned()), "{paths:?}");
    let status = world.index.status(&anna).await.unwrap();
    assert!(matches!(status.embedding, EmbeddingState::Ready { .. }));
    assert_eq!((status.chunks, status.vectors), (4, 4));
}

#[tokio::test]
async fn a_renamed_file_and_an_unchanged_part_keep_their_vectors() {
    let (world, embedder) = with_notes().await;
    let before = embedder.calls.load(Ordering::Relaxed);
    let (from, to) =
        (world.path("people/anna/vault/car.md"), world.path("people/anna/vault/auto/x.md"));
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::rename(from, to).unwrap();
    world.write("people/anna/vault/bread.md", "# bread\n\nFlour, water, salt.");
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    // The title of a file without a heading is its name, so the moved file has a new text to embed.
    assert!(embedder.calls.load(Ordering::Relaxed) - before <= 2);
    assert_eq!(world.find("vehicle").await[0].path(), "vault/auto/x.md");
}

/// An embedder with the same meaning whose vectors have another length.
#[derive(Default)]
struct Other(Meaning);

impl onyx_types::Embedder for Other {
    fn identity(&self) -> onyx_types::EmbedderIdentity {
        let identity = self.0.identity();
        onyx_types::EmbedderIdentity { model: "other".into(), dims: identity.dims + 1, ..identity }
    }

    fn embed(
        &self,
        texts: Vec<String>,
    ) -> futures::future::BoxFuture<'_, Result<Vec<Vec<f32>>, onyx_types::ModelFailure>> {
        let longer = |mut vector: Vec<f32>| {
            vector.push(0.0);
            vector
        };
        let made = self.0.embed(texts);
        Box::pin(async move { Ok(made.await?.into_iter().map(longer).collect()) })
    }
}

fn other(is_down: bool) -> Arc<Other> {
    let other = Other::default();
    other.0.down.store(is_down, Ordering::Relaxed);
    Arc::new(other)
}

async fn vectors(world: &World) -> u64 {
    world.index.status(&"anna".parse().unwrap()).await.unwrap().vectors
}

#[tokio::test]
async fn the_vectors_of_the_old_model_serve_until_all_new_ones_are_made() {
    let (world, old) = with_notes().await;
    let new = other(true);
    world.index.set_embedder(Some(Arc::clone(&new) as _));
    world.write("people/anna/vault/plane.md", "A plane flies.");
    world.index.catch_up().await.unwrap();
    let answer = world.ask("my vehicle", &chat("anna")).await;
    assert_eq!((answer.degraded, answer.partial), (None, false));
    let first = &answer.hits[0];
    assert_eq!((first.path().as_str(), first.match_type), ("vault/car.md", MatchType::Vec));
    assert_eq!(vectors(&world).await, 0, "those of the new model are counted");
    assert_eq!(world.paths("plane").await[0], "vault/plane.md");

    new.0.down.store(false, Ordering::Relaxed);
    world.index.catch_up().await.unwrap();
    assert_eq!(vectors(&world).await, 4);
    let asked = (old.calls.load(Ordering::Relaxed), new.0.calls.load(Ordering::Relaxed));
    let answer = world.ask("my vehicle", &chat("anna")).await;
    assert_eq!((answer.degraded, answer.hits[0].path().as_str()), (None, "vault/car.md"));
    assert_eq!(old.calls.load(Ordering::Relaxed), asked.0, "the old one is left alone");
    assert_eq!(new.0.calls.load(Ordering::Relaxed), asked.1 + 1);
    // All vectors are stored, so the next process need not make them again.
    let world = world.reopen().await;
    world.index.set_embedder(Some(Arc::clone(&new) as _));
    let before = new.0.calls.load(Ordering::Relaxed);
    world.index.catch_up().await.unwrap();
    assert_eq!(new.0.calls.load(Ordering::Relaxed), before);
}

#[tokio::test]
async fn without_the_old_model_its_vectors_are_of_no_use_and_it_says_so() {
    let (world, _) = with_notes().await;
    let world = world.reopen().await;
    let new = other(true);
    world.index.set_embedder(Some(Arc::clone(&new) as _));
    new.0.down.store(false, Ordering::Relaxed);
    let answer = world.ask("tyres", &chat("anna")).await;
    assert_eq!(answer.hits[0].path(), "vault/car.md");
    assert_eq!(
        answer.degraded.as_deref(),
        Some("the vectors of test/other (97) are still being made")
    );
    // Another part of the program that still has the embedder adds it.
    let lost = world.index.missing_embedder().await.unwrap();
    assert_eq!(lost.as_deref(), Some("test/meaning"));
    world.index.add_retired_embedder(Arc::new(Meaning::default()));
    assert_eq!(world.index.missing_embedder().await.unwrap(), None);
    let answer = world.ask("my vehicle", &chat("anna")).await;
    assert_eq!((answer.degraded, answer.hits[0].path().as_str()), (None, "vault/car.md"));
    world.index.catch_up().await.unwrap();
    assert_eq!((vectors(&world).await, world.index.missing_embedder().await.unwrap()), (3, None));
}

/// An embedder that counts a token for each letter, and can do so at once.
#[derive(Default)]
struct Counting(Meaning);

impl onyx_types::Embedder for Counting {
    fn identity(&self) -> onyx_types::EmbedderIdentity {
        onyx_types::EmbedderIdentity { model: "counting".into(), ..self.0.identity() }
    }

    fn embed(
        &self,
        texts: Vec<String>,
    ) -> futures::future::BoxFuture<'_, Result<Vec<Vec<f32>>, onyx_types::ModelFailure>> {
        self.0.embed(texts)
    }

    fn tokens_in(&self, text: &str) -> Option<usize> {
        Some(text.chars().filter(|c| c.is_alphabetic()).count())
    }
}

#[tokio::test]
async fn texts_are_cut_by_the_tokens_of_the_embedder_where_it_tells_them() {
    let world = World::new().await;
    let line = format!("{}\n", "abcdefgh ".repeat(10));
    world.write("people/anna/vault/long.md", format!("# Long\n\n{}", line.repeat(16)));
    let anna: PersonId = "anna".parse().unwrap();
    let chunks = async || world.index.status(&anna).await.unwrap().chunks;
    world.index.catch_up().await.unwrap();
    assert_eq!(chunks().await, 1, "about 300 tokens by the estimate");
    world.index.set_embedder(Some(Arc::new(Counting::default())));
    world.index.catch_up().await.unwrap();
    // Five lines of eighty tokens fit into 400, and one of them is repeated in the next chunk.
    assert_eq!(chunks().await, 4);
    let key = onyx_storage::SourceKey { person: Some(anna.clone()), path: "vault/long.md".into() };
    let rows = world.store.chunks.chunks(&key).await.unwrap();
    let ranges: Vec<_> = rows.iter().map(|row| (row.start_line, row.end_line)).collect();
    assert_eq!(ranges, [(1, 6), (6, 10), (10, 14), (14, 18)]);
    // Chunks are not cut less exactly while the embedder is not available.
    world.index.set_embedder(None);
    world.index.file_changed(key);
    world.index.catch_up().await.unwrap();
    assert_eq!(chunks().await, 4);
}

#[tokio::test]
async fn weights_variety_and_age_are_settings() {
    let (world, _) = with_notes().await;
    let only = |text: f32, vectors: f32| SearchSettings {
        weights: Some(Weights { text, vectors }),
        ..SearchSettings::default()
    };
    world.write("people/anna/vault/words.md", "doctor doctor doctor of letters and bread and salt");
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    world.index.set_search(only(1.0, 0.0));
    assert_eq!(world.find("doctor rest").await[0].path(), "vault/doctor.md");
    world.index.set_search(only(0.0, 1.0));
    let by_meaning = world.find("doctor letters").await;
    assert_eq!(by_meaning[0].path(), "vault/words.md");

    // The day of a log counts, not the time at which it was written.
    let now = world.clock().wall().as_millis();
    let log = |age: i64| {
        let day = onyx_types::Timestamp::from_millis(now - 86_400_000 * age).utc_date();
        format!("memory/main/daily/{day}.md")
    };
    let (old, new) = (log(300), log(1));
    world.write(&format!("people/anna/{new}"), "- a pear was eaten");
    world.write(&format!("people/anna/{old}"), "- pear pear pear");
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    world.index.set_search(only(1.0, 0.0));
    assert_eq!(world.paths("pear").await[0], old);
    world.index.set_search(SearchSettings { half_life_days: Some(30.0), ..only(1.0, 0.0) });
    assert_eq!(world.paths("pear").await[0], new);

    for n in 0..3 {
        world.write(&format!("people/anna/vault/glad{n}.md"), "happy happy plums plums");
    }
    world.write("people/anna/vault/plum.md", "plums for the car");
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    world.index.set_search(only(1.0, 1.0));
    let plain = world.paths("happy plums").await;
    world.index.set_search(SearchSettings { diversity: Some(0.7), ..only(1.0, 1.0) });
    let varied = world.paths("happy plums").await;
    let place = |paths: &[String]| paths.iter().position(|path| path == "vault/plum.md").unwrap();
    assert!(place(&varied) < place(&plain), "{plain:?} {varied:?}");
}

#[tokio::test]
async fn retrieval_takes_the_best_of_each_scope_within_its_budget() {
    let (world, _) = with_notes().await;
    for n in 0..20 {
        world.write(
            &format!("people/anna/vault/many{n}.md"),
            format!("plum number {n} {}", "pad ".repeat(60)),
        );
    }
    world.write("people/anna/memory/main/MEMORY.md", "Anna dislikes plums.");
    world.write("shared/plums.md", "Plums are ripe in August.");
    world.write("people/bert/vault/b.md", "plum of bert");
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    let retrieval = Retrieval {
        person: "anna".parse().unwrap(),
        groups: Retrieval::separately([
            Scope::Person,
            Scope::Agent("main".parse().unwrap()),
            Scope::Shared,
            Scope::Person,
        ]),
        session: None,
        text: "plum".into(),
        max_tokens: 700,
    };
    let found = world.index.retrieve(&retrieval).await.unwrap();
    let scopes: Vec<_> = found.hits.iter().map(|hit| &hit.scope).collect();
    assert!(
        scopes.contains(&&Scope::Shared)
            && scopes.contains(&&Scope::Agent("main".parse().unwrap()))
    );
    let mut chunks: Vec<_> = found.hits.iter().map(|hit| hit.chunk).collect();
    chunks.sort();
    chunks.dedup();
    assert_eq!(chunks.len(), found.hits.len());
    let tokens: usize = found.hits.iter().map(|hit| onyx_types::estimate_tokens(&hit.text)).sum();
    assert!(tokens <= 700 && found.hits.len() > 3, "{tokens} {}", found.hits.len());
    assert_eq!((Retrieval::budget(8_000), Retrieval::budget(1_000_000)), (1_600, 6_000));
}
