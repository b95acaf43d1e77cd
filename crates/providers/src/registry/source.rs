use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, ready};
use onyx_types::{Embedder, ErrorCode, Fault, Model};

use super::error::RegistryError;
use super::health::HealthBook;
use super::kinds::ProviderKind;
use super::settings::ModelSettings;
use super::status::{ProviderState, ProviderStatus};
use super::vendor::Locality;
use crate::Secret;
use crate::metadata::ModelFacts;
use crate::oauth::LoginStatus;
use crate::routing::Candidate;

/// Models that are used without one of the wires: inside this process, in a subprocess, or through
/// a vendor's own client.
pub trait ModelSource: Send + Sync + std::fmt::Debug {
    fn kind(&self) -> ProviderKind;

    fn locality(&self) -> Locality;

    /// Where the models are, for people.
    fn place(&self) -> String;

    /// Whether people see the source: an unconfigured source without models can be hidden.
    fn is_shown(&self) -> bool {
        true
    }

    /// The models of the source, the default one first.
    fn models(&self) -> Vec<ModelSettings>;

    fn model(&self, name: &str) -> Result<Arc<dyn Model>, Fault>;

    /// The reason why none of the models is available, and what to do about it.
    fn obstacle(&self) -> Option<Fault> {
        None
    }

    /// The reason why people see the source as disabled although it is configured.
    fn absence(&self) -> Option<String> {
        None
    }

    /// The facts of a model that is not among `models`.
    fn facts(&self, _name: &str) -> Option<ModelFacts> {
        None
    }

    /// The state of the source's own sign-in, as far as it is known.
    fn login(&self) -> Option<LoginStatus> {
        None
    }

    /// How people sign in, if the source has a sign-in of its own.
    fn sign_in_hint(&self) -> Option<String> {
        None
    }

    /// A closer check than `obstacle`, for a person's test.
    fn check(&self) -> BoxFuture<'_, Result<(), Fault>> {
        ready(self.obstacle().map_or(Ok(()), Err)).boxed()
    }

    /// The source's embedding model of this name.
    fn embedder(&self, name: &str) -> Result<Arc<dyn Embedder>, Fault> {
        let message =
            format!("`{name}` is of kind `{}`, which makes no vectors here", self.kind().as_str());
        Err(Fault::new(ErrorCode::ModelNotFound, message))
    }

    /// The files of a model of this name, if the model consists of files on this machine.
    fn weights(&self, _name: &str) -> Option<ModelWeights> {
        None
    }

    /// The secrets of the source, which must be masked in all texts.
    fn secrets(&self) -> &[Secret] {
        &[]
    }
}

/// The files of a model that runs on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelWeights {
    pub files: Vec<WeightsFile>,
    pub licence: Option<String>,
    /// The context window with which the model was trained, in tokens.
    pub trained_window: Option<u32>,
    /// Whether it is in memory now.
    pub loaded: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightsFile {
    pub path: PathBuf,
    pub bytes: u64,
    /// The SHA-256 that the file must have, if that is known.
    pub pinned_sha256: Option<String>,
}

/// A source with its name, or why it is not available.
pub type NamedSource = (String, Result<Arc<dyn ModelSource>, String>);

/// A source under its name in the registry. It is listed after all configured providers.
#[derive(Debug)]
pub(super) struct ListedSource {
    pub(super) name: String,
    source: Arc<dyn ModelSource>,
    pub(super) no_login: Fault,
    pub(super) health: Arc<HealthBook>,
}

impl ListedSource {
    pub(super) fn new(name: String, source: Arc<dyn ModelSource>, before: Option<&Self>) -> Self {
        let same = before.filter(|before| Arc::ptr_eq(&before.source, &source));
        let health = same.map(|before| Arc::clone(&before.health)).unwrap_or_default();
        let no_login = super::login::of_source(&name, source.sign_in_hint());
        Self { name, source, no_login, health }
    }

    pub(super) fn model(&self, model: &str) -> Result<Arc<dyn Model>, RegistryError> {
        self.source.model(model).map_err(RegistryError::Source)
    }

    pub(super) fn embedder(&self, model: &str) -> Result<Arc<dyn Embedder>, Fault> {
        self.source.embedder(model)
    }

    pub(super) fn weights(&self, model: &str) -> Option<ModelWeights> {
        self.source.weights(model)
    }

    pub(super) fn kind(&self) -> ProviderKind {
        self.source.kind()
    }

    pub(super) fn locality(&self) -> Locality {
        self.source.locality()
    }

    pub(super) fn secrets(&self) -> &[Secret] {
        self.source.secrets()
    }

    pub(super) fn facts(&self, model: &str) -> ModelFacts {
        let known = self.source.models().into_iter().find(|known| known.id == model);
        known.map(|known| known.facts).or_else(|| self.source.facts(model)).unwrap_or_default()
    }

    pub(super) fn usual(&self) -> Option<String> {
        Some(format!("{}/{}", self.name, self.source.models().into_iter().next()?.id))
    }

    pub(super) fn count(&self) -> usize {
        self.source.models().len()
    }

    pub(super) fn candidates(&self, now: Duration) -> impl Iterator<Item = Candidate> {
        self.source.models().into_iter().map(move |model| Candidate {
            id: format!("{}/{}", self.name, model.id),
            rests: !self.health.admits(&model.id, now),
            facts: model.facts,
            locality: self.source.locality(),
        })
    }

    pub(super) async fn check(&self) -> Result<(), Fault> {
        self.source.check().await
    }

    pub(super) fn login(&self) -> Option<LoginStatus> {
        self.source.login()
    }

    pub(super) fn is_shown(&self) -> bool {
        self.source.is_shown()
    }

    pub(super) fn status(&self, now: Duration) -> ProviderStatus {
        ProviderStatus {
            name: self.name.clone(),
            kind: Some(self.source.kind()),
            state: match self.source.absence() {
                Some(reason) => ProviderState::Disabled { reason },
                None => ProviderState::Ready { address: self.source.place() },
            },
            key: None,
            locality: Some(self.source.locality()),
            models: self.source.models().into_iter().map(|model| model.id).collect(),
            called: self.health.snapshot(now),
            login: self.source.login(),
            account: None,
        }
    }
}
