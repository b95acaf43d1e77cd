//! Tests token vectors: they rank chunks, they may come late or be missing without harm, and they
//! are deleted with their chunk.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::BoxFuture;
use onyx_knowledge::SearchSettings;
use onyx_storage::ChunkId;
use onyx_types::{Embedded, Embedder, EmbedderIdentity, ModelFailure, TokenVectors};

use crate::world::{Meaning, World};

/// An embedder for which every text is as near as every other, so that only tokens tell them apart.
#[derive(Default)]
struct ByTokens {
    inner: Meaning,
    model: &'static str,
}

const DIMS: usize = 96;
const MODEL: &str = "test/tokens (96)";

impl Embedder for ByTokens {
    fn identity(&self) -> EmbedderIdentity {
        let model = if self.model.is_empty() { "tokens" } else { self.model };
        EmbedderIdentity { provider: "test".into(), model: model.into(), dims: DIMS }
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelFailure>> {
        self.inner.calls.fetch_add(texts.len(), Ordering::Relaxed);
        Box::pin(async move { Ok(texts.iter().map(|_| vec![1.0; DIMS]).collect()) })
    }

    fn gives_tokens(&self) -> bool {
        true
    }

    fn embed_tokens(
        &self,
        texts: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<Embedded>, ModelFailure>> {
        Box::pin(async move {
            let mut made = Vec::new();
            for text in texts {
                let lowered = text.to_lowercase();
                let words = lowered.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
                let words: Vec<String> = words.map(str::to_owned).collect();
                let whole = self.inner.embed(words.clone()).await?;
                let byte = |number: &f32| (number * 40.0) as i8 - 1;
                let values = whole.iter().flatten().map(byte).collect();
                let tokens = Some(TokenVectors { words, values });
                made.push(Embedded { vector: vec![1.0; DIMS], tokens });
            }
            Ok(made)
        })
    }
}

async fn with_notes(settings: SearchSettings) -> (World, Arc<ByTokens>) {
    let world = World::new().await;
    for (name, text) in [
        ("bread", "flour and water and salt"),
        ("garage", "it stands beside an automobile"),
        ("plane", "it flies over some sea"),
    ] {
        world.write(&format!("people/anna/vault/{name}.md"), format!("# {name}\n\n{text}"));
    }
    let embedder = Arc::new(ByTokens::default());
    world.index.set_search(settings);
    world.index.set_embedder(Some(Arc::clone(&embedder) as _));
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    (world, embedder)
}

async fn bytes(world: &World) -> u64 {
    world.store.chunks.token_bytes(MODEL).await.unwrap()
}

#[tokio::test]
async fn tokens_find_what_the_whole_does_not_tell_apart() {
    let (world, _) = with_notes(SearchSettings::default()).await;
    assert!(bytes(&world).await > 0);
    assert_eq!(world.paths("vehicle").await[0], "vault/garage.md");
    // Without token vectors every text is equally near, but all are still found.
    let none = SearchSettings { most_token_bytes: 0, ..SearchSettings::default() };
    let (world, _) = with_notes(none).await;
    assert_eq!(bytes(&world).await, 0);
    assert_eq!(world.paths("vehicle").await[0], "vault/bread.md");
    assert_eq!(world.paths("vehicle").await.len(), 3);
    // Room that is allowed later is used.
    world.index.set_search(SearchSettings::default());
    world.write("people/anna/vault/new.md", "another thing");
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    assert_eq!(world.paths("vehicle").await[0], "vault/garage.md");
}

#[tokio::test]
async fn tokens_go_where_their_chunk_goes() {
    let (world, embedder) = with_notes(SearchSettings::default()).await;
    let before = (bytes(&world).await, embedder.inner.calls.load(Ordering::Relaxed));
    let (from, to) =
        (world.path("people/anna/vault/plane.md"), world.path("people/anna/vault/x.md"));
    std::fs::rename(from, to).unwrap();
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    let after = (bytes(&world).await, embedder.inner.calls.load(Ordering::Relaxed));
    assert_eq!(after, before, "a file that says the same keeps them");
    for name in ["bread", "garage", "x"] {
        std::fs::remove_file(world.path(&format!("people/anna/vault/{name}.md"))).unwrap();
    }
    world.index.sync().await.unwrap();
    assert_eq!(bytes(&world).await, 0);
    assert_eq!(world.paths("vehicle").await, [""; 0]);
}

#[tokio::test]
async fn tokens_of_another_model_are_made_anew_and_a_lost_cache_is_no_loss() {
    let (world, _) = with_notes(SearchSettings::default()).await;
    let other = Arc::new(ByTokens { model: "newer", ..ByTokens::default() });
    world.index.set_embedder(Some(other as _));
    world.index.catch_up().await.unwrap();
    assert_eq!(bytes(&world).await, 0, "those of the old model are gone");
    assert!(world.store.chunks.token_bytes("test/newer (96)").await.unwrap() > 0);
    assert_eq!(world.paths("vehicle").await[0], "vault/garage.md");
    std::fs::remove_dir_all(world.path("cache")).unwrap();
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    assert_eq!(world.paths("vehicle").await[0], "vault/garage.md");
}

/// Writes notes one after the other. Each is longer than its name, so that no two have the same
/// text.
async fn write_notes(world: &World, names: &[&str]) {
    for name in names {
        world.write(&format!("people/anna/vault/{name}.md"), format!("{name} alpha beta gamma"));
        world.index.sync().await.unwrap();
        world.index.catch_up().await.unwrap();
    }
}

/// The names of the notes without token vectors, the oldest first.
async fn without_tokens(world: &World) -> Vec<String> {
    let lacking = world.store.chunks.without_tokens(MODEL, ChunkId(0), 99).await.unwrap();
    lacking.into_iter().map(|chunk| chunk.row.text[..1].to_owned()).collect()
}

fn bound(bytes: u64) -> SearchSettings {
    SearchSettings { most_token_bytes: bytes, ..SearchSettings::default() }
}

/// The bytes of a note: five words, because the name counts twice, of 96 numbers each, four in a
/// byte.
const A_NOTE: u64 = 5 * 96 / 4;

async fn bounded(settings: SearchSettings) -> World {
    let world = World::new().await;
    world.index.set_search(settings);
    world.index.set_embedder(Some(Arc::new(ByTokens::default()) as _));
    world
}

#[tokio::test]
async fn where_the_bound_is_reached_the_oldest_give_way_and_more_room_brings_them_back() {
    let world = bounded(bound(3 * A_NOTE + 10)).await;
    write_notes(&world, &["a", "b", "c", "d", "e"]).await;
    assert_eq!(
        (bytes(&world).await, without_tokens(&world).await),
        (3 * A_NOTE, vec!["a".into(), "b".into()])
    );
    // A smaller bound frees what exceeds it, without anything being written.
    world.index.set_search(bound(2 * A_NOTE));
    world.index.catch_up().await.unwrap();
    assert_eq!((bytes(&world).await, without_tokens(&world).await.len()), (2 * A_NOTE, 3));
    world.index.set_search(bound(0));
    world.index.catch_up().await.unwrap();
    assert_eq!(bytes(&world).await, 0);
    world.index.set_search(SearchSettings::default());
    world.index.catch_up().await.unwrap();
    assert_eq!((bytes(&world).await, without_tokens(&world).await.len()), (5 * A_NOTE, 0));
}

#[tokio::test]
async fn texts_without_a_word_do_not_keep_older_ones_from_their_vectors() {
    let world = bounded(bound(0)).await;
    write_notes(&world, &["a"]).await;
    for length in 1..=40 {
        world.write(&format!("people/anna/vault/{}.md", "-".repeat(length)), "?".repeat(length));
    }
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    world.index.set_search(SearchSettings::default());
    world.index.catch_up().await.unwrap();
    assert_eq!(bytes(&world).await, A_NOTE);
}

#[tokio::test]
async fn a_start_does_not_look_again_at_what_was_looked_at() {
    let world = bounded(SearchSettings::default()).await;
    write_notes(&world, &["a", "b", "c"]).await;
    // The token vectors are dropped without the maker's knowledge. If a start looked at all chunks,
    // it would make them again.
    world.store.chunks.drop_oldest_tokens(MODEL, A_NOTE).await.unwrap();
    let world = world.reopen().await;
    let embedder = Arc::new(ByTokens::default());
    world.index.set_embedder(Some(Arc::clone(&embedder) as _));
    world.index.sync().await.unwrap();
    world.index.catch_up().await.unwrap();
    assert_eq!((bytes(&world).await, embedder.inner.calls.load(Ordering::Relaxed)), (A_NOTE, 0));
    write_notes(&world, &["d"]).await;
    assert_eq!(bytes(&world).await, 2 * A_NOTE);
}
