//! Providers: configured, and does anybody listen there? Agents: does each have a model?

use std::time::Duration;

use onyx_providers::{ProviderState, ProviderStatus, Registry};
use reqwest::Url;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Check;
use crate::config::Config;
use crate::gateway::registry;

const PATIENCE: Duration = Duration::from_secs(3);

pub(super) async fn check(config: &Config) -> Vec<Check> {
    let registry = registry(config);
    let statuses = registry.status();
    if statuses.is_empty() {
        let mend = "name one under `providers` in onyx.json; `onyx init` writes an example";
        return vec![Check::broken("providers", "none is configured", mend)];
    }
    let mut checks = futures::future::join_all(statuses.iter().map(provider)).await;
    checks.extend(agents(config, &registry));
    checks
}

async fn provider(status: &ProviderStatus) -> Check {
    let name = format!("provider {}", status.name);
    match &status.state {
        ProviderState::Disabled { reason } => Check::warning(
            name,
            format!("disabled: {reason}"),
            "mend it in onyx.json, or remove it there",
        ),
        ProviderState::Ready { address } => match reach(address).await {
            Ok(()) => Check::ok(name, format!("{address} can be reached")),
            Err(why) => Check::warning(
                name,
                format!("{address} cannot be reached: {why}"),
                "start that server, or check `baseUrl` and the network",
            ),
        },
    }
}

/// Only whether somebody listens: a real request would cost money.
async fn reach(address: &str) -> Result<(), String> {
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = url.port_or_known_default().unwrap_or(443);
    match timeout(PATIENCE, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
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
