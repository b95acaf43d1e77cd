use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use onyx_types::{Fault, Limits, Model, PersonId, SamplingSetting, Usage};
use serde_json::{Map, Value};

/// The providers behind this server, as far as requests pass through to them. The binary implements
/// this; no provider is known here.
pub trait Upstream: Send + Sync {
    fn has_provider(&self, name: &str) -> bool;

    /// The model that the config gives for a name that clients use.
    fn meant_by(&self, name: &str) -> Option<String>;

    /// Every model that can be named, `<provider>/<model>`.
    fn models(&self) -> BoxFuture<'_, Vec<OfferedModel>>;

    /// Figures of the models that were called since the start.
    fn figures(&self) -> Vec<ModelFigures>;

    /// The settings of a request that reach this model, or the config's choice where none is named.
    fn takes(&self, model: Option<&str>) -> Vec<SamplingSetting>;

    /// Prepares one request to a provider, with budget, retry and breaker.
    fn forward(&self, request: Forward) -> Result<ForwardedAnswer, Fault>;

    /// Sends a request other than a conversation to a provider that has such a route.
    fn media(&self, request: Media) -> Result<BoxStream<'static, Piece>, Fault>;

    /// A model that this server itself asks, at the person's cost; without a name, the config's
    /// choice. `bytes` is the approximate size of the request.
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
    /// The body as the client sent it.
    pub body: Map<String, Value>,
    /// Beta features that the request asks for.
    pub betas: Option<String>,
}

/// A request for speech, images or moderation on its way to a provider.
#[derive(Clone, Debug)]
pub struct Media {
    pub person: PersonId,
    pub limits: Limits,
    /// `<provider>/<model>`.
    pub model: String,
    pub route: MediaRoute,
    pub content_type: String,
    /// The body with the model's own name in it.
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
    /// Embeddings of texts that are given as token numbers.
    Embeddings,
}

impl MediaRoute {
    /// The path below `/v1`.
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

/// The format that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    ChatCompletions,
    Responses,
    Messages,
}

pub enum ForwardedAnswer {
    /// The provider speaks the client's wire: its bytes, with failures as the last piece.
    SameWire(BoxStream<'static, Piece>),
    /// The model speaks another format: the request has to be decoded and the answer written in the
    /// client's format.
    OtherWire {
        model: Arc<dyn Model>,
        /// The body as it was given.
        body: Map<String, Value>,
    },
}

/// A part of a provider's answer. No part comes before the provider has begun a good answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Head {
        content_type: String,
        /// The rate-limit headers of the provider.
        limits: Vec<(String, String)>,
    },
    /// Complete frames of a stream, or a whole body.
    Bytes(Bytes),
    Failed(Fault),
}

/// Vectors for texts, in order, and their usage.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    pub vectors: Vec<Vec<f32>>,
    pub usage: Usage,
}

/// Figures of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFigures {
    pub provider: String,
    pub model: String,
    /// Whether a call would go to it now.
    pub admitted: bool,
    pub in_flight: u64,
    /// Calls by result.
    pub results: Vec<(String, u64)>,
    pub usage: Usage,
    pub first_content: Histogram,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    pub bounds: &'static [f64],
    /// One more entry than there are bounds.
    pub buckets: Vec<u64>,
    pub sum: f64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedModel {
    pub id: String,
    pub owner: String,
    pub context_window: Option<u32>,
    pub max_output_tokens: Option<u32>,
    /// Absent where unknown.
    pub tools: Option<bool>,
    pub reasoning: Option<bool>,
    pub images: Option<bool>,
}
