//! `onyx mcp`: manages MCP servers, the programs that offer tools.

mod install;
mod login;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};
use onyx_types::AgentId;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::{done, listed, show, through};
use crate::cli::{AsJson, McpCommand};
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::home::HomeFolder;

const MCP: &str = "/api/admin/mcp";

#[derive(Deserialize)]
struct Servers {
    servers: Vec<Server>,
}

#[derive(Deserialize)]
struct Server {
    name: String,
    place: String,
    enabled: bool,
    status: String,
    problem: Option<String>,
    protocol: Option<String>,
    signed_in: bool,
    tools: Vec<Tool>,
    log: Vec<String>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    description: String,
    effect: String,
    state: String,
    problem: Option<String>,
    hash: Option<String>,
    diff: Option<String>,
}

impl Tool {
    fn waits(&self) -> bool {
        matches!(self.state.as_str(), "new" | "changed")
    }

    fn line(&self) -> String {
        let first = self.description.lines().next().unwrap_or_default();
        let what = self.problem.as_deref().unwrap_or(first);
        format!("  {:<24} {:<9} {:<8} {what}", self.name, self.state, self.effect)
    }
}

impl Server {
    fn line(&self) -> String {
        let status = if self.enabled { self.status.as_str() } else { "off" };
        let ready = self.tools.iter().filter(|tool| tool.state == "ready").count();
        let waiting = self.tools.iter().filter(|tool| tool.waits()).count();
        let waiting = if waiting > 0 { format!(", {waiting} wait for you") } else { String::new() };
        let (name, place) = (&self.name, &self.place);
        format!("{name:<16} {status:<9} {ready} tools{waiting}  {place}")
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.line()];
        lines.extend(self.problem.iter().map(|why| format!("problem: {why}")));
        lines.extend(self.protocol.iter().map(|version| format!("protocol: {version}")));
        lines.extend(self.signed_in.then(|| "signed in".to_owned()));
        lines.extend(self.tools.iter().map(Tool::line));
        if self.tools.iter().any(Tool::waits) {
            lines.push(format!("show the tools:   onyx mcp tools {}", self.name));
            lines.push(format!("accept the tools: onyx mcp accept {}", self.name));
        }
        lines
    }

    /// One line per tool, with the description of each tool that waits.
    fn details(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for tool in &self.tools {
            lines.push(tool.line());
            let diff = tool.diff.iter().flat_map(|diff| diff.lines());
            lines.extend(diff.map(|line| format!("    {line}")));
        }
        lines
    }

    fn with_log(&self) -> Vec<String> {
        let mut lines = self.lines();
        if !self.log.is_empty() {
            lines.push("log:".to_owned());
            lines.extend(self.log.iter().map(|line| format!("  {line}")));
        }
        lines
    }
}

pub(crate) async fn run(home: &HomeFolder, command: McpCommand) -> Result<Exit> {
    if let McpCommand::Install { client, yes } = command {
        return install::run(home, client, yes).await;
    }
    let (added, command) = match command {
        command @ McpCommand::Add { .. } => (Some(new_servers(&command)?), command),
        other => (None, other),
    };
    through(home, async |client| match command {
        McpCommand::List(json) => {
            let none = "There are no MCP servers. Add one with: onyx mcp add";
            let lines = |all: Servers| listed(&all.servers, Server::line, none);
            show(client.get(MCP).await?, json, lines).await
        }
        McpCommand::Add { json, .. } => {
            let response = client.post(MCP, &added.unwrap_or_default()).await?;
            let lines = |all: Servers| {
                let next = |server: &Server| {
                    [server.line(), format!("test it: onyx mcp test {}", server.name)]
                };
                all.servers.iter().flat_map(next).collect()
            };
            show(response, json, lines).await
        }
        McpCommand::Test { server, json } => {
            let response = client.post(&format!("{MCP}/{server}/test"), &json!({})).await?;
            show(response, json, |server: Server| server.with_log()).await
        }
        McpCommand::Tools { server, json } => {
            let response = client.get(&format!("{MCP}/{server}")).await?;
            show(response, json, |server: Server| server.details()).await
        }
        McpCommand::Accept { server, tools, json } => accept(client, &server, &tools, json).await,
        McpCommand::Serve { agent } => serve(client, agent).await,
        McpCommand::Login { server, json } => login::run(client, &server, json).await,
        McpCommand::Logout { server, json } => {
            let response = client.post(&format!("{MCP}/{server}/logout"), &json!({})).await?;
            show(response, json, |server: Server| server.lines()).await
        }
        // The install needs no gateway and is handled above.
        McpCommand::Install { .. } => Ok(()),
        McpCommand::Remove { server, json } => {
            client.delete(&format!("{MCP}/{server}")).await?;
            done(json, &format!("{server} is removed from the config"));
            Ok(())
        }
    })
    .await
}

/// Passes messages to the server, one per line, until the input ends. Only answers are written to the output.
async fn serve(client: &Client, agent: Option<AgentId>) -> Result<(), ClientError> {
    let path = agent.map_or_else(|| "/mcp".to_owned(), |agent| format!("/mcp?agent={agent}"));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    loop {
        let line = match lines.next_line().await {
            Ok(Some(line)) if line.trim().is_empty() => continue,
            Ok(Some(line)) => line,
            // The program that started this one has ended.
            Ok(None) | Err(_) => return Ok(()),
        };
        let answer = match serde_json::from_str::<Value>(&line) {
            Ok(message) => {
                let response = client.post_through(&path, &message).await?;
                response.text().await.map_err(ClientError::Unreachable)?
            }
            Err(error) => {
                let error = json!({"code": -32_700, "message": format!("not JSON: {error}")});
                json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string()
            }
        };
        // A notification has no answer.
        if !answer.trim().is_empty() {
            crate::output::json_text(&answer);
        }
    }
}

/// Accepts exactly the descriptions that the server shows now.
async fn accept(
    client: &Client,
    server: &str,
    tools: &[String],
    json: AsJson,
) -> Result<(), ClientError> {
    let seen: Server = client.get_json(&format!("{MCP}/{server}")).await?;
    let is_meant = |tool: &&Tool| {
        if tools.is_empty() { tool.waits() } else { tools.contains(&tool.name) }
    };
    let hashes: BTreeMap<&str, &str> = seen
        .tools
        .iter()
        .filter(is_meant)
        .filter_map(|tool| Some((tool.name.as_str(), tool.hash.as_deref()?)))
        .collect();
    let body = json!({"tools": hashes});
    let response = client.post(&format!("{MCP}/{server}/accept"), &body).await?;
    show(response, json, |server: Server| server.lines()).await
}

/// The body of the request that adds a server.
fn new_servers(command: &McpCommand) -> Result<Value> {
    let McpCommand::Add { name, url, from, env, header, network, read, write, command, .. } =
        command
    else {
        return Ok(Value::Null);
    };
    if let Some(file) = from {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        return serde_json::from_str(&text)
            .with_context(|| format!("{} is not JSON", file.display()));
    }
    let mut server = Map::new();
    match (url, command.split_first()) {
        (Some(url), None) => {
            server.insert("url".to_owned(), json!(url));
        }
        (None, Some((program, arguments))) => {
            server.insert("command".to_owned(), json!(program));
            server.insert("args".to_owned(), json!(arguments));
        }
        _ => bail!("give --url ADDRESS, or the command after --"),
    }
    let pairs = |pairs: &[(String, String)]| pairs.iter().cloned().collect::<BTreeMap<_, _>>();
    server.insert("env".to_owned(), json!(pairs(env)));
    server.insert("headers".to_owned(), json!(pairs(header)));
    server.insert("network".to_owned(), json!(network));
    server.insert("folders".to_owned(), json!({"read": read, "write": write}));
    let name = name.clone().unwrap_or_default();
    Ok(json!({"mcpServers": {name: server}}))
}
