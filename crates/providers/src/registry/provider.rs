use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt, once};
use onyx_types::{Cancel, Model, ModelEvent, ModelFailure, ModelRequest};

use super::settings::ModelSettings;
use crate::http::{Call, Endpoint, LazyClient, Timeouts};
use crate::wire::{Compat, Target, Wire};

/// A provider that can be called: everything resolved, nothing looked up later.
#[derive(Debug)]
pub(super) struct Provider {
    name: String,
    wire: Wire,
    endpoint: Arc<Endpoint>,
    client: LazyClient,
    timeouts: Timeouts,
    models: Vec<ModelSettings>,
    compat: Compat,
}

impl Provider {
    pub(super) fn new(
        name: &str,
        wire: Wire,
        endpoint: Arc<Endpoint>,
        timeouts: Timeouts,
        models: Vec<ModelSettings>,
        compat: Compat,
    ) -> Self {
        let (name, client) = (name.to_owned(), LazyClient::default());
        Self { name, wire, endpoint, client, timeouts, models, compat }
    }

    pub(super) fn address(&self) -> &str {
        self.endpoint.url.as_str()
    }

    pub(super) fn models(&self) -> &[ModelSettings] {
        &self.models
    }
}

/// One model of a provider, straight on the wire: no retry, no fallback.
#[derive(Debug)]
pub(super) struct WireModel {
    provider: Arc<Provider>,
    target: Target,
    context_window: Option<u32>,
}

impl WireModel {
    pub(super) fn new(provider: Arc<Provider>, model: &str) -> Self {
        let known = provider.models.iter().find(|known| known.id == model);
        let target = Target {
            id: format!("{}/{model}", provider.name),
            model: model.to_owned(),
            context_window: known.and_then(|known| known.context_window),
            max_output_tokens: known.and_then(|known| known.max_output_tokens),
            compat: provider.compat.clone(),
        };
        let context_window = known.and_then(|known| known.context_window);
        Self { provider, target, context_window }
    }

    fn call(
        &self,
        request: &ModelRequest,
        cancel: Cancel,
    ) -> Result<BoxStream<'static, ModelEvent>, ModelFailure> {
        let provider = &self.provider;
        let call = Call {
            wire: provider.wire,
            client: provider.client.get(&provider.endpoint, provider.timeouts.connect)?.clone(),
            endpoint: Arc::clone(&provider.endpoint),
            target: self.target.clone(),
            timeouts: provider.timeouts,
            cancel,
        };
        call.events(request)
    }
}

impl Model for WireModel {
    fn id(&self) -> &str {
        &self.target.id
    }

    fn context_window(&self) -> Option<u32> {
        self.context_window
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        match self.call(&request, cancel) {
            Ok(events) => events,
            Err(failure) => once(async { ModelEvent::Failed(failure) }).boxed(),
        }
    }
}
