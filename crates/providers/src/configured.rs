//! The models of one config: its providers, and the names, defaults and rules by which one of their
//! models is chosen. The binary builds this from the config, and its ports ask it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use onyx_types::{ErrorCode, Fault, Model, ModelId, SamplingSetting};

use crate::aliases::ModelsSettings;
use crate::metadata::ModelFacts;
use crate::registry::{Locality, ProviderState, Registry};
use crate::routing::{Need, RoutingSettings, Task, TaskClass};

/// A provider that does not list its models within this time is listed with the models of the
/// config.
const LISTING: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct ConfiguredModels {
    pub registry: Registry,
    pub default_model: Option<String>,
    pub aliases: ModelsSettings,
    pub routing: RoutingSettings,
    /// The model that Onyx runs itself. It answers where the config names no model.
    pub embedded: ModelId,
}

/// The model that was chosen for an agent, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PickedModel {
    pub model: ModelId,
    pub reason: String,
    pub is_local: bool,
}

/// A model or alias that clients may name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedModel {
    pub id: String,
    /// The provider, or `alias`.
    pub owner: String,
    pub facts: ModelFacts,
}

impl ConfiguredModels {
    /// The model for one run, with the fallbacks to ask in its place.
    pub fn chain(
        &self,
        named: Option<&ModelId>,
        fallbacks: &[ModelId],
    ) -> Result<Arc<dyn Model>, Fault> {
        self.registry.chosen(&self.routing, &self.primary(named), fallbacks)
    }

    /// The first model of a run, if it and its fallbacks run on this machine; the error names one
    /// that does not.
    pub fn local_primary(
        &self,
        named: Option<&ModelId>,
        fallbacks: &[ModelId],
    ) -> Result<ModelId, Fault> {
        self.registry.local_only(&self.routing, self.primary(named), fallbacks)
    }

    /// The named model, else the default one of the config, else that of the providers.
    pub fn named_or_default(&self, named: Option<&ModelId>) -> Option<ModelId> {
        let default = || self.default_model.clone().or_else(|| self.registry.default_model());
        named.cloned().or_else(|| default().map(ModelId::new))
    }

    /// The model of a request without an agent: the named one, else the default one of the config.
    /// The default ones of the providers are not considered.
    pub fn without_agent<'a>(&'a self, named: Option<&'a str>) -> Result<&'a str, Fault> {
        let model = named.or(self.default_model.as_deref());
        model.ok_or_else(|| Fault::plain(ErrorCode::ModelNotFound))
    }

    fn primary(&self, named: Option<&ModelId>) -> ModelId {
        self.named_or_default(named).unwrap_or_else(|| self.embedded.clone())
    }

    /// The model that an agent asks for by name. Only configured models can be chosen.
    pub fn pick_named(&self, model: &ModelId) -> Result<PickedModel, Fault> {
        let candidates = self.registry.candidates();
        let known: Vec<&str> = candidates.iter().map(|known| known.id.as_str()).collect();
        if !known.contains(&model.as_str()) {
            let message = format!("`{model}` is not among the configured models.");
            return Err(Fault::new(ErrorCode::ModelNotFound, message)
                .with_hint(format!("There are: {}.", known.join(", "))));
        }
        let is_local = self.registry.is_local(model.as_str());
        Ok(PickedModel { model: model.clone(), reason: String::new(), is_local })
    }

    /// The model that the rules choose for an agent's task of the class with this name. Agents call
    /// tools, so the model must be able to.
    pub fn pick_for_task(
        &self,
        class: Option<&str>,
        locality: Option<Locality>,
    ) -> Result<PickedModel, Fault> {
        let class = class.map_or(Ok(TaskClass::default()), TaskClass::named)?;
        let task = Task { class, locality, needs: vec![Need::Tools], ..Task::default() };
        let choice = self.registry.route(&self.routing, &task)?;
        let is_local = self.registry.is_local(&choice.model);
        Ok(PickedModel { model: ModelId::new(choice.model), reason: choice.reason, is_local })
    }

    /// Whether this model is known to be unable to call tools.
    pub fn lacks_tools(&self, model: &str) -> bool {
        let known = self.registry.candidates();
        known.iter().any(|known| known.id == model && known.facts.tools == Some(false))
    }

    /// Whether the model is small. Those that Onyx runs itself are.
    pub fn is_small(&self, model: &str) -> bool {
        model.split_once('/').is_some_and(|(provider, _)| provider == self.embedded.provider())
    }

    /// The settings that the named model supports, or the default one.
    pub fn takes(&self, named: Option<&str>) -> Vec<SamplingSetting> {
        let registry = &self.registry;
        match named.or(self.default_model.as_deref()) {
            Some("auto") => registry.taken_by_all(),
            Some(model) => registry.takes(model),
            None => registry.default_model().map_or_else(Vec::new, |model| registry.takes(&model)),
        }
    }

    /// The models of the config and of the providers' own lists, without repeats, and the aliases.
    pub async fn listed(&self) -> Vec<NamedModel> {
        let registry = &self.registry;
        let configured = registry.candidates().into_iter();
        let mut all: Vec<NamedModel> =
            configured.map(|model| NamedModel::new(model.id, model.facts)).collect();
        let ready = registry.status().into_iter().filter_map(|provider| match provider.state {
            ProviderState::Ready { .. } => Some(provider.name),
            ProviderState::Disabled { .. } => None,
        });
        let asked = ready.map(|name| async move {
            let models = tokio::time::timeout(LISTING, registry.list_models(&name)).await;
            // A provider that fails or does not answer is shown in `/ready`; the list is made
            // without it.
            (name, models.ok().and_then(Result::ok).unwrap_or_default())
        });
        for (owner, models) in join_all(asked).await {
            for model in models {
                let id = format!("{owner}/{}", model.id);
                if !all.iter().any(|known| known.id == id) {
                    let known = self.known_facts(&id);
                    let context_window = model.context_window.or(known.context_window);
                    all.push(NamedModel::new(id, ModelFacts { context_window, ..known }));
                }
            }
        }
        for (name, meant) in self.aliases.names() {
            let facts = self.known_facts(meant);
            all.push(NamedModel { id: name.to_owned(), owner: "alias".to_owned(), facts });
        }
        all
    }

    /// The facts of a model that is listed even if nothing is known about it.
    fn known_facts(&self, id: &str) -> ModelFacts {
        self.registry.facts(id).unwrap_or_default()
    }
}

impl NamedModel {
    fn new(id: String, facts: ModelFacts) -> Self {
        Self { owner: id.split('/').next().unwrap_or_default().to_owned(), id, facts }
    }
}
