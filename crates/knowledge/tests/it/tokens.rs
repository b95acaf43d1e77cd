//! Vectors of tokens: they rank, they come late or not at all without harm, and go with their chunk.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::BoxFuture;
use onyx_knowledge::SearchSettings;
use onyx_types::{Embedded, Embedder, EmbedderIdentity, ModelFailure, TokenVectors};

use crate::world::{Meaning, World};

/// Every text is as near as every other; only tokens tell them apart.
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
    // Without them everything is as near, and it is found all the same.
    let none = SearchSettings { most_token_bytes: 0, ..SearchSettings::default() };
    let (world, _) = with_notes(none).await;
    assert_eq!(bytes(&world).await, 0);
    assert_eq!(world.paths("vehicle").await[0], "vault/bread.md");
    assert_eq!(world.paths("vehicle").await.len(), 3);
    // Room that comes later is used.
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
