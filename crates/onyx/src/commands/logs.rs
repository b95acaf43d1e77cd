//! `onyx logs`: reads the log of the running server through its API. A server keeps only its newest
//! lines in memory; its service or terminal keeps the rest.

use anyhow::Result;
use onyx_types::{Timestamp, percent_encoded};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::refused;
use crate::cli::LogsArguments;
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::gateway::{Claim, Connection, Unreachable, claim};
use crate::home::HomeFolder;
use crate::output;

#[derive(Deserialize)]
struct Lines {
    lines: Vec<Value>,
}

#[derive(Deserialize)]
struct Line {
    ts: Timestamp,
    level: String,
    target: String,
    message: String,
    #[serde(default)]
    fields: Map<String, Value>,
}

pub(crate) async fn run(home: &HomeFolder, arguments: &LogsArguments) -> Result<Exit> {
    // Without a running server, a gateway started in this process would show only its own log.
    let is_free = !home.path().is_dir() || matches!(claim(home)?, Claim::Ours(_));
    if is_free {
        let message = "no server is running on this home; earlier logs are in the service's \
                       journal (`journalctl --user -u onyx`), or in the server's terminal";
        return Err(Unreachable(message.to_owned()).into());
    }
    let connection = Connection::open(home).await?;
    let result = print(connection.client(), arguments).await;
    connection.close().await;
    Ok(result.map_or_else(|error| refused(&error), |()| Exit::Done))
}

async fn print(client: &Client, arguments: &LogsArguments) -> Result<(), ClientError> {
    let address = address(arguments);
    if !arguments.follow {
        let lines: Lines = client.get_json(&address).await?;
        lines.lines.iter().for_each(|line| show(line, arguments.json));
        return Ok(());
    }
    let mut feed = client.follow(&address).await?;
    while let Some(data) = feed.next().await? {
        let line =
            serde_json::from_slice(&data).map_err(|error| ClientError::unreadable(&error))?;
        show(&line, arguments.json);
    }
    output::aside("the server has stopped");
    Ok(())
}

fn address(arguments: &LogsArguments) -> String {
    let (level, limit) = (arguments.level.as_str(), arguments.limit);
    let mut address = format!("/api/admin/logs?level={level}&limit={limit}");
    if let Some(text) = &arguments.search {
        address += "&q=";
        address += &percent_encoded(text);
    }
    address
}

fn show(line: &Value, json: bool) {
    if json {
        return output::json_text(&line.to_string());
    }
    match Line::deserialize(line) {
        Ok(line) => output::line(&line.words()),
        // A newer server may log other fields; such a line is printed as it is.
        Err(_) => output::json_text(&line.to_string()),
    }
}

impl Line {
    fn words(&self) -> String {
        let Self { ts, level, target, message, fields } = self;
        let mut words = format!("{ts} {:<5} {target}: {message}", level.to_uppercase());
        for (name, value) in fields {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            words += &format!(" {name}={value}");
        }
        words
    }
}
