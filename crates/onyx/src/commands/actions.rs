//! `onyx actions`: lists and runs the prompt files of the vault.

use std::io::IsTerminal;

use anyhow::Result;
use onyx_types::{ErrorCode, Fault};
use serde::Deserialize;

use super::{refused, show, through};
use crate::cli::{ActionsCommand, RunActionArguments};
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::gateway::Connection;
use crate::home::HomeFolder;
use crate::output;

const ACTIONS: &str = "/api/agent/actions";

#[derive(Deserialize)]
struct ActionRow {
    id: String,
    label: String,
    requires_confirmation: bool,
    error: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

pub(crate) async fn run(home: &HomeFolder, command: ActionsCommand) -> Result<Exit> {
    match command {
        ActionsCommand::List(json) => {
            through(home, async |client| {
                show(client.get(ACTIONS).await?, json, |actions: Vec<ActionRow>| {
                    actions.iter().flat_map(ActionRow::lines).collect()
                })
                .await
            })
            .await
        }
        ActionsCommand::Run(arguments) => run_one(home, arguments).await,
    }
}

async fn run_one(home: &HomeFolder, arguments: RunActionArguments) -> Result<Exit> {
    let connection = Connection::open(home).await?;
    let asked = agreed(connection.client(), &arguments).await;
    match asked {
        Ok(true) => super::chat::run_action(connection, arguments).await,
        Ok(false) => {
            connection.close().await;
            output::aside("nothing was done");
            Ok(Exit::Failed)
        }
        Err(error) => {
            connection.close().await;
            Ok(refused(&error))
        }
    }
}

/// An action that asks for it is confirmed by `--yes` or at the terminal; a dry run needs neither.
async fn agreed(client: &Client, arguments: &RunActionArguments) -> Result<bool, ClientError> {
    if arguments.yes || arguments.dry_run {
        return Ok(true);
    }
    let actions: Vec<ActionRow> = client.get_json(ACTIONS).await?;
    // The server reports an action that does not exist.
    let Some(action) = actions.iter().find(|action| action.id == arguments.id) else {
        return Ok(true);
    };
    if !action.requires_confirmation {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        let message = format!("{} runs only when you confirm it", action.label);
        return Err(ClientError::Refused(
            Fault::new(ErrorCode::ConfirmationRequired, message).with_hint("Confirm with --yes."),
        ));
    }
    output::question(&format!("Run {}? [y/N] ", action.label));
    let mut answer = String::new();
    // No answer means no.
    let _ = tokio::task::block_in_place(|| std::io::stdin().read_line(&mut answer));
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

impl ActionRow {
    fn lines(&self) -> Vec<String> {
        let note = match (&self.error, self.requires_confirmation) {
            (Some(error), _) => format!("  does not run: {error}"),
            (None, true) => "  asks before it runs".to_owned(),
            (None, false) => String::new(),
        };
        let first = format!("{:<24} {}{note}", self.id, self.label);
        let warnings = self.warnings.iter().map(|warning| format!("{:<24} note: {warning}", ""));
        std::iter::once(first).chain(warnings).collect()
    }
}
