//! `onyx chat`: sends one message or holds a conversation.

mod answer;
mod interactive;

use std::io::{IsTerminal, Read};

use anyhow::{Context, Result};
use onyx_types::{AgentId, SessionId};
use serde_json::{Map, Value};

use crate::cli::{ChatArguments, RunActionArguments};
use crate::exit::Exit;
use crate::gateway::Connection;
use crate::home::HomeFolder;
use crate::output;
use answer::Show;

/// The conversation of this process: its session, agent and options.
struct ChatCommand {
    connection: Connection,
    agent: Option<AgentId>,
    session: Option<SessionId>,
    /// The action to run instead of a message; the person has confirmed it.
    action: Option<String>,
    dry_run: bool,
}

pub(crate) async fn run(home: &HomeFolder, arguments: ChatArguments) -> Result<Exit> {
    let message = match message_of(&arguments)? {
        Some(message) => message,
        None => return interactive::run(home, talk(home, arguments).await?).await,
    };
    let show = if arguments.json { Show::Lines } else { Show::Words };
    let mut talk = talk(home, arguments).await?;
    let exit = talk.answer(&message, show).await;
    if let (Some(session), Show::Words) = (talk.session, show) {
        output::aside(&format!("session {session} (continue with: onyx chat -s {session} …)"));
    }
    talk.connection.close().await;
    Ok(exit)
}

/// Runs an action and shows it like the answer to a message.
pub(crate) async fn run_action(
    connection: Connection,
    arguments: RunActionArguments,
) -> Result<Exit> {
    let mut talk = ChatCommand {
        connection,
        agent: None,
        session: arguments.session,
        action: Some(arguments.id),
        dry_run: arguments.dry_run,
    };
    let show = if arguments.json { Show::Lines } else { Show::Words };
    let exit = talk.answer(&arguments.selection.unwrap_or_default(), show).await;
    talk.connection.close().await;
    Ok(exit)
}

/// The message to send; `None` for an interactive conversation.
fn message_of(arguments: &ChatArguments) -> Result<Option<String>> {
    if !arguments.message.is_empty() {
        return Ok(Some(arguments.message.join(" ")));
    }
    if std::io::stdin().is_terminal() && !arguments.json {
        return Ok(None);
    }
    let mut message = String::new();
    std::io::stdin().read_to_string(&mut message).context("cannot read the message from stdin")?;
    Ok(Some(message))
}

async fn talk(home: &HomeFolder, arguments: ChatArguments) -> Result<ChatCommand> {
    Ok(ChatCommand {
        connection: Connection::open(home).await?,
        agent: arguments.agent,
        session: arguments.session,
        action: None,
        dry_run: arguments.dry_run,
    })
}

impl ChatCommand {
    fn body(&self, message: &str) -> Value {
        let mut body = Map::new();
        body.insert("message".to_owned(), message.into());
        if let Some(session) = self.session {
            body.insert("session_id".to_owned(), session.to_string().into());
        }
        if let Some(agent) = &self.agent {
            body.insert("agent".to_owned(), agent.as_str().into());
        }
        if let Some(action) = &self.action {
            body.insert("action_id".to_owned(), action.as_str().into());
            body.insert("confirm".to_owned(), true.into());
        }
        if self.dry_run {
            body.insert("dry_run".to_owned(), true.into());
        }
        Value::Object(body)
    }
}
