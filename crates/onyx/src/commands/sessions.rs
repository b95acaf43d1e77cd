//! `onyx sessions`: lists, shows, searches, changes and exports conversations.

mod change;

use anyhow::Result;
use onyx_types::{AgentId, Fault, SessionId, Timestamp, TurnId, percent_encoded};
use serde::Deserialize;
use serde_json::{Value, json};

use super::refused;
use crate::cli::{ExportFormat, ListArguments, SessionsCommand};
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::gateway::Connection;
use crate::home::HomeFolder;
use crate::output;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Show {
    Words,
    Json,
}

impl Show {
    const fn json(json: bool) -> Self {
        if json { Self::Json } else { Self::Words }
    }
}

pub(crate) async fn run(home: &HomeFolder, command: SessionsCommand) -> Result<Exit> {
    let connection = Connection::open(home).await?;
    let result = perform(connection.client(), command).await;
    connection.close().await;
    Ok(match result {
        Ok(exit) => exit,
        Err(error) => refused(&error),
    })
}

async fn perform(client: &Client, command: SessionsCommand) -> Result<Exit, ClientError> {
    match command {
        SessionsCommand::List(arguments) => list(client, &arguments, None).await,
        SessionsCommand::Search { text, list: arguments } => {
            list(client, &arguments, Some(&text)).await
        }
        SessionsCommand::Show { session, json: true } => show_json(client, session).await,
        SessionsCommand::Show { session, json: false } => show(client, session).await,
        SessionsCommand::Export { session, format, json: _ } => {
            export(client, session, format).await
        }
        SessionsCommand::Rename { session, title, json } => {
            change::patch(client, session, json!({"title": title}), Show::json(json)).await
        }
        SessionsCommand::Archive { session, json } => {
            change::patch(client, session, json!({"status": "archived"}), Show::json(json)).await
        }
        SessionsCommand::Restore { session, json } => {
            change::patch(client, session, json!({"status": "active"}), Show::json(json)).await
        }
        SessionsCommand::Delete { session, yes, json } => {
            if !yes && !change::agreed(client, session).await? {
                output::aside("nothing was deleted");
                return Ok(Exit::Failed);
            }
            change::delete(client, session, Show::json(json)).await
        }
        SessionsCommand::Fork { session, turn, json } => {
            change::fork(client, session, turn, Show::json(json)).await
        }
    }?;
    Ok(Exit::Done)
}

#[derive(Deserialize)]
struct SessionList {
    sessions: Vec<SessionRow>,
    degraded: Option<String>,
}

#[derive(Deserialize)]
struct SessionRow {
    id: SessionId,
    agent: AgentId,
    status: String,
    updated_at: Timestamp,
    message_count: u64,
    title: Option<String>,
    preview: String,
    found: Option<FoundTurn>,
}

/// A place in a session where the searched text was found.
#[derive(Deserialize)]
struct FoundTurn {
    turn: Option<TurnId>,
    snippet: Vec<SnippetPart>,
}

#[derive(Deserialize)]
struct SnippetPart {
    text: String,
}

async fn list(
    client: &Client,
    arguments: &ListArguments,
    text: Option<&str>,
) -> Result<(), ClientError> {
    let mut path = format!("/v1/sessions?limit={}", arguments.limit);
    if let Some(text) = text {
        path += &format!("&q={}", percent_encoded(text));
    }
    if let Some(agent) = &arguments.agent {
        path += &format!("&agent={agent}");
    }
    if arguments.archived {
        path += "&status=archived";
    } else if !arguments.all {
        path += "&status=active";
    }
    if arguments.json {
        return print_json(client, &path).await;
    }
    let list: SessionList = client.get_json(&path).await?;
    if list.sessions.is_empty() {
        output::aside(match text {
            Some(_) => "no session contains that text",
            None => "no sessions yet; start one with: onyx chat",
        });
    }
    for row in &list.sessions {
        output::line(&row.line());
        if let Some(found) = &row.found {
            output::line(&found.line());
        }
    }
    if let Some(why) = &list.degraded {
        output::aside(&format!("only titles were searched: {why}"));
    }
    Ok(())
}

impl SessionRow {
    fn line(&self) -> String {
        let when = self.updated_at.to_string();
        let when = when.get(..16).unwrap_or(&when).replace('T', " ");
        let title = self.title.as_deref().unwrap_or(&self.preview).replace('\n', " ");
        let archived = if self.status == "archived" { " (archived)" } else { "" };
        format!(
            "{}  {when}  {:<10} {:>4}  {title}{archived}",
            self.id, self.agent, self.message_count
        )
    }
}

impl FoundTurn {
    fn line(&self) -> String {
        let words: String = self.snippet.iter().map(|part| part.text.as_str()).collect();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        match self.turn {
            Some(turn) => format!("    {turn}  {words}"),
            None => format!("    {words}"),
        }
    }
}

#[derive(Deserialize)]
struct History {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    agent: Option<AgentId>,
    content: String,
    status: String,
    created_at: Timestamp,
    tools: Vec<Tool>,
    error: Option<Fault>,
}

#[derive(Deserialize)]
struct Tool {
    tool: String,
    ok: Option<bool>,
    summary: String,
}

async fn show_json(client: &Client, session: SessionId) -> Result<(), ClientError> {
    print_json(client, &history_of(session)).await
}

fn history_of(session: SessionId) -> String {
    format!("/api/agent/session/history?session_id={session}")
}

async fn show(client: &Client, session: SessionId) -> Result<(), ClientError> {
    let history: History = client.get_json(&history_of(session)).await?;
    for message in &history.messages {
        message.print();
    }
    Ok(())
}

impl Message {
    fn print(&self) {
        let note = match self.status.as_str() {
            "complete" => String::new(),
            other => format!(" [{other}]"),
        };
        let who = self.agent.as_ref().map_or(self.role.as_str(), |agent| agent.as_str());
        output::line(&format!("── {who} {}{note}", self.created_at));
        for tool in &self.tools {
            let mark = match tool.ok {
                Some(true) => "✓",
                Some(false) => "✗",
                None => "?",
            };
            output::line(&format!("  {mark} {}: {}", tool.tool, tool.summary));
        }
        if !self.content.is_empty() {
            output::line(self.content.trim_end());
        }
        if let Some(error) = &self.error {
            output::line(&format!("  {}: {}", error.code, error.message));
        }
    }
}

async fn export(
    client: &Client,
    session: SessionId,
    format: ExportFormat,
) -> Result<(), ClientError> {
    let format = match format {
        ExportFormat::Jsonl => "jsonl",
        ExportFormat::Markdown => "markdown",
    };
    let path = format!("/v1/sessions/{session}/export?format={format}");
    let mut response = client.get(&path).await?;
    while let Some(bytes) = response.chunk().await.map_err(ClientError::Unreachable)? {
        output::document(&bytes);
    }
    Ok(())
}

async fn print_json(client: &Client, path: &str) -> Result<(), ClientError> {
    let value: Value = client.get_json(path).await?;
    output::json(&value);
    Ok(())
}
