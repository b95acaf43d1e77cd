//! Checks that providers are configured and answer, and that each agent has a model.

use std::sync::Arc;

use onyx_agent::{AgentSettings, FIRST_AGENT, ModelSetting};
use onyx_identity::Secrets;
use onyx_providers::{
    Finding, Logins, NoSecrets, NoTokens, ProviderTest, Registry, Secret, SecretSource, TokenStore,
};
use onyx_tools::Masker;
use onyx_types::{Clock, SystemClock};

use super::Check;
use crate::config::Config;
use crate::gateway::{
    KeptTokens, LocalHost, RegistrySetup, RuntimeHost, StoredSecrets, embedded_model, registry,
};
use crate::home::HomeFolder;

/// Where the secrets can be read: only the process that holds the home can open them.
pub(super) enum SecretsHere {
    Open(Arc<Secrets>),
    WithTheServer,
}

pub(super) async fn check(home: &HomeFolder, config: &Config, secrets: SecretsHere) -> Vec<Check> {
    let mut config = config.clone();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let (local, runtimes) = (LocalHost::default(), RuntimeHost::default());
    let (secrets, tokens, untested): (Box<dyn SecretSource>, Arc<dyn TokenStore>, _) = match secrets
    {
        SecretsHere::Open(secrets) => {
            let tokens = KeptTokens {
                secrets: Arc::clone(&secrets),
                masker: Masker::default(),
                shared: None,
            };
            (Box::new(StoredSecrets(secrets)), Arc::new(tokens), Vec::new())
        }
        SecretsHere::WithTheServer => {
            let untested = take_out_those_with_secrets(&mut config);
            (Box::new(NoSecrets), Arc::new(NoTokens), untested)
        }
    };
    let setup = RegistrySetup {
        home,
        previous: None,
        secrets: &*secrets,
        logins: &Arc::new(Logins::new(tokens, Arc::clone(&clock))),
        clock,
        local: &local,
        runtimes: &runtimes,
    };
    let registry = registry(&config, setup);
    let mut checks: Vec<Check> = untested
        .iter()
        .map(|name| {
            let detail = "not tested here: the running server holds its key; see /ready";
            Check::ok(format!("provider {name}"), detail)
        })
        .collect();
    checks.extend(check_rest(&config, &registry, &untested).await);
    checks
}

fn take_out_those_with_secrets(config: &mut Config) -> Vec<String> {
    let is_kept = |secret: &Secret| secret.reveal().starts_with("secret:");
    let kept = config.providers.extract_if(.., |(_, settings)| {
        let is_signed_in = settings.api_key.is_none() && settings.login.is_some();
        let credentials = settings.credentials.iter();
        let machine = credentials.flat_map(|credentials| {
            let azure = credentials.azure.as_ref().map(|azure| &azure.client_secret);
            credentials.google.iter().chain(azure)
        });
        let keys = settings.api_key.iter().chain(settings.headers.values()).chain(machine);
        is_signed_in || keys.into_iter().any(is_kept)
    });
    kept.map(|(name, _)| name).collect()
}

async fn check_rest(config: &Config, registry: &Registry, untested: &[String]) -> Vec<Check> {
    let statuses = registry.status();
    if statuses.is_empty() && untested.is_empty() {
        let fix = "add one under `providers` in onyx.json, or download a small local model: \
                    onyx models pull smollm2";
        return vec![Check::broken("providers", "none is configured", fix)];
    }
    let tests = statuses.iter().map(|status| registry.test(&status.name));
    let tests = futures::future::join_all(tests).await;
    let mut wanted = wanted_models(config, registry);
    wanted.retain(|(_, model)| {
        let provider = model.as_ref().and_then(|model| model.split_once('/'));
        provider.is_none_or(|(name, _)| untested.iter().all(|untested| untested != name))
    });
    let mut checks: Vec<Check> = tests.into_iter().map(|test| provider(test, &wanted)).collect();
    checks.extend(wanted.into_iter().map(|(id, model)| agent(&id, model, registry)));
    checks
}

/// A failing provider is broken if an agent uses it, else only a warning.
fn provider(test: ProviderTest, wanted: &[(String, Option<String>)]) -> Check {
    let name = format!("provider {}", test.name);
    let prefix = format!("{}/", test.name);
    let is_needed = wanted
        .iter()
        .any(|(_, model)| model.as_ref().is_some_and(|model| model.starts_with(&prefix)));
    let (detail, fix) = match test.finding {
        Finding::Works { .. } => return Check::ok(name, test.advice),
        Finding::Fails { trouble, message: _ } => (trouble.as_str().to_owned(), test.advice),
        Finding::Disabled { reason } => {
            (format!("disabled: {reason}"), "correct it in onyx.json, or remove it".to_owned())
        }
        Finding::Unknown => (test.advice, "edit onyx.json".to_owned()),
    };
    if is_needed { Check::broken(name, detail, fix) } else { Check::warning(name, detail, fix) }
}

/// Each enabled agent and its first choice of model.
fn wanted_models(config: &Config, registry: &Registry) -> Vec<(String, Option<String>)> {
    let listed = config.agents.list.iter().map(|agent| (agent.id.clone(), agent));
    let entries = config.agents.entries.iter().map(|(id, agent)| (Some(id.clone()), agent));
    let enabled = listed.chain(entries).filter(|(_, agent)| agent.enabled != Some(false));
    // A config without agents still has the default one.
    let first = AgentSettings::default();
    let nobody = config.agents.list.is_empty() && config.agents.entries.is_empty();
    let unnamed = nobody.then(|| (Some(FIRST_AGENT.to_owned()), &first));
    enabled
        .chain(unnamed)
        .map(|(id, agent)| {
            let model = agent.model.as_ref().or(config.agents.defaults.model.as_ref());
            let wanted = match model {
                Some(ModelSetting::One(model)) => Some(model.clone()),
                Some(ModelSetting::Chain { primary, .. }) => Some(primary.clone()),
                None => config
                    .default_model
                    .clone()
                    .or_else(|| registry.default_model())
                    .or_else(|| Some(embedded_model().to_string())),
            };
            (id.unwrap_or_default(), wanted)
        })
        .collect()
}

fn agent(id: &str, model: Option<String>, registry: &Registry) -> Check {
    let name = format!("agent {id}");
    let fix = "set `model` of the agent to <provider>/<model> in onyx.json";
    match model {
        None => Check::broken(name, "it has no model", fix),
        Some(model) => match registry.model(&model) {
            Ok(_) => Check::ok(name, model),
            Err(error) => Check::broken(name, error.to_string(), fix),
        },
    }
}
