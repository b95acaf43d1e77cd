//! Computes vectors for texts, over the wires that support embeddings.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use onyx_types::{Clock, Embedder, EmbedderIdentity, ModelFailure, ModelFailureClass};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::decorators::{BreakerPolicy, Circuit, OpenCall, RetryPolicy};
use crate::failure::failure;
use crate::http::Bounds;

/// Far below any provider's limit, and enough to make the cost of a round trip small.
const MAX_BATCH_TEXTS: usize = 64;
const MAX_BATCH_BYTES: usize = 256 * 1024;

/// A longer text fits into no model's window, so sending one is a mistake of the caller.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The limits of an answer. A number takes about 12 bytes as text, and there are at most
/// `MAX_BATCH_TEXTS` × 4,096 of them.
const BOUNDS: Bounds = Bounds { patience: Duration::from_secs(60), max_bytes: 16 * 1024 * 1024 };

/// The wires that support embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmbeddingWire {
    OpenAi,
    Ollama,
}

impl EmbeddingWire {
    pub(crate) fn endpoint(self, base_url: &str) -> String {
        let base = base_url.trim_end_matches('/');
        match self {
            Self::OpenAi => format!("{base}/embeddings"),
            Self::Ollama => format!("{}/api/embed", base.strip_suffix("/v1").unwrap_or(base)),
        }
    }

    fn request(self, model: &str, texts: &[String]) -> Value {
        match self {
            Self::OpenAi => json!({"model": model, "input": texts, "encoding_format": "float"}),
            Self::Ollama => json!({"model": model, "input": texts}),
        }
    }

    fn vectors(self, body: &[u8]) -> Result<Vec<Vec<f32>>, ModelFailure> {
        let read = match self {
            Self::OpenAi => serde_json::from_slice(body).map(OpenAiAnswer::vectors),
            Self::Ollama => serde_json::from_slice(body).map(|it: OllamaAnswer| it.embeddings),
        };
        read.map_err(|_| broken("the address answers, but not with vectors".to_owned()))
    }
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    data: Vec<OpenAiVector>,
}

#[derive(Deserialize)]
struct OpenAiVector {
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct OllamaAnswer {
    embeddings: Vec<Vec<f32>>,
}

impl OpenAiAnswer {
    fn vectors(mut self) -> Vec<Vec<f32>> {
        self.data.sort_by_key(|vector| vector.index);
        self.data.into_iter().map(|vector| vector.embedding).collect()
    }
}

/// Sends one request's body and returns the answer's body.
pub(crate) type Ask =
    Box<dyn Fn(Vec<u8>, Bounds) -> BoxFuture<'static, Result<Vec<u8>, ModelFailure>> + Send + Sync>;

/// An embedding model of a provider. Batches are sent one after the other; each is retried like a
/// model's call, and none is sent while its circuit is open.
pub(crate) struct WireEmbedder {
    pub(crate) wire: EmbeddingWire,
    pub(crate) identity: EmbedderIdentity,
    pub(crate) ask: Ask,
    pub(crate) retry: RetryPolicy,
    pub(crate) breaker: BreakerPolicy,
    pub(crate) circuit: Arc<Circuit>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Embedder for WireEmbedder {
    fn identity(&self) -> EmbedderIdentity {
        self.identity.clone()
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelFailure>> {
        async move {
            let mut vectors = Vec::with_capacity(texts.len());
            for batch in batches(&texts)? {
                vectors.extend(self.batch(batch).await?);
            }
            Ok(vectors)
        }
        .boxed()
    }
}

impl WireEmbedder {
    /// The length of this model's vectors, found by asking for one.
    pub(crate) async fn probe(&self) -> Result<usize, ModelFailure> {
        let vectors = self.tried(&["dimensions".to_owned()]).await?;
        match vectors.first() {
            Some(vector) if !vector.is_empty() => Ok(vector.len()),
            Some(_) | None => Err(broken("the model returns empty vectors".to_owned())),
        }
    }

    async fn batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelFailure> {
        let vectors = self.tried(texts).await?;
        let dims = self.identity.dims;
        if vectors.len() != texts.len() {
            let message = format!("{} vectors came for {} texts", vectors.len(), texts.len());
            return Err(broken(message));
        }
        if let Some(odd) = vectors.iter().find(|vector| vector.len() != dims) {
            // If this vector were mixed with the stored ones, it would spoil every search.
            let message = format!(
                "{} makes vectors of {} numbers where {dims} are expected: another model answers",
                self.identity.model,
                odd.len()
            );
            return Err(failure(ModelFailureClass::InvalidRequest, message));
        }
        if !vectors.iter().flatten().all(|number| number.is_finite()) {
            return Err(broken("a vector holds what is not a number".to_owned()));
        }
        Ok(vectors)
    }

    async fn tried(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelFailure> {
        let mut attempt = 1;
        loop {
            let failure = match self.once(texts).await {
                Ok(vectors) => return Ok(vectors),
                Err(failure) => failure,
            };
            let rests = !self.circuit.admits(self.clock.now().mono);
            match self.retry.wait(attempt, &failure.class).filter(|_| !rests) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(failure),
            }
            attempt += 1;
        }
    }

    async fn once(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelFailure> {
        let mut call =
            OpenCall::begin(&self.circuit, self.breaker, &self.clock).map_err(|refusal| {
                let message = refusal.message(&self.identity.model);
                failure(ModelFailureClass::Unavailable, message)
            })?;
        let body = self.wire.request(&self.identity.model, texts).to_string().into_bytes();
        let answer = (self.ask)(body, BOUNDS).await;
        let vectors = answer.and_then(|body| self.wire.vectors(&body));
        match &vectors {
            Ok(_) => call.answered(),
            Err(failure) => call.failed(&failure.class),
        }
        vectors
    }
}

/// The texts in order, cut where a request would get too large.
fn batches(texts: &[String]) -> Result<Vec<&[String]>, ModelFailure> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (place, text) in texts.iter().enumerate() {
        if text.is_empty() || text.len() > MAX_TEXT_BYTES {
            let message = format!(
                "text {} of {} has {} bytes; between 1 and {MAX_TEXT_BYTES} can be embedded",
                place + 1,
                texts.len(),
                text.len()
            );
            return Err(failure(ModelFailureClass::InvalidRequest, message));
        }
        let full = place - start == MAX_BATCH_TEXTS || bytes + text.len() > MAX_BATCH_BYTES;
        if full && place > start {
            batches.push(&texts[start..place]);
            (start, bytes) = (place, 0);
        }
        bytes += text.len();
    }
    if start < texts.len() {
        batches.push(&texts[start..]);
    }
    Ok(batches)
}

fn broken(message: String) -> ModelFailure {
    failure(ModelFailureClass::Transport, message)
}
