//! Providers: configured, and do they answer? Agents: does each have a model?

use onyx_providers::{Finding, ProviderTest, Registry};

use super::Check;
use crate::config::Config;
use crate::gateway::registry;
use crate::home::HomeFolder;

pub(super) async fn check(home: &HomeFolder, config: &Config) -> Vec<Check> {
    let registry = registry(home, config, None);
    let statuses = registry.status();
    if statuses.is_empty() {
        let mend = "name one under `providers` in onyx.json; `onyx init` writes an example";
        return vec![Check::broken("providers", "none is configured", mend)];
    }
    let tests = statuses.iter().map(|status| registry.test(&status.name));
    let tests = futures::future::join_all(tests).await;
    let mut checks: Vec<Check> = tests.into_iter().map(provider).collect();
    checks.extend(agents(config, &registry));
    checks
}

fn provider(test: ProviderTest) -> Check {
    let name = format!("provider {}", test.name);
    match test.finding {
        Finding::Works { .. } => Check::ok(name, test.advice),
        Finding::Fails { class, message } => {
            Check::warning(name, format!("{class}: {message}"), test.advice)
        }
        Finding::Disabled { reason } => {
            let mend = "mend it in onyx.json, or remove it there";
            Check::warning(name, format!("disabled: {reason}"), mend)
        }
        Finding::Unknown => Check::warning(name, test.advice, "edit onyx.json"),
    }
}

fn agents(config: &Config, registry: &Registry) -> Vec<Check> {
    let listed = config.agents.list.iter().map(|agent| (agent.id.clone(), agent));
    let entries = config.agents.entries.iter().map(|(id, agent)| (Some(id.clone()), agent));
    listed
        .chain(entries)
        .filter(|(_, agent)| agent.enabled != Some(false))
        .map(|(id, agent)| {
            let name = format!("agent {}", id.unwrap_or_default());
            let model = agent.model.as_ref().or(config.agents.defaults.model.as_ref());
            let wanted = match model {
                Some(onyx_agent::ModelSetting::One(model)) => Some(model.clone()),
                Some(onyx_agent::ModelSetting::Chain { primary, .. }) => Some(primary.clone()),
                None => config.default_model.clone().or_else(|| registry.default_model()),
            };
            let mend = "set `model` of the agent to <provider>/<model> in onyx.json";
            match wanted {
                None => Check::broken(name, "it has no model", mend),
                Some(model) => match registry.model(&model) {
                    Ok(_) => Check::ok(name, model),
                    Err(error) => Check::broken(name, error.to_string(), mend),
                },
            }
        })
        .collect()
}
