use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use onyx_types::{Fault, Knob, Limits, Model, PersonId, Usage};
use serde_json::{Map, Value};

/// The providers behind this server, as far as requests pass through to them. Implemented where
/// both are known; this crate sees no provider.
pub trait Upstream: Send + Sync {
    fn has_provider(&self, name: &str) -> bool;

    /// What the owner means by a name that clients use, where the config says so.
    fn meant_by(&self, name: &str) -> Option<String>;

    /// Every model that can be named, `<provider>/<model>`.
    fn models(&self) -> BoxFuture<'_, Vec<Listed>>;

    /// How the models that were called have done since the start.
    fn figures(&self) -> Vec<ModelFigures>;

    /// The settings of a request that reach this model; of the config's own choice where none is
    /// named.
    fn takes(&self, model: Option<&str>) -> Vec<Knob>;

    /// Opens the way for one request. Budget, retry and breaker are in it.
    fn forward(&self, request: Forward) -> Result<Forwarded, Fault>;

    /// Opens the way for a request that is no conversation, to a provider that has such a route.
    fn media(&self, request: Media) -> Result<BoxStream<'static, Piece>, Fault>;

    /// A model to be asked by this server itself, paid for by the person; the config's own choice
    /// where none is named. `bytes` is what it is asked with, about.
    fn plain(
        &self,
        person: &PersonId,
        limits: &Limits,
        model: Option<&str>,
        bytes: usize,
    ) -> Result<Arc<dyn Model>, Fault>;

    fn embed<'a>(
        &'a self,
        person: &'a PersonId,
        model: &'a str,
        texts: Vec<String>,
    ) -> BoxFuture<'a, Result<Embedded, Fault>>;
}

/// A request on its way to a provider.
#[derive(Clone, Debug)]
pub struct Forward {
    pub person: PersonId,
    /// `<provider>/<model>`.
    pub model: String,
    pub dialect: Dialect,
    pub limits: Limits,
    /// As the client sent it.
    pub body: Map<String, Value>,
    /// What it asks for beyond the version of its wire.
    pub betas: Option<String>,
}

/// A request for speech, pictures or moderation on its way to a provider.
#[derive(Clone, Debug)]
pub struct Media {
    pub person: PersonId,
    pub limits: Limits,
    /// `<provider>/<model>`.
    pub model: String,
    pub route: MediaRoute,
    pub content_type: String,
    /// With the model's own name in it.
    pub body: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaRoute {
    Transcriptions,
    Translations,
    Speech,
    ImageGenerations,
    ImageEdits,
    Moderations,
    /// Of texts that come as tokens.
    Embeddings,
}

impl MediaRoute {
    /// Below `/v1`.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Transcriptions => "audio/transcriptions",
            Self::Translations => "audio/translations",
            Self::Speech => "audio/speech",
            Self::ImageGenerations => "images/generations",
            Self::ImageEdits => "images/edits",
            Self::Moderations => "moderations",
            Self::Embeddings => "embeddings",
        }
    }
}

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    ChatCompletions,
    Responses,
    Messages,
}

pub enum Forwarded {
    /// The provider speaks the client's wire: its bytes, with failures as the last piece.
    SameWire(BoxStream<'static, Piece>),
    /// It speaks another: the request has to be read and the answer written.
    OtherWire {
        model: Arc<dyn Model>,
        /// As it was given.
        body: Map<String, Value>,
    },
}

/// A part of a provider's answer. Nothing comes before the provider has begun to answer well.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Head {
        content_type: String,
        /// What the provider says of its limits.
        limits: Vec<(String, String)>,
    },
    /// Whole frames of a stream, or a whole body.
    Bytes(Bytes),
    Failed(Fault),
}

/// Vectors for texts, in order, and what they took.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    pub vectors: Vec<Vec<f32>>,
    pub usage: Usage,
}

/// One model in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFigures {
    pub provider: String,
    pub model: String,
    /// Whether a call would go to it now.
    pub admitted: bool,
    pub in_flight: u64,
    /// By how calls ended.
    pub results: Vec<(String, u64)>,
    pub usage: Usage,
    pub first_content: Histogram,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    pub bounds: &'static [f64],
    /// One more than there are bounds.
    pub buckets: Vec<u64>,
    pub sum: f64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub id: String,
    pub owner: String,
    pub context_window: Option<u32>,
    pub max_output_tokens: Option<u32>,
    /// Where it is known.
    pub tools: Option<bool>,
    pub reasoning: Option<bool>,
    pub images: Option<bool>,
}
