//! The models of the home's folder as a source of the registry.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use onyx_providers::{
    Locality, ModelFacts, ModelSettings, ModelSource, ModelWeights, Price, ProviderKind,
    WeightsFile,
};
use onyx_types::{Embedder, ErrorCode, Fault, Model};

use crate::chat::{Ability, LocalModel};
use crate::cores::physical_cores;
use crate::gguf::{Gguf, GgufError};
use crate::weights::{MINILM, ModelsFolder, Runtime, SMOLLM2, StoredWeights, Weights};
use crate::worker::{Keeper, WorkerTask};
use crate::{Allowance, Launch, LocalEmbedder, MemoryRelease, embed, llama};

/// The default window of a model: enough for a conversation, with the memory that a small machine
/// has.
const USUAL_WINDOW: u32 = 8_192;

/// A model that runs here costs nothing that a budget counts.
const FREE: Price =
    Price { input: 0.0, output: 0.0, cache_read: None, cache_write: None, long_prompt: None };

#[derive(Clone, Debug, PartialEq)]
pub struct LocalSettings {
    /// The first part of the ids of the source's models.
    pub name: String,
    pub folder: ModelsFolder,
    pub launch: Launch,
    pub allowance: Allowance,
    /// The models in the config.
    pub models: Vec<ModelSettings>,
    /// Files outside the folder that agents of the config name. A request may name no others: its
    /// answer would reveal which files exist on this machine.
    pub files: BTreeSet<String>,
    pub named: Named,
}

/// Whether the config names the source. Without that, a source that has no models is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    InConfig,
    Nowhere,
}

#[derive(Debug)]
pub struct LocalModels {
    settings: LocalSettings,
    released: MemoryRelease,
    embedder: OnceLock<Arc<LocalEmbedder>>,
    /// Headers of files that were read, with the time of each file's change.
    headers: Mutex<HashMap<PathBuf, (SystemTime, Arc<Gguf>)>>,
    /// The processes, by file.
    keepers: Mutex<HashMap<PathBuf, Arc<Keeper>>>,
}

impl LocalModels {
    pub fn new(settings: LocalSettings, released: MemoryRelease) -> Self {
        Self {
            settings,
            released,
            embedder: OnceLock::new(),
            headers: Mutex::default(),
            keepers: Mutex::default(),
        }
    }

    /// The embedding model, if its weights are here.
    fn minilm(&self) -> Result<Arc<LocalEmbedder>, Fault> {
        let stored = Weights::named(MINILM).and_then(|minilm| self.settings.folder.known(minilm));
        let stored = stored.ok_or_else(|| missing(MINILM))?;
        let LocalSettings { launch, allowance, .. } = &self.settings;
        let make = || {
            let launch = launch.clone();
            Arc::new(LocalEmbedder::new(&stored.path, launch, *allowance, self.released))
        };
        Ok(Arc::clone(self.embedder.get_or_init(make)))
    }

    /// The weights and files of a model that Onyx knows by name.
    fn known(&self, name: &str) -> Option<(&'static Weights, Vec<WeightsFile>)> {
        let known = Weights::named(name)?;
        let StoredWeights { path, .. } = self.settings.folder.known(known)?;
        let file = |wheel_file: &'static crate::WheelFile| WeightsFile {
            path: path.join(wheel_file.file),
            bytes: wheel_file.bytes,
            pinned_sha256: Some(wheel_file.sha256.to_owned()),
        };
        Some((known, known.wheel_files()?.into_iter().map(file).collect()))
    }

    /// The file of a model. One outside the folder must be named by the config.
    fn gguf(&self, name: &str) -> Result<PathBuf, Fault> {
        let named = || self.settings.models.iter().any(|model| model.id == name);
        if name.contains('/') && !named() && !self.settings.files.contains(name) {
            let message = format!("onyx.json names no model file `{name}`");
            return Err(Fault::new(ErrorCode::ModelNotFound, message).with_hint(
                "Name it as an agent's model or among the provider's models, or put it into models/.",
            ));
        }
        Ok(self.settings.folder.gguf(name)?)
    }

    fn has_llama(&self) -> bool {
        llama::is_here(&self.settings.folder)
    }

    fn is_loaded(&self, path: &Path) -> bool {
        let keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.get(path).is_some_and(|keeper| keeper.is_loaded())
    }

    fn header(&self, path: &Path) -> Result<Arc<Gguf>, GgufError> {
        let changed = std::fs::metadata(path)?.modified()?;
        let mut headers = self.headers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, header)) = headers.get(path)
            && *known == changed
        {
            return Ok(Arc::clone(header));
        }
        let header = Arc::new(Gguf::read(path)?);
        headers.insert(path.to_owned(), (changed, Arc::clone(&header)));
        Ok(header)
    }

    fn facts(&self, name: &str, header: &Gguf) -> ModelFacts {
        let trained = header.context_length.unwrap_or(USUAL_WINDOW);
        let known = ModelFacts {
            context_window: Some(trained.min(USUAL_WINDOW)),
            tools: Some(Ability::takes_tools(header)),
            inputs: Some(Vec::new()),
            reasoning: Some(false),
            // The price is set so that no run reports an unknown price.
            price: Some(FREE),
            ..ModelFacts::default()
        };
        let configured = self.settings.models.iter().find(|model| model.id == name);
        configured.map(|model| model.facts.clone()).unwrap_or_default().or(known)
    }

    fn keeper(&self, path: &Path, window: u32) -> Arc<Keeper> {
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let LocalSettings { launch, allowance, .. } = &self.settings;
            let (file, library) = (path.to_owned(), self.settings.folder.runtime());
            let task = WorkerTask::Generate { file, library, window, threads: physical_cores() };
            Arc::new(Keeper::new(launch.clone(), task, allowance.idle, self.released))
        };
        Arc::clone(keepers.entry(path.to_owned()).or_insert_with(make))
    }
}

/// The fault of missing weights. The message includes the advice, because a hint is not shown
/// everywhere.
fn missing(name: &str) -> Fault {
    let message = format!(
        "the weights of local/{name} are not on this machine: fetch them with `onyx models pull \
         {name}`, or name another provider in onyx.json"
    );
    unavailable(message, "Fetch its weights with `onyx models pull`, or choose another model.")
}

fn damaged(name: &str, path: &Path, error: &GgufError) -> Fault {
    let hint = format!("Remove it with `onyx models rm {name}`, then pull it again.");
    unavailable(format!("{}: {error}", path.display()), &hint)
}

/// The fault with a hint of its own, because the code's usual hint is for providers with an
/// address.
fn unavailable(message: String, hint: &str) -> Fault {
    Fault::new(ErrorCode::ProviderUnavailable, message).with_hint(hint)
}

fn without_llama(name: &str) -> Fault {
    let message = format!("local/{name}: {}", llama::no_llama());
    unavailable(message, "Fetch llama.cpp with `onyx models pull`, or choose another model.")
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

    /// The models of the config, then those in the folder, beginning with the small default one.
    fn models(&self) -> Vec<ModelSettings> {
        if !self.has_llama() {
            return self.settings.models.clone();
        }
        let mut names: Vec<String> =
            self.settings.models.iter().map(|model| model.id.clone()).collect();
        // If the folder cannot be read, no models are offered; a request for one gets the reason.
        let mut stored = self.settings.folder.list().unwrap_or_default();
        stored.retain(|stored| stored.name != MINILM);
        stored.sort_by_key(|stored| stored.name != SMOLLM2);
        for stored in stored {
            if !names.contains(&stored.name) {
                names.push(stored.name);
            }
        }
        let settings = |id: String| {
            let path = self.gguf(&id).ok()?;
            let facts = self.facts(&id, &*self.header(&path).ok()?);
            Some(ModelSettings { id, facts })
        };
        names.into_iter().filter_map(settings).collect()
    }

    fn model(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        if name == MINILM {
            let wordless = || {
                let message = "local/minilm embeds text and cannot chat".to_owned();
                unavailable(message, "Choose another model.")
            };
            return Err(self.minilm().err().unwrap_or_else(wordless));
        }
        let path = self.gguf(name)?;
        let header = match self.header(&path) {
            Ok(header) => header,
            Err(GgufError::Unreadable(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(missing(name));
            }
            Err(error) => return Err(damaged(name, &path, &error)),
        };
        if !self.has_llama() {
            return Err(without_llama(name));
        }
        let facts = self.facts(name, &header);
        let window = facts.context_window.unwrap_or(USUAL_WINDOW);
        let ability = Ability::of(&header, facts.tools.unwrap_or(false));
        let id = format!("{}/{name}", self.settings.name);
        Ok(Arc::new(LocalModel::new(id, window, ability, self.keeper(&path, window))))
    }

    /// A folder with only an embedding model is no obstacle, because the memory uses that model.
    fn obstacle(&self) -> Option<Fault> {
        let stored = self.settings.folder.list().is_ok_and(|stored| !stored.is_empty());
        if stored || !self.models().is_empty() {
            return None;
        }
        // Pulling a language model also pulls llama.cpp, if there is a package for this machine.
        let can_be_had = self.has_llama() || Runtime::here().is_some();
        Some(if can_be_had { missing(SMOLLM2) } else { without_llama(SMOLLM2) })
    }

    fn weights(&self, name: &str) -> Option<ModelWeights> {
        let known = self.known(name);
        let licence = known.as_ref().map(|(weights, _)| weights.licence.to_owned());
        if name == MINILM {
            return Some(ModelWeights {
                files: known?.1,
                licence,
                trained_window: Some(u32::from(embed::WINDOW)),
                loaded: self.embedder.get().is_some_and(|embedder| embedder.is_loaded()),
            });
        }
        // An unusable model has no facts; a request for it gets the reason.
        let path = self.gguf(name).ok().filter(|_| self.has_llama())?;
        let header = self.header(&path).ok()?;
        let own =
            || vec![WeightsFile { path: path.clone(), bytes: header.bytes, pinned_sha256: None }];
        Some(ModelWeights {
            files: known.map_or_else(own, |(_, files)| files),
            licence: licence.or_else(|| header.licence.clone()),
            trained_window: header.context_length,
            loaded: self.is_loaded(&path),
        })
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
