//! Vectors for chunks that have none yet, in the background, and for what is searched for.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use onyx_storage::ChunkId;
use onyx_types::Embedder;

use crate::status::Embedding;
use crate::{Index, KnowledgeError, Ruler, indexed_text};

/// Who makes vectors, and how that goes.
#[derive(Clone, Default)]
pub(crate) struct EmbedderState {
    embedder: Option<Arc<dyn Embedder>>,
    /// Which vectors fit together; empty where nobody makes any.
    model: String,
    failing: Option<String>,
    /// Whose place it has taken: the vectors of one of them serve until there are enough new ones.
    retired: Vec<Arc<dyn Embedder>>,
}

/// Which vectors searches go by.
#[derive(Clone)]
pub(crate) struct Serving {
    pub(crate) model: String,
    embedder: Arc<dyn Embedder>,
    /// Every chunk had its vector once.
    is_whole: bool,
}

/// What is searched for, as a vector that fits those of a model.
pub(crate) struct QueryVector {
    pub(crate) model: String,
    pub(crate) vector: Vec<f32>,
    /// Why less than everything can be found by it.
    pub(crate) incomplete: Option<String>,
}

/// Up to which chunk there are vectors of a model.
pub(crate) struct Made {
    epoch: u64,
    model: String,
    through: ChunkId,
}

/// Embedders that came and went before any of them had made all vectors; more are nobody's wish.
const MOST_RETIRED: usize = 4;

/// Does another model make vectors from now on?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmbedderChange {
    Same,
    Other,
}

impl EmbedderState {
    pub(crate) fn set(&mut self, embedder: Option<Arc<dyn Embedder>>) -> EmbedderChange {
        let before = std::mem::take(self);
        self.model = embedder.as_deref().map_or_else(String::new, fingerprint);
        // Who wants none wants none of the old ones either.
        if embedder.is_some() {
            self.retired = before.retired;
            self.retired.extend(before.embedder);
            self.retired.retain(|old| fingerprint(&**old) != self.model);
            let surplus = self.retired.len().saturating_sub(MOST_RETIRED);
            self.retired.drain(..surplus);
        }
        self.embedder = embedder;
        match self.model == before.model {
            true => EmbedderChange::Same,
            false => EmbedderChange::Other,
        }
    }

    pub(crate) fn set_failing(&mut self, model: &str, reason: &str) {
        let before = std::mem::take(self);
        self.model = model.to_owned();
        self.failing = Some(reason.to_owned());
        self.retired = before.retired;
        self.retired.extend(before.embedder);
    }
}

fn fingerprint(embedder: &dyn Embedder) -> String {
    let identity = embedder.identity();
    format!("{}/{} ({})", identity.provider, identity.model, identity.dims)
}

/// Few enough that a slow embedder is heard from now and then.
const BATCH: u32 = 32;
/// A search does not wait longer for the vector of its words.
const QUERY_PATIENCE: Duration = Duration::from_secs(3);
/// What no embedder reads to its end anyway.
const LONGEST_TEXT: usize = 8 * 1024;

impl Index {
    /// The embedder whose vectors are there to serve while those of the present one are made, where
    /// it is not at hand: as `<provider>/<model>`.
    pub async fn missing_embedder(&self) -> Result<Option<String>, KnowledgeError> {
        let state = self.embedder_now();
        let served = self.inner.store.chunks.served_vectors().await?;
        let is_known = |model: &String| {
            *model == state.model || state.retired.iter().any(|old| fingerprint(&**old) == *model)
        };
        let lost = served.filter(|model| !state.model.is_empty() && !is_known(model));
        Ok(lost.map(|model| match model.rsplit_once(" (") {
            Some((id, _)) => id.to_owned(),
            None => model,
        }))
    }

    /// Somebody who can still make vectors that fit the ones that are there.
    pub fn add_retired_embedder(&self, embedder: Arc<dyn Embedder>) {
        self.inner.embedder.write().unwrap_or_else(PoisonError::into_inner).retired.push(embedder);
    }

    /// By what texts are measured now.
    pub(crate) fn ruler(&self) -> Ruler {
        Ruler::of(self.embedder_now().embedder)
    }

    /// Is it to be tried again? One that is not at hand announces itself when it comes.
    pub(crate) fn is_embedder_failing(&self) -> bool {
        let state = self.embedder_now();
        state.embedder.is_some() && state.failing.is_some()
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

    /// Whose vectors are counted: those that are made now, else those that are there.
    pub(crate) async fn counted_model(&self) -> Result<Option<String>, KnowledgeError> {
        let state = self.embedder_now();
        match state.embedder {
            Some(_) => Ok(Some(state.model)),
            None => Ok(self.inner.store.chunks.served_vectors().await?),
        }
    }

    /// Where the table serves the vectors of this model. `None`: nobody is there who makes any.
    pub(crate) fn serving(&self, served: Option<String>) -> Option<Serving> {
        let state = self.embedder_now();
        let is_whole = served.as_ref() == Some(&state.model);
        if let Some(model) = served.filter(|_| !is_whole) {
            let old = state.retired.iter().find(|old| fingerprint(&***old) == model);
            if let Some(embedder) = old.cloned() {
                return Some(Serving { model, embedder, is_whole: true });
            }
        }
        let model = state.model;
        state.embedder.map(|embedder| Serving { model, embedder, is_whole })
    }

    /// The vector of what is searched for, or why there is none.
    pub(crate) async fn query_vector(
        &self,
        text: &str,
        served: Option<String>,
    ) -> Result<Result<QueryVector, String>, KnowledgeError> {
        let Some(Serving { model, embedder, is_whole }) = self.serving(served) else {
            let failing = self.embedder_now().failing;
            return Ok(Err(failing.unwrap_or_else(|| "no embedder is configured".to_owned())));
        };
        let text = text[..text.floor_char_boundary(LONGEST_TEXT)].to_owned();
        let asked = tokio::time::timeout(QUERY_PATIENCE, embedder.embed(vec![text])).await;
        let vector = match asked {
            Ok(Ok(vectors)) => vectors.into_iter().next().ok_or("no vector came".to_owned()),
            Ok(Err(failure)) => Err(failure.message),
            Err(_) => Err(format!("{model} did not answer in time")),
        };
        self.note(&model, vector.as_ref().err());
        let incomplete = match is_whole || !self.lacks_vectors(&model).await? {
            true => None,
            false => Some(format!("the vectors of {model} are still being made")),
        };
        Ok(vector.map(|vector| QueryVector { model, vector, incomplete }))
    }

    async fn lacks_vectors(&self, model: &str) -> Result<bool, KnowledgeError> {
        let chunks = &self.inner.store.chunks;
        let epoch = chunks.epoch().await?;
        let made = match &self.state().made {
            Some(made) if made.epoch == epoch && made.model == model => made.through,
            Some(_) | None => ChunkId::default(),
        };
        Ok(!chunks.without_vector(model, made, 1).await?.is_empty())
    }

    /// Until every chunk has a vector, or the embedder fails. From then on searches go by these.
    pub(crate) async fn embed_missing(&self) -> Result<(), KnowledgeError> {
        let _one_at_a_time = self.inner.embedding.lock().await;
        let EmbedderState { embedder: Some(embedder), model, .. } = self.embedder_now() else {
            return Ok(());
        };
        let chunks = &self.inner.store.chunks;
        let done = (chunks.epoch().await?, chunks.last_change().await?, model.clone());
        if self.state().embedded.as_ref() == Some(&done) {
            return Ok(());
        }
        let mut after = ChunkId::default();
        loop {
            // Before the look: what comes after it is looked at next time.
            let change = chunks.last_change().await?;
            let missing = chunks.without_vector(&model, after, BATCH).await?;
            let Some(last) = missing.last() else {
                self.state().embedded = Some((done.0, change, model.clone()));
                return self.serve(&model).await;
            };
            after = last.id;
            let text = |chunk: &onyx_storage::StoredChunk| {
                let mut text =
                    indexed_text(&chunk.source.title, &chunk.row.heading, &chunk.row.text);
                text.truncate(text.floor_char_boundary(LONGEST_TEXT));
                text
            };
            let made = embedder.embed(missing.iter().map(text).collect()).await;
            self.note(&model, made.as_ref().err().map(|failure| &failure.message));
            let Ok(made) = made else { return Ok(()) };
            let ids = missing.iter().map(|chunk| chunk.id);
            chunks.keep_vectors(&model, ids.zip(made).collect()).await?;
            let made = Made { epoch: done.0, model: model.clone(), through: after };
            self.state().made = Some(made);
        }
    }

    async fn serve(&self, model: &str) -> Result<(), KnowledgeError> {
        let chunks = &self.inner.store.chunks;
        if chunks.served_vectors().await?.as_deref() != Some(model) {
            chunks.serve_vectors_of(model).await?;
        }
        let mut state = self.inner.embedder.write().unwrap_or_else(PoisonError::into_inner);
        if state.model == model {
            state.retired.clear();
        }
        Ok(())
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
