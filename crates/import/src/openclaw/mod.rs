//! A home of OpenClaw: `~/.openclaw` with `openclaw.json` (both generations), agents and their
//! workspaces, skills, cron jobs, and sessions as JSONL files or in `openclaw-agent.sqlite`.

mod config;
mod cron;
mod sessions;
mod transcript;
mod workspace;

use std::path::{Component, Path, PathBuf};

use onyx_types::AgentId;
use serde_json::{Map, Value};

use crate::error::ImportError;
use crate::form::{ImportedAgent, Item};
use crate::reading::{OpenedExport, Reading, json5, object, text};

pub(crate) use config::{connector, mcp_server, our_model_name, provider};
pub(crate) use cron::cron_job;
pub(crate) use workspace::{agent_id, skill_folder, workspace_files};

/// The names that the config had in different versions.
const CONFIGS: [&str; 3] = ["openclaw.json", "moltbot.json", "clawdbot.json"];
/// The agent's name if no config gives one.
const FIRST_AGENT: &str = "main";

pub(crate) fn read(opened: &OpenedExport, reading: &mut Reading) -> Result<(), ImportError> {
    let config = read_config(opened, reading)?;
    let has_agents = opened.has_folder("agents") || opened.has_folder("workspace");
    if config.is_none() && !has_agents {
        return Err(ImportError::NotIt {
            path: opened.root().to_owned(),
            program: "home of OpenClaw",
            why: "it holds no openclaw.json and no folder `agents`".to_owned(),
        });
    }
    let config = config.unwrap_or_default();
    config::settings(&config, reading);
    let agents = agents(&config, opened)?;
    for agent in &agents {
        let settings = config::agent(agent.settings, &config, reading);
        let id = agent.id.clone();
        reading.add(Item::Agent(ImportedAgent { id, settings }));
    }
    for agent in &agents {
        match agent.workspace(&config, opened) {
            Some(folder) => workspace::read(&folder, "openclaw", &agent.id, reading)?,
            None => reading.left_out(
                format!("the workspace of {}", agent.id),
                "it is missing, also in the usual places",
            ),
        }
    }
    workspace::skills(&opened.root().join("skills"), reading)?;
    cron::read(opened, reading)?;
    for agent in &agents {
        sessions::read(opened, &agent.name, &agent.id, reading)?;
    }
    tell_the_rest(opened, &config, reading);
    Ok(())
}

fn read_config(
    opened: &OpenedExport,
    reading: &mut Reading,
) -> Result<Option<Map<String, Value>>, ImportError> {
    let Some(name) = CONFIGS.iter().find(|name| opened.has(name)) else { return Ok(None) };
    let bytes = opened.bytes(name)?;
    let config = match std::str::from_utf8(&bytes) {
        Ok(text) => json5(name, text),
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            Err(ImportError::broken(name, line + 1, "it is not UTF-8"))
        }
    };
    reading.tolerate(config)
}

/// An agent that is in the config, or that only has a folder.
struct Agent<'c> {
    /// The name that the agent has in OpenClaw, which is also part of paths.
    name: String,
    id: AgentId,
    settings: Option<&'c Map<String, Value>>,
    is_first: bool,
}

/// The agents of `agents.list` (the older form), of `agents.entries` (the newer one) and of the
/// folders of `agents`.
fn agents<'c>(
    config: &'c Map<String, Value>,
    opened: &OpenedExport,
) -> Result<Vec<Agent<'c>>, ImportError> {
    let section = object(config, "agents");
    let list = section.and_then(|section| section.get("list")).and_then(Value::as_array);
    let listed = list.into_iter().flatten().filter_map(Value::as_object);
    let listed = listed.filter_map(|agent| Some((text(agent, "id")?, agent)));
    let entries = section.and_then(|section| object(section, "entries"));
    let keyed = entries.into_iter().flatten();
    let keyed = keyed.filter_map(|(id, agent)| Some((id.as_str(), agent.as_object()?)));
    let mut agents: Vec<Agent<'c>> = Vec::new();
    for (name, settings) in listed.chain(keyed) {
        push(&mut agents, name, Some(settings));
    }
    if agents.is_empty() {
        push(&mut agents, FIRST_AGENT, object(config, "agent"));
    }
    for name in opened.names("agents")? {
        if opened.has_folder(&format!("agents/{name}")) {
            push(&mut agents, &name, None);
        }
    }
    settle_first(&mut agents);
    Ok(agents)
}

fn push<'c>(agents: &mut Vec<Agent<'c>>, name: &str, settings: Option<&'c Map<String, Value>>) {
    // A folder whose name cannot be an agent's id is not an agent.
    let Some(id) = agent_id(name).filter(|id| agents.iter().all(|agent| agent.id != *id)) else {
        return;
    };
    agents.push(Agent { name: name.to_owned(), id, settings, is_first: agents.is_empty() });
}

/// Marks the first agent: the one that the config marks as default, else the first in order.
fn settle_first(agents: &mut [Agent<'_>]) {
    let is_marked = |agent: &Agent<'_>| {
        let mark = agent.settings.and_then(|settings| settings.get("default"));
        mark.and_then(Value::as_bool).unwrap_or(false)
    };
    if agents.iter().any(is_marked) {
        agents.iter_mut().for_each(|agent| agent.is_first = is_marked(agent));
    }
}

impl Agent<'_> {
    /// The workspace that the config names, or the default one of OpenClaw.
    fn workspace(&self, config: &Map<String, Value>, opened: &OpenedExport) -> Option<PathBuf> {
        let defaults = object(config, "agents").and_then(|agents| object(agents, "defaults"));
        let own = self.settings.and_then(|settings| text(settings, "workspace"));
        let shared = defaults.and_then(|defaults| text(defaults, "workspace"));
        let named = own.or(shared.filter(|_| self.is_first));
        let usual =
            if self.is_first { "workspace".to_owned() } else { format!("workspace-{}", self.name) };
        let named = named.and_then(|named| located(named, opened));
        named.or_else(|| Some(opened.root().join(usual)).filter(|folder| folder.is_dir()))
    }
}

/// The names that OpenClaw's own folder had in different versions.
const OWN_FOLDERS: [&str; 3] = [".openclaw", ".moltbot", ".clawdbot"];

/// The path of a folder that a config names. A folder within OpenClaw's own folder is looked up in
/// the given home, which may be a copy. An archive may not name a folder outside itself.
fn located(named: &str, opened: &OpenedExport) -> Option<PathBuf> {
    let path = Path::new(named);
    let parts: Vec<_> = path.components().collect();
    let is_own = |part: &Component<'_>| OWN_FOLDERS.iter().any(|own| part.as_os_str() == *own);
    let inside = parts.iter().rposition(is_own).map(|place| parts[place + 1..].iter().collect());
    let inside = inside.or_else(|| path.is_relative().then(|| path.to_owned()));
    if let Some(inside) = inside.filter(|inside: &PathBuf| stays_inside(inside)) {
        return Some(opened.root().join(inside)).filter(|folder| folder.is_dir());
    }
    Some(path.to_owned()).filter(|path| opened.may_look_outside() && path.is_dir())
}

fn stays_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

fn tell_the_rest(opened: &OpenedExport, config: &Map<String, Value>, reading: &mut Reading) {
    if opened.has_folder("credentials") || object(config, "auth").is_some() {
        reading.left_out(
            "sign-ins and keys of providers",
            "connect the providers here: sign-ins of other programs are not imported",
        );
    }
    for (section, why) in [
        ("bindings", "set `bindings` in onyx.json instead"),
        ("hooks", "Onyx has no hooks of this kind"),
        ("plugins", "plugins of OpenClaw do not run here"),
        ("browser", "Onyx does not control a browser"),
    ] {
        let is_set = config.get(section).is_some_and(|value| match value {
            Value::Array(list) => !list.is_empty(),
            Value::Object(map) => !map.is_empty(),
            other => !other.is_null(),
        });
        if is_set {
            reading.left_out(format!("`{section}` of the config"), why);
        }
    }
}
