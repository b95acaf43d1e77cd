//! Requests that are no conversation: speech, pictures, moderation. They go to a provider with
//! OpenAI's wires as the client wrote them, with the model's own name and the provider's key.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt, once};
use onyx_types::{
    Cancel, ErrorCode, Fault, FinishReason, Model, ModelEvent, ModelFailure, ModelFailureClass,
    ModelRequest, Usage,
};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Response, Url};
use serde_json::Value;
use tokio::sync::mpsc;

use super::catalogue::{Catalogue, split};
use super::error::RegistryError;
use super::forward::Forwarding;
use super::guards::Guards;
use super::provider::Provider;
use crate::connect::transport;
use crate::decorators::PricedModel;
use crate::failure::failure;
use crate::http::{PIECES, RawPiece, limit_headers};
use crate::wire::{Wire, http_failure};

/// Larger than any speech or picture that a model returns.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// A request as its client wrote it, but for the model's name.
#[derive(Clone, Debug)]
pub struct MediaRequest {
    /// The path below the provider's address, such as `audio/speech`.
    pub path: &'static str,
    pub content_type: String,
    pub body: Bytes,
}

/// Prepares a request to a provider that may have such a route.
pub(super) fn media(
    catalogue: &Catalogue,
    guards: &Guards,
    id: &str,
    request: MediaRequest,
) -> Result<Forwarding, RegistryError> {
    let (name, model) = split(id)?;
    if catalogue.sourced(name).is_some() {
        return Err(RegistryError::Source(without(name, request.path)));
    }
    let provider = catalogue.provider(name)?;
    match provider.line.wire {
        Wire::OpenAiChat | Wire::OpenAiResponses => {}
        Wire::Anthropic | Wire::Gemini | Wire::Ollama => {
            return Err(RegistryError::Source(without(name, request.path)));
        }
    }
    let (out, pieces) = mpsc::channel(PIECES);
    let health = provider.line.health.of(model);
    let price = provider.facts(model, &catalogue.metadata).price;
    let id = format!("{name}/{model}");
    let media = Arc::new(MediaModel { id, provider, request, out });
    let model = guards.once(Arc::new(PricedModel::new(media, price)), &health);
    Ok(Forwarding { model, pieces })
}

fn without(provider: &str, path: &str) -> Fault {
    let message = format!("The provider `{provider}` has no `/v1/{path}`.");
    Fault::new(ErrorCode::ModelNotFound, message)
        .with_hint("Name a model of a provider that speaks OpenAI's wire: <provider>/<model>.")
}

struct MediaModel {
    id: String,
    provider: Arc<Provider>,
    request: MediaRequest,
    out: mpsc::Sender<RawPiece>,
}

impl Model for MediaModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn context_window(&self) -> Option<u32> {
        None
    }

    fn stream(&self, _: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let (provider, request) = (Arc::clone(&self.provider), self.request.clone());
        let out = self.out.clone();
        let asked = async move {
            let work = ask(&provider, request, &out);
            let limit = provider.line.timeouts.total;
            let done = tokio::select! {
                () = cancel.cancelled() => {
                    Err(failure(ModelFailureClass::Cancelled, "the call was cancelled"))
                }
                done = tokio::time::timeout(limit, work) => done.unwrap_or_else(|_| {
                    Err(failure(ModelFailureClass::Timeout, "no whole answer within its time"))
                }),
            };
            match done {
                Ok(usage) => {
                    let mut events: Vec<ModelEvent> =
                        usage.map(ModelEvent::Usage).into_iter().collect();
                    events.push(ModelEvent::Finish(FinishReason::Stop));
                    events
                }
                Err(failure) => {
                    vec![ModelEvent::Failed(provider.line.endpoint.mask(failure))]
                }
            }
        };
        once(asked).flat_map(futures::stream::iter).boxed()
    }
}

async fn ask(
    provider: &Provider,
    request: MediaRequest,
    out: &mpsc::Sender<RawPiece>,
) -> Result<Option<Usage>, ModelFailure> {
    let base = provider.base.as_str().trim_end_matches('/');
    let address = Url::parse(&format!("{base}/{}", request.path))
        .map_err(|error| failure(ModelFailureClass::InvalidRequest, error.to_string()))?;
    let content_type = HeaderValue::from_str(&request.content_type)
        .map_err(|_| failure(ModelFailureClass::InvalidRequest, "the content type is no text"))?;
    let pass = provider.line.endpoint.pass().await?;
    let mut headers = provider.line.endpoint.headers.clone();
    headers.extend(pass.headers.clone());
    headers.insert(CONTENT_TYPE, content_type);
    let sent = provider.line.client()?.post(address).headers(headers).body(request.body).send();
    let response = sent.await.map_err(transport)?;
    if !response.status().is_success() {
        return Err(refused(response).await);
    }
    tell(response, out).await
}

async fn refused(response: Response) -> ModelFailure {
    let status = response.status().as_u16();
    let limits = limit_headers(response.headers());
    let body = response.bytes().await.unwrap_or_default();
    let mut failure = http_failure(status, None, &body);
    if let Some(upstream) = &mut failure.upstream {
        upstream.headers = limits;
    }
    failure
}

/// Passes the answer on as it comes, and reads the usage from an answer in JSON.
async fn tell(
    mut response: Response,
    out: &mpsc::Sender<RawPiece>,
) -> Result<Option<Usage>, ModelFailure> {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or("application/octet-stream").to_owned();
    let is_json = content_type.starts_with("application/json");
    let limits = limit_headers(response.headers());
    // Sending fails only if the client went away. The call is then dropped with it, so the failure
    // is ignored.
    let _ = out.send(RawPiece::Head { content_type, limits }).await;
    let (mut received, mut json) = (0, Vec::new());
    while let Some(bytes) = response.chunk().await.map_err(transport)? {
        received += bytes.len();
        if received > MAX_BYTES {
            let message = format!("the answer is longer than {MAX_BYTES} bytes");
            return Err(failure(ModelFailureClass::Transport, message));
        }
        if is_json {
            json.extend_from_slice(&bytes);
        }
        let _ = out.send(RawPiece::Bytes(bytes)).await;
    }
    Ok(serde_json::from_slice(&json).ok().and_then(|body| usage(&body)))
}

fn usage(body: &Value) -> Option<Usage> {
    let reported = body.get("usage")?;
    let count = |names: [&str; 2]| names.iter().find_map(|name| reported.get(name)?.as_u64());
    Some(Usage {
        input: count(["input_tokens", "prompt_tokens"])?,
        output: count(["output_tokens", "completion_tokens"]).unwrap_or(0),
        ..Usage::default()
    })
}
