//! Vectors for chunks that have none yet, in the background, and for what is searched for.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use onyx_storage::{ChunkId, StoredChunk};
use onyx_types::{Embedded, Embedder, ModelFailure, TokenVectors};

use super::tokens::codes;
use crate::status::Embedding;
use crate::{Index, KnowledgeError, Ruler, embedded_text};

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
    /// Where the model gives them.
    pub(crate) tokens: Option<TokenVectors>,
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
        if self.model == before.model { EmbedderChange::Same } else { EmbedderChange::Other }
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

/// A mark: which chunk that is, and of which model.
const EMBEDDED_THROUGH: &str = "embedded through";
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
        let asked = tokio::time::timeout(QUERY_PATIENCE, embedder.embed_tokens(vec![text])).await;
        let made = match asked {
            Ok(Ok(made)) => made.into_iter().next().ok_or("no vector came".to_owned()),
            Ok(Err(failure)) => Err(failure.message),
            Err(_) => Err(format!("{model} did not answer in time")),
        };
        self.note(&model, made.as_ref().err());
        let incomplete = if is_whole || !self.lacks_vectors(&model).await? {
            None
        } else {
            Some(format!("the vectors of {model} are still being made"))
        };
        Ok(made.map(|Embedded { vector, tokens }| QueryVector {
            model,
            vector,
            tokens,
            incomplete,
        }))
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
        // Chunks have ascending numbers, so that those up to here need not be looked at again.
        let mut after = self.embedded_through(&model).await?;
        loop {
            // Before the look: what comes after it is looked at next time.
            let change = chunks.last_change().await?;
            let missing = chunks.without_vector(&model, after, BATCH).await?;
            let Some(last) = missing.last() else {
                self.serve(&model).await?;
                self.note_embedded_through(&model, after).await?;
                self.embed_missing_tokens(&*embedder, &model).await?;
                self.state().embedded = Some((done.0, change, model.clone()));
                return Ok(());
            };
            after = last.id;
            if !self.embed_chunks(&*embedder, &model, &missing).await? {
                return Ok(());
            }
            let made = Made { epoch: done.0, model: model.clone(), through: after };
            self.state().made = Some(made);
        }
    }

    /// Up to which chunk all have vectors of the model that serves.
    async fn embedded_through(&self, model: &str) -> Result<ChunkId, KnowledgeError> {
        let chunks = &self.inner.store.chunks;
        if chunks.served_vectors().await?.as_deref() != Some(model) {
            return Ok(ChunkId::default());
        }
        let marks = chunks.marks(EMBEDDED_THROUGH).await?;
        let noted = marks.first().and_then(|(_, mark)| mark.split_once(' '));
        let through = noted.filter(|(_, of)| *of == model).and_then(|(id, _)| id.parse().ok());
        Ok(through.map_or_else(ChunkId::default, ChunkId))
    }

    async fn note_embedded_through(
        &self,
        model: &str,
        through: ChunkId,
    ) -> Result<(), KnowledgeError> {
        if self.embedded_through(model).await? >= through {
            return Ok(());
        }
        let mark = format!("{} {model}", through.0);
        Ok(self.inner.store.chunks.set_mark(EMBEDDED_THROUGH, &mark).await?)
    }

    /// Makes the vectors of chunks, and those of their tokens as far as there is room. Did the
    /// embedder answer?
    async fn embed_chunks(
        &self,
        embedder: &dyn Embedder,
        model: &str,
        missing: &[StoredChunk],
    ) -> Result<bool, KnowledgeError> {
        let text = |chunk: &StoredChunk| {
            let mut text = embedded_text(&chunk.source.title, &chunk.row);
            text.truncate(text.floor_char_boundary(LONGEST_TEXT));
            text
        };
        let texts = missing.iter().map(text).collect();
        let with_tokens = embedder.gives_tokens() && self.has_room_for_tokens(model).await?;
        let made = if with_tokens {
            embedder.embed_tokens(texts).await
        } else {
            embedder.embed(texts).await.map(|vectors| {
                let whole = |vector| Embedded { vector, tokens: None };
                vectors.into_iter().map(whole).collect()
            })
        };
        self.note(model, made.as_ref().err().map(|failure: &ModelFailure| &failure.message));
        let Ok(made) = made else { return Ok(false) };
        let (mut vectors, mut tokens) = (Vec::with_capacity(made.len()), Vec::new());
        for (chunk, Embedded { vector, tokens: made }) in missing.iter().zip(made) {
            tokens.extend(made.map(|made| (chunk.id, codes(&made, vector.len()))));
            vectors.push((chunk.id, vector));
        }
        let bytes: usize = tokens.iter().map(|(_, codes)| codes.len()).sum();
        let chunks = &self.inner.store.chunks;
        chunks.keep_vectors(model, vectors).await?;
        if !tokens.is_empty() {
            chunks.keep_tokens(model, tokens).await?;
        }
        if let Some((of, taken)) = &mut self.state().token_bytes
            && of == model
        {
            *taken += bytes as u64;
        }
        Ok(true)
    }

    /// Vectors of tokens take as much of the disk as the settings allow.
    async fn has_room_for_tokens(&self, model: &str) -> Result<bool, KnowledgeError> {
        let most = self.settings().most_token_bytes;
        let known = self.state().token_bytes.clone().filter(|(of, _)| of == model);
        let taken = match known {
            Some((_, taken)) => taken,
            None => {
                let taken = self.inner.store.chunks.token_bytes(model).await?;
                self.state().token_bytes = Some((model.to_owned(), taken));
                taken
            }
        };
        Ok(taken < most)
    }

    /// Vectors of tokens for chunks that have a vector and none of these: they came with an older
    /// version, or when there was no room.
    async fn embed_missing_tokens(
        &self,
        embedder: &dyn Embedder,
        model: &str,
    ) -> Result<(), KnowledgeError> {
        let epoch = self.inner.store.chunks.epoch().await?;
        let checked = (epoch, model.to_owned(), self.settings().most_token_bytes);
        // Whatever was embedded since has them, or there was no room.
        if self.state().tokens_checked.as_ref() == Some(&checked) {
            return Ok(());
        }
        let mut after = ChunkId::default();
        while embedder.gives_tokens() && self.has_room_for_tokens(model).await? {
            let missing = self.inner.store.chunks.without_tokens(model, after, BATCH).await?;
            let Some(last) = missing.last() else { break };
            after = last.id;
            let before = self.state().token_bytes.clone();
            let answered = self.embed_chunks(embedder, model, &missing).await?;
            if !answered {
                return Ok(());
            }
            // Texts of which no token is a word: there is nothing to wait for.
            if self.state().token_bytes == before {
                break;
            }
        }
        self.state().tokens_checked = Some(checked);
        Ok(())
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
