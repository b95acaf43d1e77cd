//! A home of nanobot: `~/.nanobot` with `config.json` and a workspace that holds persona, memory,
//! skills, sessions and cron jobs.

mod sessions;

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::error::ImportError;
use crate::form::{ImportedAgent, Item};
use crate::openclaw::{
    agent_id, connector, cron_job, mcp_server, our_model_name, provider, skill_folder,
    workspace_files,
};
use crate::reading::{OpenedExport, Reading, json_file, json_lines, object, text, walk};

const CONFIG: &str = "config.json";
const AGENT: &str = "nanobot";
/// Files of a workspace that are read in another way, or that only nanobot can use.
const APART: [&str; 4] = ["skills/", "sessions/", "cron/", "history/"];

pub(crate) fn read(opened: &OpenedExport, reading: &mut Reading) -> Result<(), ImportError> {
    let config = if opened.has(CONFIG) {
        let config = json_file(opened, CONFIG);
        reading.tolerate(config)?
    } else {
        None
    };
    let none = Map::new();
    let config = config.as_ref().and_then(Value::as_object).unwrap_or(&none);
    let workspace = workspace(opened);
    if config.is_empty() && workspace.is_none() {
        return Err(ImportError::NotIt {
            path: opened.root().to_owned(),
            program: "home of nanobot",
            why: "it holds no config.json and no workspace".to_owned(),
        });
    }
    settings(config, reading);
    let Some(id) = agent_id(AGENT) else { return Ok(()) };
    let settings = agent(config, reading);
    reading.add(Item::Agent(ImportedAgent { id: id.clone(), settings }));
    if let Some(folder) = &workspace {
        let mut left_out = Vec::new();
        let files = walk(&opened.root().join(folder), &mut left_out)?;
        left_out.into_iter().for_each(|(path, why)| reading.left_out(path, why));
        let files = files.into_iter();
        let own = files.filter(|file| !APART.iter().any(|apart| file.path.starts_with(apart)));
        workspace_files(own.collect(), AGENT, &id, reading);
        skill_folder(&opened.root().join(folder).join("skills"), reading)?;
    }
    jobs(opened, workspace.as_ref(), reading)?;
    sessions::read(opened, workspace.as_ref(), &id, reading)
}

/// The workspace, which is usually `workspace`, or the given folder itself if it is one.
fn workspace(opened: &OpenedExport) -> Option<PathBuf> {
    let is_one = |folder: &str| {
        opened.has(&format!("{folder}AGENTS.md")) || opened.has(&format!("{folder}SOUL.md"))
    };
    if is_one("workspace/") {
        return Some(PathBuf::from("workspace"));
    }
    is_one("").then(PathBuf::new)
}

fn settings(config: &Map<String, Value>, reading: &mut Reading) {
    for (name, value) in object(config, "providers").into_iter().flatten() {
        let Some(fields) = value.as_object() else { continue };
        // nanobot lists every provider that it knows, but those in use have a key or an address.
        let is_used = text(fields, "apiKey").is_some() || text(fields, "apiBase").is_some();
        if is_used {
            provider(name, &with_kind(name, fields), reading);
        }
    }
    let tools = object(config, "tools");
    let servers = tools.and_then(|tools| object(tools, "mcpServers"));
    for (name, value) in servers.into_iter().flatten() {
        if let Some(fields) = value.as_object() {
            mcp_server(name, fields, reading);
        }
    }
    for (network, value) in object(config, "channels").into_iter().flatten() {
        let Some(fields) = value.as_object() else { continue };
        if fields.get("enabled").and_then(Value::as_bool).unwrap_or(false) {
            connector(network, "default", fields, reading);
        }
    }
}

fn with_kind(name: &str, fields: &Map<String, Value>) -> Map<String, Value> {
    let api = match name {
        "anthropic" => "anthropic-messages",
        "gemini" => "google-generative-ai",
        "ollama" => "ollama",
        _ => "openai-completions",
    };
    let mut fields = fields.clone();
    fields.insert("api".to_owned(), json!(api));
    fields
}

fn agent(config: &Map<String, Value>, reading: &mut Reading) -> Map<String, Value> {
    let defaults = object(config, "agents").and_then(|agents| object(agents, "defaults"));
    let mut settings = Map::new();
    let Some(defaults) = defaults else { return settings };
    if let Some(model) = text(defaults, "model") {
        // With `auto`, nanobot finds the provider by the model's name; Onyx requires the provider
        // before the name.
        let named = text(defaults, "provider").filter(|provider| *provider != "auto");
        let theirs = match named {
            Some(provider) if !model.starts_with(&format!("{provider}/")) => {
                format!("{provider}/{model}")
            }
            _ => model.to_owned(),
        };
        let ours = our_model_name(&theirs);
        if ours != model {
            reading.renamed(format!("model {model}"), ours.clone());
        }
        settings.insert("model".to_owned(), json!(ours));
    }
    if let Some(temperature) = defaults.get("temperature").filter(|value| value.is_number()) {
        settings.insert("temperature".to_owned(), temperature.clone());
    }
    settings
}

/// Reads `jobs.json`, and the changes since it was last written, which are in `action.jsonl` beside
/// it.
fn jobs(
    opened: &OpenedExport,
    workspace: Option<&PathBuf>,
    reading: &mut Reading,
) -> Result<(), ImportError> {
    let inside = workspace.map(|folder| folder.join("cron").display().to_string());
    let mut taken = Vec::new();
    for folder in ["cron".to_owned()].into_iter().chain(inside) {
        let jobs = stored_jobs(opened, &folder, reading)?;
        for job in &jobs {
            cron_job(job, Some(AGENT.to_owned()), &mut taken, reading);
        }
    }
    Ok(())
}

fn stored_jobs(
    opened: &OpenedExport,
    folder: &str,
    reading: &mut Reading,
) -> Result<Vec<Map<String, Value>>, ImportError> {
    let (file, actions) = (format!("{folder}/jobs.json"), format!("{folder}/action.jsonl"));
    let mut jobs = Vec::new();
    if opened.has(&file) {
        let list = json_file(opened, &file);
        let list = reading.tolerate(list)?;
        let listed = list.as_ref().and_then(|list| list.get("jobs")).and_then(Value::as_array);
        jobs.extend(listed.into_iter().flatten().filter_map(Value::as_object).cloned());
    }
    if opened.has(&actions) {
        let lines = opened.bytes(&actions).and_then(|bytes| json_lines(&actions, &bytes));
        for (_, action) in reading.tolerate(lines)?.into_iter().flatten() {
            let Some(job) = object(&action, "params") else { continue };
            let id = text(job, "id").or_else(|| text(job, "job_id"));
            jobs.retain(|known| text(known, "id") != id);
            if text(&action, "action") != Some("del") {
                jobs.push(job.clone());
            }
        }
    }
    Ok(jobs)
}
