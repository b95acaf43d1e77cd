//! Vectors from the embedded model.

#[cfg(feature = "embed")]
mod minilm;
#[cfg(feature = "embed")]
mod tokens;
#[cfg(feature = "embed")]
mod wordpiece;

use std::path::Path;
use std::sync::mpsc::Receiver;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{StreamExt, TryStreamExt, iter};
use onyx_types::{Embedded, Embedder, EmbedderIdentity, ModelFailure, TokenVectors};

use crate::worker::{
    FailedClass, Keeper, Launch, MemoryRelease, Refusal, Replies, Reply, WorkerRequest, WorkerTask,
};
use crate::{Allowance, LOCAL, MINILM};

/// How many numbers a vector has.
pub const DIMS: usize = 384;

/// How many positions the model has.
pub(crate) const WINDOW: u16 = 512;

/// How many texts are sent at once: enough to keep the process busy, and few enough that the single
/// text of a search does not wait behind the thousands of an index.
const AT_ONCE: usize = 2;

/// A longer text exceeds every window, so sending one is a mistake of the caller.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// all-MiniLM-L6-v2 in a process of its own.
#[derive(Debug)]
pub struct LocalEmbedder {
    keeper: Keeper,
    #[cfg(feature = "embed")]
    tokens: tokens::Tokens,
}

impl LocalEmbedder {
    pub fn new(
        folder: &Path,
        launch: Launch,
        allowance: Allowance,
        released: MemoryRelease,
    ) -> Self {
        let task = WorkerTask::Embed { folder: folder.to_owned(), threads: allowance.threads };
        Self {
            keeper: Keeper::new(launch, task, allowance.idle, released),
            #[cfg(feature = "embed")]
            tokens: tokens::Tokens::of(folder),
        }
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.keeper.is_loaded()
    }

    /// The number of the model's tokens in each text; the model reads the first 510 of them.
    pub async fn count_tokens(&self, texts: &[String]) -> Result<Vec<usize>, ModelFailure> {
        iter(texts).map(|text| self.count(text)).buffered(AT_ONCE).try_collect().await
    }

    async fn count(&self, text: &str) -> Result<usize, ModelFailure> {
        let text = text.to_owned();
        match self.keeper.ask(|id| WorkerRequest::Count { id, text }).await?.next().await? {
            Reply::Counted { tokens, .. } => Ok(tokens),
            other => Err(other.unexpected()),
        }
    }

    async fn vector(&self, text: String) -> Result<Vec<f32>, ModelFailure> {
        check_length(&text)?;
        match self.keeper.ask(|id| WorkerRequest::Embed { id, text }).await?.next().await? {
            Reply::Vector { values, .. } => Ok(values),
            other => Err(other.unexpected()),
        }
    }

    async fn token_vectors(&self, text: String) -> Result<Embedded, ModelFailure> {
        check_length(&text)?;
        match self.keeper.ask(|id| WorkerRequest::EmbedTokens { id, text }).await?.next().await? {
            Reply::TokenVectors { values, words, tokens, .. } => {
                let garbled = |_| FailedClass::Unavailable.failure("a vector arrived damaged");
                let bytes = STANDARD.decode(tokens).map_err(garbled)?;
                let tokens = bytes.into_iter().map(u8::cast_signed).collect();
                Ok(Embedded {
                    vector: values,
                    tokens: Some(TokenVectors { words, values: tokens }),
                })
            }
            other => Err(other.unexpected()),
        }
    }
}

fn check_length(text: &str) -> Result<(), ModelFailure> {
    if text.is_empty() || text.len() > MAX_TEXT_BYTES {
        let message = format!(
            "a text has {} bytes; between 1 and {MAX_TEXT_BYTES} can be embedded",
            text.len()
        );
        return Err(FailedClass::Invalid.failure(message));
    }
    Ok(())
}

impl Embedder for LocalEmbedder {
    fn identity(&self) -> EmbedderIdentity {
        EmbedderIdentity { provider: LOCAL.to_owned(), model: MINILM.to_owned(), dims: DIMS }
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelFailure>> {
        iter(texts).map(|text| self.vector(text)).buffered(AT_ONCE).try_collect().boxed()
    }

    fn gives_tokens(&self) -> bool {
        true
    }

    fn embed_tokens(
        &self,
        texts: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<Embedded>, ModelFailure>> {
        iter(texts).map(|text| self.token_vectors(text)).buffered(AT_ONCE).try_collect().boxed()
    }

    #[cfg(feature = "embed")]
    fn tokens_in(&self, text: &str) -> Option<usize> {
        self.tokens.count(text)
    }
}

/// Runs the process's work: it receives texts and returns vectors, one after the other.
#[cfg(feature = "embed")]
pub(crate) fn work(
    folder: &Path,
    threads: usize,
    requests: &Receiver<WorkerRequest>,
    replies: &mut Replies,
) -> Result<(), Refusal> {
    let mut model = minilm::MiniLm::load(folder, threads)?;
    let mut heard = replies.send(&Reply::Ready);
    while heard.is_ok()
        && let Ok(request) = requests.recv()
    {
        let reply = match request {
            WorkerRequest::Embed { id, text } => match model.vector(&text) {
                Ok(values) => Reply::Vector { id, values },
                Err(message) => Reply::Failed { id, class: FailedClass::Invalid, message },
            },
            WorkerRequest::EmbedTokens { id, text } => match model.token_vectors(&text) {
                Ok((values, TokenVectors { words, values: bytes })) => {
                    let bytes: Vec<u8> = bytes.into_iter().map(i8::cast_unsigned).collect();
                    Reply::TokenVectors { id, values, words, tokens: STANDARD.encode(bytes) }
                }
                Err(message) => Reply::Failed { id, class: FailedClass::Invalid, message },
            },
            WorkerRequest::Count { id, text } => Reply::Counted { id, tokens: model.tokens(&text) },
            WorkerRequest::Generate { id, .. } => Reply::Failed {
                id,
                class: FailedClass::Invalid,
                message: "this model embeds text and cannot chat".to_owned(),
            },
            // Computing a vector takes less time than checking whether it is still wanted.
            WorkerRequest::Cancel { .. } => continue,
        };
        heard = replies.send(&reply);
    }
    Ok(())
}

#[cfg(not(feature = "embed"))]
pub(crate) fn work(
    _: &Path,
    _: usize,
    _: &Receiver<WorkerRequest>,
    _: &mut Replies,
) -> Result<(), Refusal> {
    Err((FailedClass::Invalid, "this binary was built without the embedding model".to_owned()))
}
