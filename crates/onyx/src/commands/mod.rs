//! One module per command. Each returns the exit code of the process.

pub(crate) mod actions;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod connectors;
pub(crate) mod doctor;
pub(crate) mod drafts;
pub(crate) mod import;
pub(crate) mod init;
mod input;
pub(crate) mod jobs;
pub(crate) mod linkedin;
mod login;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod migrate;
pub(crate) mod models;
pub(crate) mod pair;
pub(crate) mod people;
pub(crate) mod plugins;
pub(crate) mod read_document;
pub(crate) mod reindex;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod storage;
pub(crate) mod tokens;
pub(crate) mod undo;
pub(crate) mod usage;
mod weights;

use anyhow::Result;
use reqwest::Response;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli::AsJson;
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::gateway::Connection;
use crate::home::HomeFolder;
use crate::output;

/// Runs `work` against the gateway and turns its result into an exit code.
async fn through(
    home: &HomeFolder,
    work: impl AsyncFnOnce(&Client) -> Result<(), ClientError>,
) -> Result<Exit> {
    let connection = Connection::open(home).await?;
    let result = work(connection.client()).await;
    connection.close().await;
    Ok(match result {
        Ok(()) => Exit::Done,
        Err(error) => refused(&error),
    })
}

/// Prints an answer, as JSON or as lines for a person.
async fn show<T: DeserializeOwned>(
    response: Response,
    json: AsJson,
    lines: impl FnOnce(T) -> Vec<String>,
) -> Result<(), ClientError> {
    let value: Value = response.json().await.map_err(ClientError::Unreachable)?;
    if json.json {
        output::json(&value);
        return Ok(());
    }
    let read = T::deserialize(value).map_err(|error| {
        let message = format!("the server's answer cannot be read: {error}");
        ClientError::Refused(onyx_types::Fault::new(onyx_types::ErrorCode::Internal, message))
    })?;
    lines(read).iter().for_each(|line| output::line(line));
    Ok(())
}

/// One line for each item, or the line `none` when there is no item.
fn listed<T>(all: &[T], line: impl Fn(&T) -> String, none: &str) -> Vec<String> {
    if all.is_empty() {
        return vec![none.to_owned()];
    }
    all.iter().map(line).collect()
}

/// Confirms work that returns no data.
fn done(json: AsJson, words: &str) {
    if json.json {
        output::json_text(&json!({"ok": true}).to_string())
    } else {
        output::line(words)
    }
}

/// Prints why a request failed, and returns the exit code for it.
fn refused(error: &ClientError) -> Exit {
    output::fault(&error.fault());
    error.exit()
}
