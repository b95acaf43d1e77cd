//! Changes the text of `onyx.json` and leaves everything else in it as the person wrote it:
//! comments, order, spacing, and keys that Onyx does not know.

use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use onyx_agent::AgentSettings;
use onyx_api::PluginSwitch;
use serde_json::{Map, Value, json};

use super::shared::{OWN_GATEWAY_KEYS, OWN_SECTION};
use super::{ConfigError, JSON5, unreadable};

/// A JSON file of another program. Changes keep every other character of it.
pub(crate) struct JsonText(CstRootNode);

impl JsonText {
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        Ok(Self(CstRootNode::parse(text, &JSON5).map_err(|error| unreadable(&error))?))
    }

    pub(crate) fn text(&self) -> String {
        self.0.to_string()
    }

    /// Sets the value at these keys, and creates missing objects on the way.
    pub(crate) fn put(&self, keys: &[&str], value: &Value) -> Result<(), ConfigError> {
        let no_object = || ConfigError::new("it must be an object: { … }");
        let mut at = self.0.object_value_or_create().ok_or_else(no_object)?;
        let Some((last, way)) = keys.split_last() else { return Err(no_object()) };
        for key in way {
            at = at.object_value_or_create(key).ok_or_else(no_object)?;
        }
        set(&at, last, Some(value));
        Ok(())
    }
}

/// A parsed config file. Changes keep every other character of it.
pub(crate) struct ConfigText {
    root: CstRootNode,
    config: CstObject,
}

impl ConfigText {
    /// Parses the text; an empty file is an empty config.
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let root = CstRootNode::parse(text, &JSON5).map_err(|error| unreadable(&error))?;
        let config = root
            .object_value_or_create()
            .ok_or_else(|| ConfigError::new("it must be an object: { … }"))?;
        Ok(Self { root, config })
    }

    pub(crate) fn text(&self) -> String {
        self.root.to_string()
    }

    /// Removes the settings that belong to one gateway of several.
    pub(crate) fn remove_own(&self) {
        remove(&self.config, OWN_SECTION);
        if let Some(gateway) = self.config.object_value("gateway") {
            for key in OWN_GATEWAY_KEYS {
                remove(&gateway, key);
            }
        }
    }

    /// An agent's settings as the file has them.
    pub(crate) fn agent(&self, id: &str) -> Option<Value> {
        self.find_agent(id).and_then(|agent| agent.to_serde_value())
    }

    /// Writes an agent's settings; unknown keys are kept.
    pub(crate) fn put_agent(&self, id: &str, settings: &AgentSettings) -> Result<(), ConfigError> {
        if settings.is_default {
            self.agents().into_iter().filter(|(other, _)| other != id).for_each(|(_, other)| {
                remove(&other, "default");
            });
        }
        let written = written(settings)?;
        if let Some(agent) = self.find_agent(id) {
            KEYS.iter().for_each(|key| set(&agent, key, written.get(*key)));
            return Ok(());
        }
        let agents = self.section("agents")?;
        match (agents.object_value("entries"), agents.get("list")) {
            (Some(entries), None) => {
                entries.append(id, input(&written.into()));
            }
            _ => {
                let list = agents.array_value_or_create("list").ok_or_else(no_list)?;
                let mut agent = Map::from_iter([("id".to_owned(), id.into())]);
                agent.extend(written);
                list.ensure_multiline();
                list.append(input(&agent.into()));
            }
        }
        Ok(())
    }

    /// Removes the agent and the bindings that name it; returns whether it existed. Its peers are
    /// then answered by the remaining bindings or the default agent.
    pub(crate) fn remove_agent(&self, id: &str) -> bool {
        let mut bindings = self.bindings();
        let before = bindings.len();
        bindings.retain(|binding| binding["agentId"] != id);
        if bindings.len() < before {
            set(&self.config, "bindings", Some(&Value::Array(bindings)));
        }
        let found = self.find_agent(id);
        let was_there = found.is_some();
        if let Some(agent) = found {
            let entry = agent.parent().and_then(|parent| parent.as_object_prop());
            match entry {
                Some(entry) => entry.remove(),
                None => agent.remove(),
            }
        }
        was_there
    }

    /// Whether the file names any agent.
    pub(crate) fn has_agents(&self) -> bool {
        !self.agents().is_empty()
    }

    pub(crate) fn provider(&self, name: &str) -> Option<Value> {
        self.config.object_value("providers")?.get(name)?.value()?.to_serde_value()
    }

    pub(crate) fn put_provider(
        &self,
        name: &str,
        settings: &Map<String, Value>,
    ) -> Result<(), ConfigError> {
        let providers = self.section("providers")?;
        put_all(&providers, name, settings);
        Ok(())
    }

    pub(crate) fn remove_provider(&self, name: &str) -> bool {
        self.config.object_value("providers").is_some_and(|providers| remove(&providers, name))
    }

    pub(crate) fn mcp_server(&self, name: &str) -> Option<Value> {
        let servers = self.config.object_value("mcp")?.object_value("servers")?;
        servers.get(name)?.value()?.to_serde_value()
    }

    pub(crate) fn put_mcp_server(
        &self,
        name: &str,
        settings: &Map<String, Value>,
    ) -> Result<(), ConfigError> {
        let servers = self.section("mcp")?.object_value_or_create("servers");
        let wrong = || ConfigError::at("mcp.servers", "it must be an object: { … }");
        put_all(&servers.ok_or_else(wrong)?, name, settings);
        Ok(())
    }

    pub(crate) fn remove_mcp_server(&self, name: &str) -> bool {
        let servers = self.config.object_value("mcp").and_then(|mcp| mcp.object_value("servers"));
        servers.is_some_and(|servers| remove(&servers, name))
    }

    pub(crate) fn plugin(&self, name: &str) -> Option<Value> {
        self.config.object_value("plugins")?.get(name)?.value()?.to_serde_value()
    }

    pub(crate) fn put_plugin(
        &self,
        name: &str,
        settings: &Map<String, Value>,
    ) -> Result<(), ConfigError> {
        put_all(&self.section("plugins")?, name, settings);
        Ok(())
    }

    /// Adds the plugin's name to the enabled ones, or removes it.
    pub(crate) fn switch_plugin(&self, name: &str, to: PluginSwitch) -> Result<(), ConfigError> {
        let plugins = self.section("plugins")?;
        let present = plugins.get("enabled").and_then(|enabled| enabled.value());
        let mut enabled = match present.and_then(|enabled| enabled.to_serde_value()) {
            Some(Value::Array(enabled)) => enabled,
            Some(_) | None => Vec::new(),
        };
        enabled.retain(|known| known != name);
        if to == PluginSwitch::On {
            enabled.push(name.into());
        }
        set(&plugins, "enabled", Some(&Value::Array(enabled)));
        Ok(())
    }

    pub(crate) fn remove_plugin(&self, name: &str) -> Result<(), ConfigError> {
        let Some(plugins) = self.config.object_value("plugins") else { return Ok(()) };
        remove(&plugins, name);
        self.switch_plugin(name, PluginSwitch::Off)
    }

    /// The settings of a connector's account as the file has them.
    pub(crate) fn connector(&self, network: &str, account: &str) -> Option<Value> {
        self.accounts(network)?.get(account)?.value()?.to_serde_value()
    }

    pub(crate) fn put_connector(
        &self,
        network: &str,
        account: &str,
        settings: &Map<String, Value>,
    ) -> Result<(), ConfigError> {
        let wrong = || ConfigError::at("connectors", "it must be an object: { … }");
        let networks = self.section("connectors")?;
        let section = networks.object_value_or_create(network).ok_or_else(wrong)?;
        let accounts = section.object_value_or_create("accounts").ok_or_else(wrong)?;
        put_all(&accounts, account, settings);
        Ok(())
    }

    pub(crate) fn remove_connector(&self, network: &str, account: &str) -> bool {
        self.accounts(network).is_some_and(|accounts| remove(&accounts, account))
    }

    /// Replaces or removes the binding of exactly this peer, or of the account. The other bindings
    /// stay.
    pub(crate) fn bind(
        &self,
        network: &str,
        account: &str,
        peer: Option<&str>,
        agent: Option<&str>,
    ) {
        let place = match peer {
            Some(peer) => json!({"channel": network, "accountId": account, "peer": peer}),
            None => json!({"channel": network, "accountId": account}),
        };
        let mut bindings = self.bindings();
        bindings.retain(|binding| binding["match"] != place);
        if let Some(agent) = agent {
            bindings.push(json!({"agentId": agent, "match": place}));
        }
        set(&self.config, "bindings", Some(&Value::Array(bindings)));
    }

    fn bindings(&self) -> Vec<Value> {
        let present = self.config.get("bindings").and_then(|bindings| bindings.value());
        match present.and_then(|bindings| bindings.to_serde_value()) {
            Some(Value::Array(bindings)) => bindings,
            Some(_) | None => Vec::new(),
        }
    }

    fn accounts(&self, network: &str) -> Option<CstObject> {
        self.config.object_value("connectors")?.object_value(network)?.object_value("accounts")
    }

    /// Sets these limits and keeps the others.
    pub(crate) fn set_limits(&self, limits: &Map<String, Value>) -> Result<(), ConfigError> {
        let section = self.section("limits")?;
        limits.iter().for_each(|(key, value)| set(&section, key, Some(value)));
        Ok(())
    }

    /// The value of `agents.defaults.model`.
    pub(crate) fn default_model(&self) -> Option<Value> {
        let defaults = self.config.object_value("agents")?.object_value("defaults")?;
        defaults.get("model")?.value()?.to_serde_value()
    }

    pub(crate) fn set_default_model(&self, model: Option<&Value>) -> Result<(), ConfigError> {
        let defaults = self.section("agents")?.object_value_or_create("defaults");
        let wrong = || ConfigError::at("agents.defaults", "it must be an object: { … }");
        set(&defaults.ok_or_else(wrong)?, "model", model);
        Ok(())
    }

    fn section(&self, name: &str) -> Result<CstObject, ConfigError> {
        let section = self.config.object_value_or_create(name);
        section.ok_or_else(|| ConfigError::at(name, "it must be an object: { … }"))
    }

    fn find_agent(&self, id: &str) -> Option<CstObject> {
        self.agents().into_iter().find(|(known, _)| known == id).map(|(_, agent)| agent)
    }

    fn agents(&self) -> Vec<(String, CstObject)> {
        let Some(agents) = self.config.object_value("agents") else { return Vec::new() };
        let listed = agents.array_value("list").map(|list| list.elements()).unwrap_or_default();
        let listed = listed.into_iter().filter_map(|agent| {
            let agent = agent.as_object()?;
            let id = agent.get("id")?.value()?.as_string_lit()?.decoded_value().ok()?;
            Some((id, agent))
        });
        let entries = agents.object_value("entries").map(|entries| entries.properties());
        let entries = entries.unwrap_or_default().into_iter();
        listed
            .chain(entries.filter_map(|it| Some((it.decoded_name()?, it.object_value()?))))
            .collect()
    }
}

/// The keys of [`AgentSettings`], except the id, which never changes.
const KEYS: &[&str] = &[
    "name",
    "default",
    "enabled",
    "workspace",
    "model",
    "tier",
    "tools",
    "temperature",
    "maxTokens",
    "memory",
    "localOnly",
];

/// The settings that differ from their defaults.
fn written(settings: &AgentSettings) -> Result<Map<String, Value>, ConfigError> {
    // The value is converted through text, so that a temperature of 0.7 stays 0.7.
    let text = serde_json::to_string(settings);
    let fields: Result<Map<String, Value>, _> = text.and_then(|text| serde_json::from_str(&text));
    let mut fields = fields.map_err(|error| ConfigError::at("agents", error.to_string()))?;
    fields.retain(|key, value| KEYS.contains(&key.as_str()) && !value.is_null());
    fields.retain(|key, value| key != "default" || *value == Value::Bool(true));
    for group in ["tools", "memory"] {
        if let Some(Value::Object(group)) = fields.get_mut(group) {
            group.retain(|_, value| {
                !value.is_null() && value.as_array().is_none_or(|names| !names.is_empty())
            });
        }
    }
    Ok(fields)
}

/// Makes an object hold exactly these fields.
fn put_all(parent: &CstObject, name: &str, fields: &Map<String, Value>) {
    let Some(object) = parent.object_value(name) else {
        return set(parent, name, Some(&fields.clone().into()));
    };
    for property in object.properties() {
        if property.decoded_name().is_none_or(|key| !fields.contains_key(&key)) {
            property.remove();
        }
    }
    fields.iter().for_each(|(key, value)| set(&object, key, Some(value)));
}

/// Sets a field. An equal value is not touched, so that its spelling and comments are kept.
fn set(object: &CstObject, key: &str, value: Option<&Value>) {
    let Some(value) = value else {
        remove(object, key);
        return;
    };
    match object.get(key) {
        Some(property) => {
            let same = property.value().and_then(|node: CstNode| node.to_serde_value());
            if same.as_ref() != Some(value) {
                property.set_value(input(value));
            }
        }
        None => {
            object.append(key, input(value));
        }
    }
}

fn remove(object: &CstObject, key: &str) -> bool {
    let property = object.get(key);
    let was_there = property.is_some();
    if let Some(property) = property {
        property.remove();
    }
    was_there
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}

fn no_list() -> ConfigError {
    ConfigError::at("agents.list", "it must be a list: [ … ]")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use onyx_agent::{AgentMemorySettings, ModelSetting};
    use serde_json::json;

    const FILE: &str = r#"// Ours.
{
  gateway: { port: 1 }, // keep
  agents: {
    list: [
      // The first.
      {
        id: 'main', // who
        default: true,
        model: "a/b", // why
        skills: ["x"],
        tier: "act",
      },
    ],
  },
}
"#;

    fn edited(file: &str, edit: impl FnOnce(&ConfigText)) -> String {
        let text = ConfigText::parse(file).unwrap();
        edit(&text);
        text.text()
    }

    fn named(name: &str) -> AgentSettings {
        AgentSettings { name: Some(name.to_owned()), ..AgentSettings::default() }
    }

    #[test]
    fn an_agent_changes_and_every_other_character_stays() {
        let settings = AgentSettings {
            is_default: true,
            model: Some(ModelSetting::One("a/c".to_owned())),
            temperature: Some(0.7),
            ..AgentSettings::default()
        };
        let text = edited(FILE, |file| file.put_agent("main", &settings).unwrap());
        let expected =
            FILE.replace("\"a/b\"", "\"a/c\"").replace("tier: \"act\"", "\"temperature\": 0.7");
        assert_eq!(text, expected, "{text}");
    }

    /// A setting whose key is missing here would be lost when the agent is changed over HTTP.
    #[test]
    fn every_setting_of_an_agent_has_its_key() {
        let settings = serde_json::to_value(AgentSettings::default()).unwrap();
        let settings = settings.as_object().unwrap().keys().filter(|key| *key != "id");
        let settings: BTreeSet<_> = settings.map(String::as_str).collect();
        assert_eq!(settings, KEYS.iter().copied().collect());
    }

    #[test]
    fn what_is_not_set_of_an_agents_memory_is_not_written() {
        let memory = |read: &[&str], retrieval| {
            let read = read.iter().map(|name| (*name).to_owned()).collect();
            let memory = Some(AgentMemorySettings { read, retrieval });
            written(&AgentSettings { memory, ..AgentSettings::default() }).unwrap()["memory"]
                .clone()
        };
        assert_eq!(memory(&["other"], None), json!({"read": ["other"]}));
        assert_eq!(memory(&[], Some(true)), json!({"retrieval": true}));
    }

    #[test]
    fn agents_come_and_go_and_one_is_the_default() {
        let second = AgentSettings { is_default: true, ..named("Second") };
        let text = edited(FILE, |file| file.put_agent("second", &second).unwrap());
        let value: Value = jsonc_parser::parse_to_serde_value(&text, &JSON5).unwrap();
        let list = &value["agents"]["list"];
        assert_eq!(list[0].get("default"), None, "{text}");
        assert_eq!(list[1], json!({"id": "second", "name": "Second", "default": true}));
        assert!(text.contains("// The first.") && text.contains("// keep"), "{text}");
        let text = edited(&text, |file| assert!(file.remove_agent("main")));
        let value: Value = jsonc_parser::parse_to_serde_value(&text, &JSON5).unwrap();
        assert_eq!(value["agents"]["list"], json!([list[1]]));
    }

    #[test]
    fn the_newer_form_keeps_its_form_and_no_file_becomes_one() {
        let file = "{ agents: { entries: { main: { tier: 'act' } } } }";
        let text = edited(file, |file| file.put_agent("other", &named("Other")).unwrap());
        let value: Value = jsonc_parser::parse_to_serde_value(&text, &JSON5).unwrap();
        let expected = json!({"main": {"tier": "act"}, "other": {"name": "Other"}});
        assert_eq!(value, json!({"agents": {"entries": expected}}));
        let gone = edited(&text, |file| assert!(file.remove_agent("main")));
        assert!(!gone.contains("main"), "{gone}");
        let fresh = edited("", |file| {
            let fields = json!({"kind": "openai", "models": [{"id": "m"}]});
            file.put_provider("mine", fields.as_object().unwrap()).unwrap();
        });
        let value: Value = jsonc_parser::parse_to_serde_value(&fresh, &JSON5).unwrap();
        assert_eq!(value["providers"]["mine"]["models"][0]["id"], "m");
    }
}
