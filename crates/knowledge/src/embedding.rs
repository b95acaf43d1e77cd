//! Vectors for chunks that have none yet, in the background, and for what is searched for.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use onyx_storage::ChunkId;
use onyx_types::Embedder;

use crate::status::Embedding;
use crate::{Index, KnowledgeError, indexed_text};

/// Who makes vectors, and how that goes.
#[derive(Clone, Default)]
pub(crate) struct EmbedderState {
    embedder: Option<Arc<dyn Embedder>>,
    /// Which vectors fit together; empty where nobody makes any.
    model: String,
    failing: Option<String>,
}

impl EmbedderState {
    pub(crate) fn of(embedder: Option<Arc<dyn Embedder>>) -> Self {
        let model = embedder.as_ref().map_or_else(String::new, |embedder| {
            let identity = embedder.identity();
            format!("{}/{} ({})", identity.provider, identity.model, identity.dims)
        });
        Self { embedder, model, failing: None }
    }

    pub(crate) fn failing(model: &str, reason: &str) -> Self {
        Self { embedder: None, model: model.to_owned(), failing: Some(reason.to_owned()) }
    }
}

/// Few enough that a slow embedder is heard from now and then.
const BATCH: u32 = 32;
/// A search does not wait longer for the vector of its words.
const QUERY_PATIENCE: Duration = Duration::from_secs(3);
/// What no embedder reads to its end anyway.
const LONGEST_TEXT: usize = 8 * 1024;

impl Index {
    /// Which vectors fit those that can be made now.
    pub(crate) fn embedder_model(&self) -> Option<String> {
        let state = self.embedder_now();
        state.embedder.as_ref().map(|_| state.model.clone())
    }

    pub(crate) fn is_embedder_failing(&self) -> bool {
        self.embedder_now().failing.is_some()
    }

    /// Who makes vectors, and how that goes.
    pub fn embedding(&self) -> Embedding {
        let state = self.embedder_now();
        match (state.embedder, state.failing) {
            (_, Some(reason)) => Embedding::Failing { model: state.model, reason },
            (Some(_), None) => Embedding::Ready { model: state.model },
            (None, None) => Embedding::Off,
        }
    }

    /// The vector of what is searched for, or why there is none.
    pub(crate) async fn query_vector(&self, text: &str) -> Result<Vec<f32>, String> {
        let state = self.embedder_now();
        let Some(embedder) = &state.embedder else {
            return Err(state.failing.unwrap_or_else(|| "no embedder is configured".to_owned()));
        };
        let text = text[..text.floor_char_boundary(LONGEST_TEXT)].to_owned();
        let asked = tokio::time::timeout(QUERY_PATIENCE, embedder.embed(vec![text])).await;
        let vector = match asked {
            Ok(Ok(vectors)) => vectors.into_iter().next().ok_or("no vector came".to_owned()),
            Ok(Err(failure)) => Err(failure.message),
            Err(_) => Err(format!("{} did not answer in time", state.model)),
        };
        self.note(&state.model, vector.as_ref().err());
        vector
    }

    /// Until every chunk has a vector, or the embedder fails.
    pub(crate) async fn embed_missing(&self) -> Result<(), KnowledgeError> {
        let _one_at_a_time = self.inner.embedding.lock().await;
        let state = self.embedder_now();
        let Some(embedder) = state.embedder else { return Ok(()) };
        let chunks = &self.inner.store.chunks;
        let done = (chunks.epoch().await?, chunks.last_change().await?, state.model.clone());
        if self.state().embedded.as_ref() == Some(&done) {
            return Ok(());
        }
        chunks.use_vectors_of(&state.model).await?;
        let mut after = ChunkId::default();
        loop {
            // Before the look: what comes after it is looked at next time.
            let change = chunks.last_change().await?;
            let missing = chunks.without_vector(after, BATCH).await?;
            let Some(last) = missing.last() else {
                self.state().embedded = Some((done.0, change, state.model));
                return Ok(());
            };
            after = last.id;
            let text = |chunk: &onyx_storage::StoredChunk| {
                let mut text =
                    indexed_text(&chunk.source.title, &chunk.row.heading, &chunk.row.text);
                text.truncate(text.floor_char_boundary(LONGEST_TEXT));
                text
            };
            let made = embedder.embed(missing.iter().map(text).collect()).await;
            self.note(&state.model, made.as_ref().err().map(|failure| &failure.message));
            let Ok(made) = made else { return Ok(()) };
            let ids = missing.iter().map(|chunk| chunk.id);
            chunks.keep_vectors(ids.zip(made).collect()).await?;
        }
    }

    /// How the last call went, unless another embedder has come meanwhile.
    fn note(&self, model: &str, failed: Option<&String>) {
        let mut state = self.inner.embedder.write().unwrap_or_else(PoisonError::into_inner);
        if state.model != model || state.embedder.is_none() {
            return;
        }
        if let (None, Some(reason)) = (&state.failing, failed) {
            tracing::warn!(model, reason, "searches go by words alone: the embedder fails");
        }
        state.failing = failed.cloned();
    }

    fn embedder_now(&self) -> EmbedderState {
        self.inner.embedder.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
