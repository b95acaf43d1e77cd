//! Makes vectors: in the background for chunks that have none yet, and for the questions of
//! searches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_storage::{ChunkId, ChunkStore, StoredChunk};
use onyx_types::{Embedded, Embedder, ModelFailure, TokenVectors};

use super::embedders::{Embedders, ServingVectors};
use super::tokens::codes;
use crate::KnowledgeError;
use crate::chunk::embedded_text;
use crate::settings::CurrentSearchSettings;

pub(crate) struct VectorMaker {
    pub(super) chunks: Arc<dyn ChunkStore>,
    embedders: Arc<Embedders>,
    pub(super) settings: Arc<CurrentSearchSettings>,
    one_at_a_time: tokio::sync::Mutex<()>,
    known: Mutex<KnownVectors>,
}

/// What is known of the table, so that it need not be read again.
#[derive(Default)]
struct KnownVectors {
    /// The change up to which every chunk had a vector of this model, and token vectors as far as
    /// their bound allowed.
    embedded: Option<EverythingEmbedded>,
    /// How far the first vectors of a model are made, while they are.
    made: Option<VectorProgress>,
}

#[derive(Clone, PartialEq, Eq)]
struct EverythingEmbedded {
    epoch: u64,
    change: u64,
    model: String,
    most_token_bytes: u64,
}

/// The chunk up to which there are vectors of a model.
struct VectorProgress {
    epoch: u64,
    model: String,
    through: ChunkId,
}

/// The vector of a question that fits those of a model.
pub(crate) struct QueryVector {
    pub(crate) model: String,
    pub(crate) vector: Vec<f32>,
    /// The vectors of the question's tokens, if the model yields them.
    pub(crate) tokens: Option<TokenVectors>,
    /// The reason why the vector can find only a part of the chunks.
    pub(crate) incomplete: Option<String>,
}

/// The name of the mark that stores up to which chunk vectors were made, and by which model.
const EMBEDDED_THROUGH: &str = "embedded through";
/// How many chunks are embedded at once. They are so few that even a slow embedder shows progress.
pub(super) const BATCH: u32 = 32;
/// How long a search waits for the vector of its question.
const QUERY_PATIENCE: Duration = Duration::from_secs(3);
/// Longer texts are cut before they are embedded, because no embedder reads further.
const LONGEST_TEXT: usize = 8 * 1024;

impl VectorMaker {
    pub(crate) fn new(
        chunks: Arc<dyn ChunkStore>,
        embedders: Arc<Embedders>,
        settings: Arc<CurrentSearchSettings>,
    ) -> Self {
        Self {
            chunks,
            embedders,
            settings,
            one_at_a_time: tokio::sync::Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// The model whose vectors are counted: the one that makes them now, else the one that made the
    /// existing ones.
    pub(crate) async fn counted_model(&self) -> Result<Option<String>, KnowledgeError> {
        match self.embedders.current() {
            Some((_, model)) => Ok(Some(model)),
            None => Ok(self.chunks.served_vectors().await?),
        }
    }

    /// The embedder, as `<provider>/<model>`, whose vectors serve searches until the present one
    /// has made its own, if that embedder is not available.
    pub(crate) async fn missing_embedder(&self) -> Result<Option<String>, KnowledgeError> {
        Ok(self.embedders.missing(self.chunks.served_vectors().await?))
    }

    /// The vector of a question; the inner error says why there is none.
    pub(crate) async fn query_vector(
        &self,
        text: &str,
        served: Option<String>,
    ) -> Result<Result<QueryVector, String>, KnowledgeError> {
        let Some(ServingVectors { model, embedder, is_whole }) = self.embedders.serving(served)
        else {
            let failing = self.embedders.failure();
            return Ok(Err(failing.unwrap_or_else(|| "no embedder is configured".to_owned())));
        };
        let text = text[..text.floor_char_boundary(LONGEST_TEXT)].to_owned();
        let asked = tokio::time::timeout(QUERY_PATIENCE, embedder.embed_tokens(vec![text])).await;
        let made = match asked {
            Ok(Ok(made)) => made.into_iter().next().ok_or("the embedder gave no vector".to_owned()),
            Ok(Err(failure)) => Err(failure.message),
            Err(_) => Err(format!("{model} did not answer in time")),
        };
        self.embedders.note(&model, made.as_ref().err());
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
        let chunks = &self.chunks;
        let epoch = chunks.epoch().await?;
        let made = match &self.known().made {
            Some(made) if made.epoch == epoch && made.model == model => made.through,
            Some(_) | None => ChunkId::default(),
        };
        Ok(!chunks.without_vector(model, made, 1).await?.is_empty())
    }

    /// Makes vectors until every chunk has one or the embedder fails. When every chunk has one,
    /// searches use them.
    pub(crate) async fn embed_missing(&self) -> Result<(), KnowledgeError> {
        let _one_at_a_time = self.one_at_a_time.lock().await;
        let Some((embedder, model)) = self.embedders.current() else { return Ok(()) };
        let chunks = &self.chunks;
        let mut done = EverythingEmbedded {
            epoch: chunks.epoch().await?,
            change: chunks.last_change().await?,
            model: model.clone(),
            most_token_bytes: self.settings.get().most_token_bytes,
        };
        if self.known().embedded.as_ref() == Some(&done) {
            return Ok(());
        }
        // Chunks have ascending numbers, so that those up to here need not be looked at again. Those
        // that may still get one before them are looked at next time.
        let settled = chunks.settled_through().await?;
        let mut after = self.embedded_through(&model).await?;
        loop {
            // The position is read first, so that chunks that are added meanwhile are looked at
            // next time.
            let change = chunks.last_change().await?;
            let missing = chunks.without_vector(&model, after, BATCH).await?;
            let Some(last) = missing.last() else {
                self.serve(&model).await?;
                self.note_embedded_through(&model, after.min(settled)).await?;
                self.embed_missing_tokens(&*embedder, &model).await?;
                done.change = change;
                self.known().embedded = Some(done);
                return Ok(());
            };
            after = last.id;
            if !self.embed_chunks(&*embedder, &model, &missing).await? {
                return Ok(());
            }
            let through = after.min(settled);
            let made = VectorProgress { epoch: done.epoch, model: model.clone(), through };
            self.known().made = Some(made);
        }
    }

    /// The chunk up to which all chunks have vectors of this model, if its vectors serve searches.
    async fn embedded_through(&self, model: &str) -> Result<ChunkId, KnowledgeError> {
        let chunks = &self.chunks;
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
        Ok(self.chunks.set_mark(EMBEDDED_THROUGH, &mark).await?)
    }

    /// Makes the vectors of chunks, and their token vectors if these are wanted, for which the
    /// oldest token vectors are dropped. Returns whether the embedder answered.
    pub(super) async fn embed_chunks(
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
        let with_tokens = embedder.gives_tokens() && self.settings.get().most_token_bytes > 0;
        let made = if with_tokens {
            embedder.embed_tokens(texts).await
        } else {
            embedder.embed(texts).await.map(|vectors| {
                let whole = |vector| Embedded { vector, tokens: None };
                vectors.into_iter().map(whole).collect()
            })
        };
        self.embedders
            .note(model, made.as_ref().err().map(|failure: &ModelFailure| &failure.message));
        let Ok(made) = made else { return Ok(false) };
        let (mut vectors, mut tokens) = (Vec::with_capacity(made.len()), Vec::new());
        for (chunk, Embedded { vector, tokens: made }) in missing.iter().zip(made) {
            tokens.extend(made.map(|made| (chunk.id, codes(&made, vector.len()))));
            vectors.push((chunk.id, vector));
        }
        let chunks = &self.chunks;
        chunks.keep_vectors(model, vectors).await?;
        if !tokens.is_empty() {
            chunks.keep_tokens(model, tokens).await?;
            self.drop_surplus_tokens(model).await?;
        }
        Ok(true)
    }

    async fn serve(&self, model: &str) -> Result<(), KnowledgeError> {
        let chunks = &self.chunks;
        if chunks.served_vectors().await?.as_deref() != Some(model) {
            chunks.serve_vectors_of(model).await?;
        }
        self.embedders.forget_retired(model);
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, KnownVectors> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
