//! Translates the agents, providers, channels and MCP servers of `openclaw.json` for `onyx.json`.

use onyx_types::{our_provider_name, our_tool_name};
use serde_json::{Map, Value, json};

use crate::form::{ImportedSetting, Item, SettingPlace};
use crate::reading::{Reading, object, text};

/// Tools of OpenClaw and nanobot that Onyx does not have. They are left out of lists, because Onyx
/// treats an unknown tool in a list as a mistake.
const NOT_HERE: [&str; 26] = [
    "agents_list",
    "browser",
    "canvas",
    "code_execution",
    "gateway",
    "group:media",
    "group:messaging",
    "group:nodes",
    "group:openclaw",
    "group:plugins",
    "group:ui",
    "heartbeat_respond",
    "image",
    "image_generate",
    "message",
    "music_generate",
    "nodes",
    "pdf",
    "session_status",
    "sessions_yield",
    "subagents",
    "tool_call",
    "tts",
    "update_plan",
    "video_generate",
    "x_search",
];

/// Networks that Onyx also supports.
const NETWORKS: [&str; 2] = ["telegram", "discord"];

/// A model's name with the name that its provider has in Onyx.
pub(crate) fn our_model_name(model: &str) -> String {
    match model.split_once('/') {
        Some((provider, rest)) => format!("{}/{rest}", our_provider_name(provider)),
        None => model.to_owned(),
    }
}

pub(super) fn settings(config: &Map<String, Value>, reading: &mut Reading) {
    let providers = object(config, "models").and_then(|models| object(models, "providers"));
    for (name, value) in providers.into_iter().flatten() {
        if let Some(fields) = value.as_object() {
            provider(name, fields, reading);
        }
    }
    for (network, value) in object(config, "channels").into_iter().flatten() {
        if let Some(fields) = value.as_object() {
            channel(network, fields, reading);
        }
    }
    let servers = object(config, "mcp").and_then(|mcp| object(mcp, "servers"));
    for (name, value) in servers.into_iter().flatten() {
        if let Some(fields) = value.as_object() {
            mcp_server(name, fields, reading);
        }
    }
}

/// An agent's settings, filled up from the defaults.
pub(super) fn agent(
    own: Option<&Map<String, Value>>,
    config: &Map<String, Value>,
    reading: &mut Reading,
) -> Map<String, Value> {
    let none = Map::new();
    let own = own.unwrap_or(&none);
    let defaults = object(config, "agents").and_then(|agents| object(agents, "defaults"));
    let mut settings = Map::new();
    let identity = object(own, "identity").and_then(|identity| text(identity, "name"));
    if let Some(name) = text(own, "name").or(identity) {
        settings.insert("name".to_owned(), json!(name));
    }
    let model = own.get("model").or_else(|| defaults.and_then(|defaults| defaults.get("model")));
    if let Some(model) = model.and_then(|model| our_model(model, reading)) {
        settings.insert("model".to_owned(), model);
    }
    let tools = object(own, "tools").or_else(|| object(config, "tools"));
    if let Some(tools) = tools.and_then(|tools| our_tools(tools, reading)) {
        settings.insert("tools".to_owned(), tools);
    }
    if object(own, "sandbox").is_some() {
        reading.left_out("`sandbox` of an agent", "commands always run in a sandbox here");
    }
    if let Some(beat) = defaults.and_then(|defaults| object(defaults, "heartbeat"))
        && !beat.is_empty()
    {
        reading.left_out("`heartbeat`", "it is off here until you set `jobs.heartbeat`");
    }
    settings
}

fn our_model(model: &Value, reading: &mut Reading) -> Option<Value> {
    let mut name = |theirs: &str| {
        let ours = our_model_name(theirs);
        if ours != theirs {
            reading.renamed(format!("model {theirs}"), ours.clone());
        }
        ours
    };
    match model {
        Value::String(model) => Some(json!(name(model))),
        Value::Object(fields) => {
            let primary = name(text(fields, "primary")?);
            let others = fields.get("fallbacks").and_then(Value::as_array);
            let others = others.into_iter().flatten().filter_map(Value::as_str);
            let others: Vec<String> = others.map(&mut name).collect();
            if others.is_empty() {
                return Some(json!(primary));
            }
            Some(json!({"primary": primary, "fallbacks": others}))
        }
        _ => None,
    }
}

fn our_tools(tools: &Map<String, Value>, reading: &mut Reading) -> Option<Value> {
    let mut named = |key: &str| {
        let names = tools.get(key).and_then(Value::as_array)?;
        let mut ours: Vec<String> = Vec::new();
        for theirs in names.iter().filter_map(Value::as_str) {
            if NOT_HERE.contains(&theirs) {
                reading.left_out(format!("tool {theirs} in `{key}`"), "Onyx has no such tool");
                continue;
            }
            let name = our_tool_name(theirs);
            if name != theirs {
                reading.renamed(format!("tool {theirs}"), name);
            }
            if !ours.iter().any(|known| known == name) {
                ours.push(name.to_owned());
            }
        }
        Some(ours)
    };
    let (allow, deny) = (named("allow"), named("deny"));
    if let Some(profile) = text(tools, "profile") {
        reading.left_out(format!("tool profile {profile}"), "name tools in `allow` and `deny`");
    }
    let mut ours = Map::new();
    // `*` allows what an agent may use without a list, so the list is left out.
    if let Some(allow) =
        allow.filter(|names| !names.is_empty() && !names.iter().any(|name| name == "*"))
    {
        ours.insert("allow".to_owned(), json!(allow));
    }
    if let Some(deny) = deny.filter(|names| !names.is_empty()) {
        ours.insert("deny".to_owned(), json!(deny));
    }
    (!ours.is_empty()).then_some(Value::Object(ours))
}

/// A provider that the config defines itself.
pub(crate) fn provider(name: &str, fields: &Map<String, Value>, reading: &mut Reading) {
    let api = text(fields, "api").unwrap_or("openai-completions");
    let kind = match api {
        "openai-completions" => "openai",
        "openai-responses" => "openai-responses",
        "anthropic-messages" => "anthropic",
        "google-generative-ai" => "gemini",
        "ollama" => "ollama",
        other => {
            let why = format!("Onyx does not speak {other}");
            return reading.left_out(format!("provider {name}"), why);
        }
    };
    let mut settings = Map::new();
    settings.insert("kind".to_owned(), json!(kind));
    let address = text(fields, "baseUrl").or_else(|| text(fields, "apiBase"));
    if let Some(address) = address {
        settings.insert("baseUrl".to_owned(), json!(address));
    }
    match fields.get("apiKey") {
        Some(Value::String(key)) if !key.is_empty() => {
            settings.insert("apiKey".to_owned(), json!(key));
        }
        Some(Value::Object(key)) if text(key, "source") == Some("env") => {
            let variable = text(key, "id").unwrap_or_default();
            settings.insert("apiKey".to_owned(), json!(format!("${{{variable}}}")));
        }
        Some(Value::Object(_)) => {
            reading
                .left_out(format!("the key of provider {name}"), "it is stored in another place");
        }
        _ => {}
    }
    let models = fields.get("models").and_then(Value::as_array);
    let models = models.into_iter().flatten();
    let models: Vec<&str> = models
        .filter_map(|model| model.as_str().or_else(|| model.get("id").and_then(Value::as_str)))
        .collect();
    if !models.is_empty() {
        settings.insert("models".to_owned(), json!(models));
    }
    let ours = our_provider_name(name);
    if ours != name {
        reading.renamed(format!("provider {name}"), ours);
    }
    let place = SettingPlace::Provider { name: ours.to_owned() };
    reading.add(Item::Setting(ImportedSetting { place, settings }));
}

fn channel(network: &str, fields: &Map<String, Value>, reading: &mut Reading) {
    match object(fields, "accounts") {
        Some(accounts) => {
            for (account, value) in accounts {
                if let Some(own) = value.as_object() {
                    connector(network, account, own, reading);
                }
            }
        }
        None => connector(network, "default", fields, reading),
    }
}

/// Imports a connector switched off: two programs with one token would take messages from each
/// other.
pub(crate) fn connector(
    network: &str,
    account: &str,
    fields: &Map<String, Value>,
    reading: &mut Reading,
) {
    let name = format!("{network}/{account}");
    if !NETWORKS.contains(&network) {
        return reading.left_out(format!("channel {name}"), "Onyx does not support this network");
    }
    let token = text(fields, "botToken").or_else(|| text(fields, "token"));
    let Some(token) = token else {
        return reading.left_out(format!("channel {name}"), "its token is not in the config");
    };
    let mut settings = Map::new();
    settings.insert("token".to_owned(), json!(token));
    let allowed = fields.get("allowFrom").and_then(Value::as_array);
    let allowed: Vec<&Value> =
        allowed.into_iter().flatten().filter(|it| **it != json!("*")).collect();
    if !allowed.is_empty() {
        settings.insert("allow".to_owned(), json!(allowed));
    }
    settings.insert("enabled".to_owned(), json!(false));
    let place =
        SettingPlace::Connector { network: network.to_owned(), account: account.to_owned() };
    reading.add(Item::Setting(ImportedSetting { place, settings }));
}

/// Imports a server. Its tools are off until the owner accepts them, as for any other server.
pub(crate) fn mcp_server(name: &str, fields: &Map<String, Value>, reading: &mut Reading) {
    let mut settings = Map::new();
    for key in ["command", "args", "env", "url", "headers"] {
        let value = fields.get(key).filter(|value| match value {
            Value::String(text) => !text.is_empty(),
            Value::Array(list) => !list.is_empty(),
            Value::Object(map) => !map.is_empty(),
            _ => false,
        });
        if let Some(value) = value {
            settings.insert(key.to_owned(), value.clone());
        }
    }
    if !settings.contains_key("command") && !settings.contains_key("url") {
        return reading.left_out(format!("MCP server {name}"), "it has no command and no url");
    }
    let place = SettingPlace::McpServer { name: name.to_owned() };
    reading.add(Item::Setting(ImportedSetting { place, settings }));
}
