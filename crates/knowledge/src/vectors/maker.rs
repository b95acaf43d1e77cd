//! Makes vectors: in the background for chunks that have none yet, and for what is searched for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_storage::{ChunkId, ChunkStore, StoredChunk};
use onyx_types::{Embedded, Embedder, ModelFailure, TokenVectors};

use super::embedders::{Embedders, Serving};
use super::tokens::codes;
use crate::KnowledgeError;
use crate::chunk::embedded_text;
use crate::settings::CurrentSearchSettings;

pub(crate) struct VectorMaker {
    chunks: Arc<dyn ChunkStore>,
    embedders: Arc<Embedders>,
    settings: Arc<CurrentSearchSettings>,
    one_at_a_time: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
}

/// What need not be read from the table again.
#[derive(Default)]
struct Known {
    /// Every chunk up to this change had a vector of this model: epoch, change, model.
    embedded: Option<(u64, u64, String)>,
    /// All chunks were looked at for vectors of tokens: epoch, model, and how many bytes these may
    /// take.
    tokens_checked: Option<(u64, String, u64)>,
    /// How many bytes the vectors of tokens of a model take.
    token_bytes: Option<(String, u64)>,
    /// While the first vectors of a model are made: how far.
    made: Option<Made>,
}

/// Up to which chunk there are vectors of a model.
struct Made {
    epoch: u64,
    model: String,
    through: ChunkId,
}

/// What is searched for, as a vector that fits those of a model.
pub(crate) struct QueryVector {
    pub(crate) model: String,
    pub(crate) vector: Vec<f32>,
    /// The vectors of its tokens, where the model gives them.
    pub(crate) tokens: Option<TokenVectors>,
    /// Why less than everything can be found by it.
    pub(crate) incomplete: Option<String>,
}

/// The name of the mark that holds up to which chunk vectors were made, and by which model.
const EMBEDDED_THROUGH: &str = "embedded through";
/// Chunks that are embedded at once; few enough that a slow embedder shows progress.
const BATCH: u32 = 32;
/// A search does not wait longer for the vector of its words.
const QUERY_PATIENCE: Duration = Duration::from_secs(3);
/// Longer texts are cut before they are embedded, because no embedder reads that far.
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

    /// Whose vectors are counted: those that are made now, else those that are there.
    pub(crate) async fn counted_model(&self) -> Result<Option<String>, KnowledgeError> {
        match self.embedders.current() {
            Some((_, model)) => Ok(Some(model)),
            None => Ok(self.chunks.served_vectors().await?),
        }
    }

    /// The embedder whose vectors are there to serve while those of the present one are made, where
    /// it is not at hand: as `<provider>/<model>`.
    pub(crate) async fn missing_embedder(&self) -> Result<Option<String>, KnowledgeError> {
        Ok(self.embedders.missing(self.chunks.served_vectors().await?))
    }

    /// The vector of what is searched for, or why there is none.
    pub(crate) async fn query_vector(
        &self,
        text: &str,
        served: Option<String>,
    ) -> Result<Result<QueryVector, String>, KnowledgeError> {
        let Some(Serving { model, embedder, is_whole }) = self.embedders.serving(served) else {
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

    /// Makes vectors until every chunk has one or the embedder fails. Once every chunk has one,
    /// searches go by them.
    pub(crate) async fn embed_missing(&self) -> Result<(), KnowledgeError> {
        let _one_at_a_time = self.one_at_a_time.lock().await;
        let Some((embedder, model)) = self.embedders.current() else { return Ok(()) };
        let chunks = &self.chunks;
        let done = (chunks.epoch().await?, chunks.last_change().await?, model.clone());
        if self.known().embedded.as_ref() == Some(&done) {
            return Ok(());
        }
        // Chunks have ascending numbers, so that those up to here need not be looked at again.
        let mut after = self.embedded_through(&model).await?;
        loop {
            // The position is read first, so that what comes meanwhile is looked at next time.
            let change = chunks.last_change().await?;
            let missing = chunks.without_vector(&model, after, BATCH).await?;
            let Some(last) = missing.last() else {
                self.serve(&model).await?;
                self.note_embedded_through(&model, after).await?;
                self.embed_missing_tokens(&*embedder, &model).await?;
                self.known().embedded = Some((done.0, change, model.clone()));
                return Ok(());
            };
            after = last.id;
            if !self.embed_chunks(&*embedder, &model, &missing).await? {
                return Ok(());
            }
            let made = Made { epoch: done.0, model: model.clone(), through: after };
            self.known().made = Some(made);
        }
    }

    /// Up to which chunk all have vectors of the model that serves.
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
        self.embedders
            .note(model, made.as_ref().err().map(|failure: &ModelFailure| &failure.message));
        let Ok(made) = made else { return Ok(false) };
        let (mut vectors, mut tokens) = (Vec::with_capacity(made.len()), Vec::new());
        for (chunk, Embedded { vector, tokens: made }) in missing.iter().zip(made) {
            tokens.extend(made.map(|made| (chunk.id, codes(&made, vector.len()))));
            vectors.push((chunk.id, vector));
        }
        let bytes: usize = tokens.iter().map(|(_, codes)| codes.len()).sum();
        let chunks = &self.chunks;
        chunks.keep_vectors(model, vectors).await?;
        if !tokens.is_empty() {
            chunks.keep_tokens(model, tokens).await?;
        }
        if let Some((of, taken)) = &mut self.known().token_bytes
            && of == model
        {
            *taken += bytes as u64;
        }
        Ok(true)
    }

    /// Vectors of tokens take as much of the disk as the settings allow.
    async fn has_room_for_tokens(&self, model: &str) -> Result<bool, KnowledgeError> {
        let most = self.settings.get().most_token_bytes;
        let known = self.known().token_bytes.clone().filter(|(of, _)| of == model);
        let taken = match known {
            Some((_, taken)) => taken,
            None => {
                let taken = self.chunks.token_bytes(model).await?;
                self.known().token_bytes = Some((model.to_owned(), taken));
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
        let epoch = self.chunks.epoch().await?;
        let checked = (epoch, model.to_owned(), self.settings.get().most_token_bytes);
        // Whatever was embedded since has them, or there was no room.
        if self.known().tokens_checked.as_ref() == Some(&checked) {
            return Ok(());
        }
        let mut after = ChunkId::default();
        while embedder.gives_tokens() && self.has_room_for_tokens(model).await? {
            let missing = self.chunks.without_tokens(model, after, BATCH).await?;
            let Some(last) = missing.last() else { break };
            after = last.id;
            let before = self.known().token_bytes.clone();
            let answered = self.embed_chunks(embedder, model, &missing).await?;
            if !answered {
                return Ok(());
            }
            // No token of these texts is a word, so there will never be vectors of them.
            if self.known().token_bytes == before {
                break;
            }
        }
        self.known().tokens_checked = Some(checked);
        Ok(())
    }

    async fn serve(&self, model: &str) -> Result<(), KnowledgeError> {
        let chunks = &self.chunks;
        if chunks.served_vectors().await?.as_deref() != Some(model) {
            chunks.serve_vectors_of(model).await?;
        }
        self.embedders.forget_retired(model);
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
