use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt, once};
use onyx_types::{Cancel, Model, ModelEvent, ModelFailure, ModelRequest, SamplingSetting};
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};

use super::health::HealthBook;
use super::kinds::ProviderKind;
use super::settings::ModelSettings;
use super::vendor::{Locality, home_vendor, vendor};
use crate::connect::LazyClient;
use crate::http::{Call, Endpoint, RawCall, Timeouts};
use crate::metadata::{Metadata, ModelFacts, Price};
use crate::oauth::{Login, TokenSource};
use crate::wire::{CalledModel, Compat, Wire};

/// A provider that can be called. Everything in it is resolved, and nothing is looked up later.
#[derive(Debug)]
pub(super) struct Provider {
    pub(super) name: String,
    pub(super) kind: ProviderKind,
    pub(super) line: Line,
    /// The address that every route of the provider is below.
    pub(super) base: Url,
    models: Vec<ModelSettings>,
    /// The facts of the models that may be chosen, in their order.
    known: Vec<ModelFacts>,
    compat: Compat,
    pub(super) locality: Locality,
}

/// The connection to a provider and its health: kept when the config changes, as long as the
/// address and the key stay the same.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) wire: Wire,
    pub(super) endpoint: Arc<Endpoint>,
    /// Other wires of the same server, by the prefix of their models' names.
    others: Vec<OtherWire>,
    pub(super) timeouts: Timeouts,
    client: Arc<LazyClient>,
    pub(super) health: Arc<HealthBook>,
}

/// A wire that a server speaks for some of its models.
#[derive(Clone, Debug)]
pub(super) struct OtherWire {
    pub(super) prefix: &'static str,
    pub(super) wire: Wire,
    pub(super) endpoint: Arc<Endpoint>,
}

impl Line {
    pub(super) fn new(wire: Wire, endpoint: Arc<Endpoint>, timeouts: Timeouts) -> Self {
        let (client, health) = (Arc::default(), Arc::default());
        Self { wire, endpoint, others: Vec::new(), timeouts, client, health }
    }

    pub(super) fn with_others(self, others: Vec<OtherWire>) -> Self {
        Self { others, ..self }
    }

    /// The wire of a model.
    pub(super) fn wire_of(&self, model: &str) -> Wire {
        self.other(model).map_or(self.wire, |other| other.wire)
    }

    fn endpoint_of(&self, model: &str) -> &Arc<Endpoint> {
        self.other(model).map_or(&self.endpoint, |other| &other.endpoint)
    }

    fn other(&self, model: &str) -> Option<&OtherWire> {
        self.others.iter().find(|other| model.starts_with(other.prefix))
    }

    pub(super) fn client(&self) -> Result<&Client, ModelFailure> {
        self.client.get(&self.endpoint.url, self.timeouts.connect)
    }

    /// The endpoint's headers, and the wire's own where they are not set.
    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = self.endpoint.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        for &(name, value) in self.wire.headers() {
            headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
        }
        headers
    }

    fn leads_where(&self, other: &Self) -> bool {
        let (own, others) = (&self.endpoint, &other.endpoint);
        self.wire == other.wire
            && self.timeouts == other.timeouts
            && own.url == others.url
            && own.headers == others.headers
            && match (&own.tokens, &others.tokens) {
                (Some(own), Some(others)) => own.is(others),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            }
    }
}

impl Provider {
    pub(super) fn new(
        name: &str,
        kind: ProviderKind,
        line: Line,
        base: Url,
        models: Vec<ModelSettings>,
        compat: Compat,
        locality: Locality,
    ) -> Self {
        let (name, known) = (name.to_owned(), Vec::new());
        Self { name, kind, line, base, models, known, compat, locality }
    }

    /// Takes over the connections and the health of the provider it replaces, if both lead to the
    /// same place.
    pub(super) fn succeed(&mut self, before: &Self) {
        if self.line.leads_where(&before.line) {
            self.line.client = Arc::clone(&before.line.client);
            self.line.health = Arc::clone(&before.line.health);
        }
    }

    pub(super) fn login(&self) -> Option<&Arc<Login>> {
        match &self.line.endpoint.tokens {
            Some(TokenSource::Login(login)) => Some(login),
            Some(TokenSource::Machine(_)) | None => None,
        }
    }

    /// The account of the machine's own identity, if the provider uses one.
    pub(super) fn machine_account(&self) -> Option<String> {
        match &self.line.endpoint.tokens {
            Some(TokenSource::Machine(credential)) => credential.account(),
            Some(TokenSource::Login(_)) | None => None,
        }
    }

    /// The API version in the addresses, if they name one.
    pub(super) fn api_version(&self) -> Option<&str> {
        self.compat.api_version.as_deref()
    }

    /// Why the provider cannot be used although its settings are valid: no person is signed in.
    pub(super) fn absence(&self) -> Option<String> {
        self.login()?.absence()
    }

    pub(super) fn models(&self) -> &[ModelSettings] {
        &self.models
    }

    /// The models to choose from: those in the config, else the default one.
    pub(super) fn choices(&self) -> impl Iterator<Item = &str> {
        let named = self.models.iter().map(|model| model.id.as_str());
        let usual = || vendor(&self.name).and_then(|vendor| vendor.default_model);
        named.chain(self.models.is_empty().then(usual).flatten())
    }

    /// Looks up the facts that every call would need, once.
    pub(super) fn learn(&mut self, metadata: &Metadata) {
        self.known = self.choices().map(|model| self.looked_up(model, metadata)).collect();
    }

    pub(super) fn facts(&self, model: &str, metadata: &Metadata) -> ModelFacts {
        let known = self.choices().zip(&self.known).find(|(name, _)| *name == model);
        known.map_or_else(|| self.looked_up(model, metadata), |(_, facts)| facts.clone())
    }

    fn looked_up(&self, model: &str, metadata: &Metadata) -> ModelFacts {
        let own = self.models.iter().find(|known| known.id == model);
        let own = own.map(|known| known.facts.clone()).unwrap_or_default();
        let mut facts =
            own.or(metadata.facts(&self.name, model, home_vendor(&self.name, self.kind)));
        if self.locality == Locality::ThisMachine {
            facts.price = facts.price.or(Some(Price::FREE));
        }
        facts
    }
}

/// One model of a provider, called directly on the wire without retry or fallback.
#[derive(Debug)]
pub(super) struct WireModel {
    provider: Arc<Provider>,
    called: CalledModel,
}

impl WireModel {
    pub(super) fn new(provider: Arc<Provider>, model: &str, facts: &ModelFacts) -> Self {
        let called = CalledModel {
            id: format!("{}/{model}", provider.name),
            model: model.to_owned(),
            context_window: facts.context_window,
            max_output_tokens: facts.max_output_tokens,
            reasons: facts.reasoning == Some(true),
            compat: provider.compat.clone(),
        };
        Self { provider, called }
    }

    /// Whether the model supports a client's setting.
    pub(super) fn takes(&self, setting: SamplingSetting) -> bool {
        self.provider.line.wire_of(&self.called.model).takes(setting, &self.called)
    }

    /// Sends a body that a client has written for this wire, and streams the raw answer.
    pub(super) fn stream_raw(
        &self,
        raw: RawCall,
        cancel: Cancel,
    ) -> BoxStream<'static, ModelEvent> {
        self.events(&ModelRequest::default(), Some(raw), cancel)
    }

    fn events(
        &self,
        request: &ModelRequest,
        raw: Option<RawCall>,
        cancel: Cancel,
    ) -> BoxStream<'static, ModelEvent> {
        match self.call(request, raw, cancel) {
            Ok(events) => events,
            Err(failure) => once(async { ModelEvent::Failed(failure) }).boxed(),
        }
    }

    fn call(
        &self,
        request: &ModelRequest,
        raw: Option<RawCall>,
        cancel: Cancel,
    ) -> Result<BoxStream<'static, ModelEvent>, ModelFailure> {
        let line = &self.provider.line;
        let call = Call {
            wire: line.wire_of(&self.called.model),
            client: line.client()?.clone(),
            endpoint: Arc::clone(line.endpoint_of(&self.called.model)),
            called: self.called.clone(),
            timeouts: line.timeouts,
            cancel,
            raw,
        };
        call.events(request)
    }
}

impl Model for WireModel {
    fn id(&self) -> &str {
        &self.called.id
    }

    fn context_window(&self) -> Option<u32> {
        self.called.context_window
    }

    fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        self.events(&request, None, cancel)
    }
}
