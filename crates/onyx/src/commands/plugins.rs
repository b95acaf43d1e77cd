//! `onyx plugins`: manages plugins and what each of them may access.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::skills::collect;
use super::{done, listed, show, through};
use crate::cli::PluginsCommand;
use crate::exit::Exit;
use crate::home::HomeFolder;

const PLUGINS: &str = "/api/admin/plugins";

#[derive(Deserialize)]
struct Plugins {
    plugins: Vec<Plugin>,
}

#[derive(Deserialize)]
struct Plugin {
    name: String,
    version: Option<String>,
    description: String,
    state: String,
    enabled: bool,
    status: String,
    problems: Vec<String>,
    grants: Grants,
    hooks: Vec<Hook>,
    connectors: Vec<String>,
    mcp_servers: Vec<String>,
    skills: Vec<String>,
    hash: Option<String>,
    diff: Option<String>,
    log: Vec<String>,
}

#[derive(Deserialize)]
struct Grants {
    network: Vec<String>,
    read: Vec<String>,
    write: Vec<String>,
    secrets: Vec<String>,
    people: Vec<String>,
    content: bool,
}

#[derive(Deserialize)]
struct Hook {
    event: String,
    veto: bool,
    tools: Vec<String>,
}

impl Hook {
    fn words(&self, grants: &Grants) -> String {
        let can = if self.veto { " and can say no" } else { "" };
        let of = if self.tools.is_empty() { "all".to_owned() } else { self.tools.join(", ") };
        let people = if grants.people.iter().any(|one| one == "*") {
            "everyone".to_owned()
        } else {
            grants.people.join(", ")
        };
        let seen = if grants.content { "with content" } else { "without content" };
        format!("is notified of {}{can} ({of}; of {people}; {seen})", self.event)
    }
}

impl Plugin {
    fn line(&self) -> String {
        let status = if self.enabled { self.status.as_str() } else { "off" };
        let version = self.version.as_deref().unwrap_or("-");
        let first = self.description.lines().next().unwrap_or_default();
        let what = self.problems.first().map_or(first, String::as_str);
        format!("{:<24} {version:<9} {:<9} {status:<9} {what}", self.name, self.state)
    }

    /// Everything that the plugin may access once it is accepted.
    fn grants(&self) -> Vec<String> {
        let grants = &self.grants;
        let mut lines = Vec::new();
        let mut say = |what: &str, names: &[String]| {
            if !names.is_empty() {
                lines.push(format!("  {what}: {}", names.join(", ")));
            }
        };
        say("reaches", &grants.network);
        say("reads", &grants.read);
        say("changes", &grants.write);
        say("is given the secrets", &grants.secrets);
        say("brings connectors", &self.connectors);
        say("brings MCP servers, whose tools wait for you", &self.mcp_servers);
        say("brings skills, which wait for you", &self.skills);
        lines.extend(self.hooks.iter().map(|hook| format!("  {}", hook.words(grants))));
        if lines.is_empty() {
            lines.push("  nothing".to_owned());
        }
        lines
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.line()];
        lines.extend(self.problems.iter().map(|why| format!("problem: {why}")));
        lines.push("it asks for:".to_owned());
        lines.extend(self.grants());
        if let Some(diff) = &self.diff {
            lines.push(format!("It waits for you: onyx plugins accept {}", self.name));
            lines.extend(diff.lines().map(|line| format!("    {line}")));
        }
        lines
    }

    fn next(&self) -> Vec<String> {
        let mut lines = vec![self.line()];
        match self.state.as_str() {
            "new" | "changed" => {
                lines.push(format!("review it: onyx plugins show {}", self.name));
                lines.push(format!("accept it: onyx plugins accept {}", self.name));
            }
            "accepted" if !self.enabled => {
                lines.push(format!("enable it: onyx plugins enable {}", self.name));
            }
            _ => {}
        }
        lines
    }

    fn log(self) -> Vec<String> {
        if self.log.is_empty() { vec!["The log is empty.".to_owned()] } else { self.log }
    }
}

pub(crate) async fn run(home: &HomeFolder, command: PluginsCommand) -> Result<Exit> {
    // The plugin's files on this machine are read before the server is contacted.
    let mut files = Value::Null;
    if let PluginsCommand::Add { from, .. } = &command {
        files = brought(from)?;
    }
    let at = |name: &str| format!("{PLUGINS}/{name}");
    through(home, async |client| match command {
        PluginsCommand::List(json) => {
            let none =
                "There are no plugins. Add one with: onyx plugins add <folder, zip or address>";
            let lines = |all: Plugins| listed(&all.plugins, Plugin::line, none);
            show(client.get(PLUGINS).await?, json, lines).await
        }
        PluginsCommand::Add { json, .. } => {
            let response = client.post(PLUGINS, &files).await?;
            show(response, json, |plugin: Plugin| plugin.next()).await
        }
        PluginsCommand::Show { plugin, json } => {
            show(client.get(&at(&plugin)).await?, json, |plugin: Plugin| plugin.lines()).await
        }
        PluginsCommand::Accept { plugin, json } => {
            // Accepts exactly the version that the server shows now.
            let seen: Plugin = client.get_json(&at(&plugin)).await?;
            let address = format!("{}/accept", at(&plugin));
            let hash = seen.hash.unwrap_or_default();
            let response = client.post(&address, &json!({"hash": hash})).await?;
            let lines = |plugin: Plugin| {
                let granted = plugin.grants();
                plugin.next().into_iter().chain(["it has:".to_owned()]).chain(granted).collect()
            };
            show(response, json, lines).await
        }
        PluginsCommand::Enable { plugin, json } => {
            let response = client.post(&format!("{}/enable", at(&plugin)), &json!({})).await?;
            show(response, json, |plugin: Plugin| plugin.next()).await
        }
        PluginsCommand::Disable { plugin, json } => {
            let response = client.post(&format!("{}/disable", at(&plugin)), &json!({})).await?;
            show(response, json, |plugin: Plugin| vec![plugin.line()]).await
        }
        PluginsCommand::Logs { plugin, json } => {
            show(client.get(&at(&plugin)).await?, json, Plugin::log).await
        }
        PluginsCommand::Remove { plugin, json } => {
            client.delete(&at(&plugin)).await?;
            done(json, &format!("{plugin} is removed; its skills stay in the vault"));
            Ok(())
        }
    })
    .await
}

/// The body of the request: the files of a folder, an archive, or an address.
fn brought(from: &str) -> Result<Value> {
    if from.contains("://") || from.starts_with("git@") {
        return Ok(json!({"git": from}));
    }
    let path = Path::new(from);
    if path.is_dir() {
        let folder = fs::canonicalize(path).with_context(|| from.to_owned())?;
        let mut files = Vec::new();
        collect(&folder, &folder, &mut files, &mut 0)?;
        return Ok(json!({"files": files}));
    }
    if path.extension().is_none_or(|ending| ending != "zip") {
        bail!("{from} is neither a folder nor a .zip file");
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {from}"))?;
    Ok(json!({"zip": STANDARD.encode(bytes)}))
}
