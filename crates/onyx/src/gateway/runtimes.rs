//! Programs of this machine through which models are asked.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onyx_providers::{
    ChildWrapper, ClaudeCli, ClaudeLimits, ClaudeSettings, ModelSource, NamedSource, PiLimits,
    PiSettings, PiSidecar, ProviderKind, ProviderSettings, SecretSource, VENDORS,
    environment_for_programs, secret_of,
};
use onyx_types::Clock;

use super::local::program;
use crate::config::Config;
use crate::env;
use crate::home::HomeFolder;

/// The first argument of the process that becomes another program.
pub(crate) const RUNTIME_CHILD: &str = "runtime-child";

/// The path of the sidecar, relative to the folder of Onyx's own program: `make pi` puts it there.
const PI_BESIDE: &str = "../sidecars/pi/dist/main.js";

/// Keeps the processes when an edit of the config does not concern them.
#[derive(Default)]
pub(crate) struct RuntimeHost(Mutex<RunningRuntimes>);

#[derive(Default)]
struct RunningRuntimes {
    claude: Vec<(ClaudeSettings, Arc<ClaudeCli>)>,
    pi: Vec<(PiSettings, Arc<PiSidecar>)>,
}

/// What the runtimes are made from besides their settings.
pub(super) struct RuntimeSetup<'a> {
    pub(super) home: &'a HomeFolder,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) secrets: &'a dyn SecretSource,
}

impl RuntimeHost {
    /// The providers of the config that are programs, in the order of the config.
    pub(super) fn sources(&self, config: &Config, setup: &RuntimeSetup<'_>) -> Vec<NamedSource> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut *kept);
        let mut sources: Vec<NamedSource> = Vec::new();
        for (name, raw) in &config.providers {
            let kind = kind_of(name, raw);
            let source = if kind == Some(ProviderKind::ClaudeCli) {
                let settings = claude(name, raw, config, setup);
                settings.map(|settings| kept.claude(settings, &before, setup.clock))
            } else if kind == Some(ProviderKind::Pi) {
                Ok(kept.pi(pi(name, raw, setup), &before))
            } else {
                continue;
            };
            sources.push((name.clone(), source));
        }
        sources
    }
}

impl RunningRuntimes {
    fn claude(
        &mut self,
        settings: ClaudeSettings,
        before: &Self,
        clock: &Arc<dyn Clock>,
    ) -> Arc<dyn ModelSource> {
        let same = before.claude.iter().find(|(other, _)| *other == settings);
        let cli = same.map_or_else(
            || Arc::new(ClaudeCli::new(settings.clone(), Arc::clone(clock))),
            |(_, cli)| Arc::clone(cli),
        );
        self.claude.push((settings, Arc::clone(&cli)));
        cli
    }

    fn pi(&mut self, settings: PiSettings, before: &Self) -> Arc<dyn ModelSource> {
        let same = before.pi.iter().find(|(other, _)| *other == settings);
        let sidecar = same.map_or_else(
            || Arc::new(PiSidecar::new(settings.clone())),
            |(_, sidecar)| Arc::clone(sidecar),
        );
        self.pi.push((settings, Arc::clone(&sidecar)));
        sidecar
    }
}

fn kind_of(name: &str, raw: &ProviderSettings) -> Option<ProviderKind> {
    let known = || VENDORS.iter().find(|vendor| vendor.name == name).map(|vendor| vendor.kind);
    raw.kind.or_else(known)
}

fn claude(
    name: &str,
    raw: &ProviderSettings,
    config: &Config,
    setup: &RuntimeSetup<'_>,
) -> Result<ClaudeSettings, String> {
    let environment = |variable: &str| config.environment.get(variable);
    let token = raw.api_key.as_ref();
    let token = token.map(|key| secret_of("apiKey", key, &environment, setup.secrets));
    let usual = ClaudeLimits::default();
    Ok(ClaudeSettings {
        name: name.to_owned(),
        command: raw.command.clone(),
        token: token.transpose()?,
        base_url: raw.base_url.clone(),
        thinking_budget: raw.compat.thinking_budget,
        models: raw.models.clone(),
        environment: environment_for_programs(env::passed_on),
        folder: setup.home.runtimes().join(name),
        wrapper: Some(wrapper()),
        limits: ClaudeLimits {
            first_byte: seconds(raw.timeouts.first_byte_seconds, usual.first_byte),
            idle: seconds(raw.timeouts.idle_seconds, usual.idle),
            total: seconds(raw.timeouts.total_seconds, usual.total),
            ..usual
        },
    })
}

fn pi(name: &str, raw: &ProviderSettings, setup: &RuntimeSetup<'_>) -> PiSettings {
    let usual = PiLimits::default();
    PiSettings {
        name: name.to_owned(),
        command: raw.command.clone().unwrap_or_else(usual_sidecar),
        auth_file: None,
        base_url: raw.base_url.clone(),
        models: raw.models.clone(),
        environment: environment_for_programs(env::passed_on),
        folder: setup.home.runtimes().join(name),
        wrapper: Some(wrapper()),
        limits: PiLimits {
            first_byte: seconds(raw.timeouts.first_byte_seconds, usual.first_byte),
            idle: seconds(raw.timeouts.idle_seconds, usual.idle),
            total: seconds(raw.timeouts.total_seconds, usual.total),
            ..usual
        },
    }
}

fn usual_sidecar() -> PathBuf {
    // A program that cannot find its own path finds no sidecar; the provider then reports that.
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().map(|folder| folder.join(PI_BESIDE)).unwrap_or_default()
}

fn wrapper() -> ChildWrapper {
    ChildWrapper { program: program(), arguments: vec![RUNTIME_CHILD.into()] }
}

fn seconds(own: Option<f64>, usual: Duration) -> Duration {
    own.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(usual)
}
