//! The models of the home's folder as a source of the registry.

use std::sync::{Arc, OnceLock};

use onyx_providers::{Locality, ModelSettings, ModelSource, ProviderKind};
use onyx_types::{Embedder, ErrorCode, Fault, Model};

use crate::weights::{MINILM, ModelsFolder, Weights};
use crate::{Allowance, Launch, LocalEmbedder};

#[derive(Clone, Debug, PartialEq)]
pub struct LocalSettings {
    pub folder: ModelsFolder,
    pub launch: Launch,
    pub allowance: Allowance,
    /// What the config says of them.
    pub models: Vec<ModelSettings>,
    pub named: Named,
}

/// Whether the config speaks of the source. One that it does not and that has nothing is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    InConfig,
    Nowhere,
}

#[derive(Debug)]
pub struct LocalModels {
    settings: LocalSettings,
    embedder: OnceLock<Arc<LocalEmbedder>>,
}

impl LocalModels {
    pub fn new(settings: LocalSettings) -> Self {
        Self { settings, embedder: OnceLock::new() }
    }

    /// The embedding model, if its weights are here.
    fn minilm(&self) -> Result<Arc<LocalEmbedder>, Fault> {
        let stored = Weights::named(MINILM).and_then(|minilm| self.settings.folder.known(minilm));
        let stored = stored.ok_or_else(|| missing(MINILM))?;
        let LocalSettings { launch, allowance, .. } = &self.settings;
        let make = || Arc::new(LocalEmbedder::new(&stored.path, launch.clone(), *allowance));
        Ok(Arc::clone(self.embedder.get_or_init(make)))
    }
}

/// The advice is part of the message: not every way to the person carries a hint.
fn missing(name: &str) -> Fault {
    let message = format!(
        "the weights of local/{name} are not on this machine: fetch them with `onyx models pull \
         {name}`"
    );
    Fault::new(ErrorCode::ProviderUnavailable, message).with_hint(
        "Everything else works without them; any other provider can be named in onyx.json.",
    )
}

impl ModelSource for LocalModels {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Embedded
    }

    fn locality(&self) -> Locality {
        Locality::ThisMachine
    }

    fn place(&self) -> String {
        self.settings.folder.path().display().to_string()
    }

    fn is_shown(&self) -> bool {
        let any = || self.settings.folder.list().is_ok_and(|stored| !stored.is_empty());
        self.settings.named == Named::InConfig || any()
    }

    fn models(&self) -> Vec<ModelSettings> {
        self.settings.models.clone()
    }

    fn model(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        let message = format!(
            "local/{name} cannot answer: this binary was built without llama.cpp, so it runs no \
             language model itself; name another provider in onyx.json"
        );
        Err(Fault::new(ErrorCode::ProviderUnavailable, message))
    }

    fn embedder(&self, name: &str) -> Result<Arc<dyn Embedder>, Fault> {
        match name {
            MINILM => Ok(self.minilm()?),
            other => {
                let message = format!("`local/{other}` makes no vectors.");
                Err(Fault::new(ErrorCode::ModelNotFound, message)
                    .with_hint("The embedding model here is local/minilm."))
            }
        }
    }
}
