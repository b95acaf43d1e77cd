//! Requests that a client has written in a provider's own wire.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use onyx_types::{Cancel, Model, ModelEvent, ModelRequest};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::catalogue::{Catalogue, split};
use super::error::RegistryError;
use super::guards::Guards;
use super::provider::WireModel;
use crate::decorators::PricedModel;
use crate::http::{PIECES, RawCall, RawPiece};
use crate::wire::Wire;

/// How a request is sent.
pub enum ForwardRoute {
    SameWire(Forwarding),
    /// The provider speaks another wire, so the client's body must be parsed.
    OtherWire(Map<String, Value>),
}

/// A request that is ready to send. Reading the model's stream delivers the pieces, each before the
/// event that it holds. The model ignores the request it is given.
pub struct Forwarding {
    pub model: Arc<dyn Model>,
    pub pieces: mpsc::Receiver<RawPiece>,
}

/// Sends the body, with the model's own name, to the provider's address with the provider's key.
pub(super) fn forward(
    catalogue: &Catalogue,
    guards: &Guards,
    id: &str,
    wire: Wire,
    mut body: Map<String, Value>,
    betas: Option<&str>,
) -> Result<ForwardRoute, RegistryError> {
    let (name, model) = split(id)?;
    if catalogue.sourced(name).is_some() {
        return Ok(ForwardRoute::OtherWire(body));
    }
    let provider = catalogue.provider(name)?;
    if provider.line.wire_of(model) != wire {
        return Ok(ForwardRoute::OtherWire(body));
    }
    body.insert("model".to_owned(), model.into());
    let body = Bytes::from(Value::Object(body).to_string());
    let (out, pieces) = mpsc::channel(PIECES);
    let health = provider.line.health.of(model);
    let facts = provider.facts(model, &catalogue.metadata);
    let raw = RawModel {
        wire: WireModel::new(provider, model, &facts),
        call: RawCall { body, headers: beta_headers(betas), out },
    };
    let priced = Arc::new(PricedModel::new(Arc::new(raw), facts.price));
    Ok(ForwardRoute::SameWire(Forwarding { model: guards.retried(priced, &health), pieces }))
}

/// Anthropic's clients name features that the API version does not include yet in a header. Without
/// the header the provider refuses the fields of these features.
fn beta_headers(betas: Option<&str>) -> HeaderMap {
    let value = betas.and_then(|betas| HeaderValue::from_str(betas).ok());
    value.map(|value| (HeaderName::from_static("anthropic-beta"), value)).into_iter().collect()
}

struct RawModel {
    wire: WireModel,
    call: RawCall,
}

impl Model for RawModel {
    fn id(&self) -> &str {
        self.wire.id()
    }

    fn context_window(&self) -> Option<u32> {
        self.wire.context_window()
    }

    fn stream(&self, _: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        self.wire.stream_raw(self.call.clone(), cancel)
    }
}
