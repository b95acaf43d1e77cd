//! Models that run on this machine, in child processes of this program.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onyx_agent::{AgentsSettings, ModelSetting};
use onyx_local::{Allowance, LOCAL, Launch, LocalModels, LocalSettings, ModelsFolder, Named};
use onyx_providers::{NamedSource, ProviderKind, ProviderSettings};

use crate::allocator::give_code_back;
use crate::config::Config;
use crate::home::HomeFolder;

/// Keeps loaded models when an edit of the config does not concern them.
#[derive(Default)]
pub(crate) struct LocalHost(Mutex<Vec<(LocalSettings, Arc<LocalModels>)>>);

impl LocalHost {
    /// Every provider of kind `embedded`, and `local` if that name is free.
    pub(super) fn sources(&self, home: &HomeFolder, config: &Config) -> Vec<NamedSource> {
        let own = |(name, settings): &&(String, ProviderSettings)| match settings.kind {
            Some(kind) => kind == ProviderKind::Embedded,
            None => name == LOCAL,
        };
        let named = config.providers.iter().filter(own);
        let mut wanted: Vec<(String, LocalSettings)> = named
            .map(|(name, provider)| (name.clone(), settings(name, home, config, Some(provider))))
            .collect();
        if config.providers.iter().all(|(name, _)| name != LOCAL) {
            wanted.push((LOCAL.to_owned(), settings(LOCAL, home, config, None)));
        }
        self.replace_models(wanted)
    }

    /// Models of other settings are dropped when the last run that uses them has ended.
    fn replace_models(&self, wanted: Vec<(String, LocalSettings)>) -> Vec<NamedSource> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut *known);
        let mut sources: Vec<NamedSource> = Vec::new();
        for (name, settings) in wanted {
            let same = before.iter().find(|(other, _)| *other == settings);
            let models = same.map_or_else(
                || Arc::new(LocalModels::new(settings.clone(), give_code_back)),
                |(_, models)| Arc::clone(models),
            );
            known.push((settings, Arc::clone(&models)));
            sources.push((name, Ok(models)));
        }
        sources
    }
}

fn settings(
    name: &str,
    home: &HomeFolder,
    whole: &Config,
    config: Option<&ProviderSettings>,
) -> LocalSettings {
    let usual = Allowance::default();
    let idle = config.and_then(|config| config.timeouts.idle_seconds);
    let idle = idle.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    LocalSettings {
        name: name.to_owned(),
        folder: ModelsFolder::at(home.models()),
        launch: Launch { program: program(), arguments: vec!["local-worker".into()] },
        allowance: Allowance { idle: idle.unwrap_or(usual.idle), ..usual },
        models: config.map(|config| config.models.clone()).unwrap_or_default(),
        files: files(name, whole),
        named: if config.is_some() { Named::InConfig } else { Named::Nowhere },
    }
}

/// The models of a source that the config names by a path.
fn files(source: &str, config: &Config) -> BTreeSet<String> {
    let AgentsSettings { defaults, list, entries } = &config.agents;
    let agents = list.iter().chain(entries.values()).filter_map(|agent| agent.model.as_ref());
    let chosen = agents.chain(&defaults.model).flat_map(ModelSetting::names);
    let all = chosen.chain(config.default_model.as_deref());
    let of_source = all.filter_map(|id| id.strip_prefix(source)?.strip_prefix('/'));
    of_source.filter(|name| name.contains('/')).map(str::to_owned).collect()
}

/// The path of this program, even if its file was replaced meanwhile.
#[cfg(target_os = "linux")]
pub(super) fn program() -> std::path::PathBuf {
    "/proc/self/exe".into()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn program() -> std::path::PathBuf {
    // A program that cannot find its own path cannot start itself; the model then reports that.
    std::env::current_exe().unwrap_or_default()
}
