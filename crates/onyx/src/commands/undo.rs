//! `onyx undo`: undoes everything that a run wrote.

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};

use super::refused;
use crate::cli::UndoArguments;
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::gateway::Connection;
use crate::home::HomeFolder;
use crate::output;

#[derive(Deserialize)]
struct UndoneRun {
    restored: Vec<String>,
}

pub(crate) async fn run(home: &HomeFolder, arguments: &UndoArguments) -> Result<Exit> {
    let connection = Connection::open(home).await?;
    let answer = undo(connection.client(), arguments).await;
    connection.close().await;
    Ok(match answer {
        Ok(()) => Exit::Done,
        Err(error) => refused(&error),
    })
}

async fn undo(client: &Client, arguments: &UndoArguments) -> Result<(), ClientError> {
    let path = format!("/api/runs/{}/undo?dry_run={}", arguments.run, arguments.dry_run);
    let response = client.post(&path, &json!({})).await?;
    let answer: Value = response.json().await.map_err(ClientError::Unreachable)?;
    if arguments.json {
        output::json(&answer);
        return Ok(());
    }
    let UndoneRun { restored } =
        UndoneRun::deserialize(&answer).map_err(|error| ClientError::unreadable(&error))?;
    if restored.is_empty() {
        output::aside("the run left nothing to take back");
    }
    let word = if arguments.dry_run { "would restore" } else { "restored" };
    for path in &restored {
        output::line(&format!("{word} {path}"));
    }
    Ok(())
}
