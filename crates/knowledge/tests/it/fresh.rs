//! Tests that what was just written is ranked correctly, however long its vector takes.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use onyx_knowledge::Search;
use onyx_storage::{Area, SourceKey};
use onyx_types::{Cancel, Embedder, EmbedderIdentity, MatchType, ModelFailure};
use tokio::sync::Semaphore;

use crate::world::{Meaning, World, chat};

/// An embedder that makes vectors of questions at once, but vectors of texts only when the test
/// allows it.
struct Slow {
    meaning: Meaning,
    asked: Semaphore,
    let_go: Semaphore,
}

impl Embedder for Slow {
    fn identity(&self) -> EmbedderIdentity {
        self.meaning.identity()
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelFailure>> {
        Box::pin(async move {
            // Only a text has several lines, because its title is in a line of its own.
            if texts.iter().any(|text| text.contains('\n')) {
                self.asked.add_permits(1);
                self.let_go.acquire().await.unwrap().forget();
            }
            self.meaning.embed(texts).await
        })
    }
}

const LOGS: usize = 8;

async fn search(world: &World, text: &str) -> Vec<(String, MatchType)> {
    let search =
        Search { text: text.to_owned(), scopes: chat("anna"), kinds: Vec::new(), limit: 6 };
    let answer = world.index.search(&search).await.unwrap();
    assert_eq!((answer.degraded, answer.partial), (None, false));
    answer.hits.iter().map(|hit| (hit.path(), hit.match_type)).collect()
}

fn log(day: usize) -> String {
    format!("memory/main/daily/2026-01-0{day}.md")
}

#[tokio::test]
async fn what_has_no_vector_yet_is_ranked_by_its_words() {
    let world = World::new().await;
    for day in 1..=LOGS {
        let text = format!("- 10:00 swept the cellar, the code of day {day} was reviewed\n");
        world.write(&format!("people/anna/{}", log(day)), text);
    }
    let slow = Arc::new(Slow {
        meaning: Meaning::default(),
        asked: Semaphore::new(0),
        let_go: Semaphore::new(1),
    });
    world.index.set_embedder(Some(Arc::clone(&slow) as _));
    world.index.catch_up().await.unwrap();
    slow.asked.acquire().await.unwrap().forget();
    let measured = search(&world, "cellar code").await;
    assert!(measured.iter().all(|(_, how)| *how == MatchType::Hybrid), "{measured:?}");

    let stop = Cancel::new();
    let (index, ends) = (world.index.clone(), stop.clone());
    let tending = tokio::spawn(async move { index.tend(ends).await });
    let memory = Area::Memory("anna".parse().unwrap(), "main".parse().unwrap());
    let memory = world.store.files.objects(&memory).unwrap();
    let append = async |day: usize, text: &str| {
        let key = format!("daily/2026-01-0{day}.md").parse().unwrap();
        memory.append(&key, text.as_bytes()).await.unwrap();
    };
    append(9, "- 10:00 The cellar code is 9922\n").await;
    assert_eq!(search(&world, "cellar code").await[0], (log(9), MatchType::Fts));
    // The embedder was asked for the vector and has not answered yet.
    slow.asked.acquire().await.unwrap().forget();
    assert_eq!(search(&world, "cellar code").await[0], (log(9), MatchType::Fts));
    // The chunk was cut again because something was added to it, so it has no vector either.
    append(3, "- 11:00 The attic ladder is lent out\n").await;
    assert_eq!(search(&world, "attic ladder").await[0], (log(3), MatchType::Fts));
    // A text that contains the words among many others is ranked lower, with a vector or without.
    append(2, "- 12:00 Of the cellar and much else that was said there at great length\n").await;
    assert_eq!(search(&world, "cellar code").await[0], (log(9), MatchType::Fts));

    slow.let_go.add_permits(9);
    stop.cancel();
    tending.await.unwrap();
    world.index.catch_up().await.unwrap();
    assert_eq!(search(&world, "cellar code 9922").await[0], (log(9), MatchType::Hybrid));
    assert_eq!(search(&world, "attic ladder").await[0], (log(3), MatchType::Hybrid));
}

/// An embedder that does some work before it makes the vector of a question, once.
struct Meanwhile {
    meaning: Meaning,
    work: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl Embedder for Meanwhile {
    fn identity(&self) -> EmbedderIdentity {
        self.meaning.identity()
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelFailure>> {
        let work = self.work.lock().unwrap().take();
        Box::pin(async move {
            if let Some(work) = work {
                work.await;
            }
            self.meaning.embed(texts).await
        })
    }
}

/// A home with one note that has been searched, and an embedder.
async fn searched() -> (Arc<World>, Arc<Meanwhile>) {
    let world = Arc::new(World::new().await);
    world.write("people/anna/vault/old.md", "a walnut cake");
    let embedder = Arc::new(Meanwhile { meaning: Meaning::default(), work: Mutex::default() });
    world.index.set_embedder(Some(Arc::clone(&embedder) as _));
    world.index.catch_up().await.unwrap();
    assert_eq!(world.paths("walnut").await, ["vault/old.md"]);
    (world, embedder)
}

/// Writes a note like the old one to the chunk table, past everybody who could report it.
async fn write_unreported(world: &World) {
    let of = |path: &str| SourceKey { person: Some("anna".parse().unwrap()), path: path.into() };
    let chunks = &world.store.chunks;
    let mut row = chunks.source(&of("vault/old.md")).await.unwrap().unwrap();
    let texts = chunks.chunks(&row.key).await.unwrap();
    row.key = of("vault/new.md");
    chunks.replace(&row, &texts).await.unwrap();
}

/// Asking the chunk table where it stands is work that every search does, so it does it once.
#[tokio::test]
async fn a_search_asks_where_the_table_stands_before_its_question_is_embedded_and_not_again() {
    let (world, embedder) = searched().await;
    let other = Arc::clone(&world);
    let work = async move { write_unreported(&other).await };
    *embedder.work.lock().unwrap() = Some(Box::pin(work));
    assert_eq!(world.paths("walnut").await, ["vault/old.md"]);
    assert_eq!(world.paths("walnut").await.len(), 2, "the next search begins where it stands now");
}

#[tokio::test]
async fn a_search_that_another_one_overtook_leaves_the_tables_as_they_are() {
    let (world, embedder) = searched().await;
    let other = Arc::clone(&world);
    let work = async move {
        write_unreported(&other).await;
        assert_eq!(other.paths("\"walnut\"").await.len(), 2);
    };
    *embedder.work.lock().unwrap() = Some(Box::pin(work));
    // A text index that is made anew loses whatever else is in its folder.
    world.write("cache/text/witness", "");
    assert_eq!(world.paths("walnut").await.len(), 2);
    assert!(world.path("cache/text/witness").exists());
}
