//! Makes a config of OpenClaw, or of an early Onyx, work unchanged: its model prefixes are
//! translated to the names of providers here, and `~` in a workspace means the user's folder.
//! (Names of tools are translated where policies are made.)

use std::path::Path;

use onyx_agent::{AgentSettings, ModelSetting};
use onyx_types::our_provider_name;

use super::Config;
use crate::env;

/// Translates the names once, for all readers of the config.
pub(super) fn adopt(config: &mut Config, home: &Path) {
    let names: Vec<String> = config.providers.iter().map(|(name, _)| name.clone()).collect();
    let Config { agents, default_model, .. } = config;
    default_model.iter_mut().for_each(|model| rename(model, &names));
    agents.defaults.model.iter_mut().for_each(|model| rename_all(model, &names));
    for agent in agents.list.iter_mut().chain(agents.entries.values_mut()) {
        agent.model.iter_mut().for_each(|model| rename_all(model, &names));
        resolve_workspace(agent, home);
    }
}

fn rename_all(model: &mut ModelSetting, providers: &[String]) {
    match model {
        ModelSetting::One(name) => rename(name, providers),
        ModelSetting::Chain { primary, fallbacks } => {
            rename(primary, providers);
            fallbacks.iter_mut().for_each(|name| rename(name, providers));
        }
    }
}

/// Translates the prefix of a model. If the config has a provider with that name, the model stays
/// as it is.
fn rename(model: &mut String, providers: &[String]) {
    let Some((prefix, rest)) = model.split_once('/') else { return };
    let ours = our_provider_name(prefix);
    let has = |name: &str| providers.iter().any(|known| known == name);
    if ours != prefix && !has(prefix) && has(ours) {
        *model = format!("{ours}/{rest}");
    }
}

fn resolve_workspace(agent: &mut AgentSettings, home: &Path) {
    let Some(written) = agent.workspace.take().filter(|folder| !folder.is_empty()) else { return };
    let folder = match (written.strip_prefix("~/"), env::user_home()) {
        (Some(rest), Some(user)) => user.join(rest),
        _ => home.join(&written),
    };
    agent.workspace = Some(folder.to_string_lossy().into_owned());
}

#[cfg(test)]
mod tests {
    use super::super::{Environment, parse};
    use super::adopt;
    use std::path::Path;

    #[test]
    fn prefixes_of_openclaw_mean_our_providers_where_none_is_called_so() {
        let text = "{ providers: { gemini: {}, 'openai-codex': { kind: 'openai' } }, \
            default_model: 'google/flash', agents: { list: [ \
            { id: 'a', model: { primary: 'google/pro', fallbacks: ['openai-codex/x', 'github-copilot/y'] }, \
              workspace: 'w' } ] } }";
        let mut config = parse(text, Environment::default()).unwrap();
        adopt(&mut config, Path::new("/home-of-onyx"));
        assert_eq!(config.default_model.as_deref(), Some("gemini/flash"));
        let agent = &config.agents.list[0];
        let names: Vec<&str> = agent.model.as_ref().unwrap().names().collect();
        assert_eq!(names, ["gemini/pro", "openai-codex/x", "github-copilot/y"]);
        assert_eq!(agent.workspace.as_deref(), Some("/home-of-onyx/w"));
    }
}
