//! `onyx audit`: shows, verifies and exports the record of what was done and decided.

use anyhow::Result;
use onyx_types::{PersonId, visible_line};
use serde::Deserialize;
use serde_json::Value;

use super::{show, through};
use crate::cli::AuditCommand;
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::home::HomeFolder;
use crate::output;

const AUDIT: &str = "/api/admin/audit";
/// How many rows one request asks for.
const PAGE: u32 = 200;

#[derive(Deserialize)]
struct Page {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    seq: u64,
    ts: String,
    actor: String,
    tool: Option<String>,
    effect: Option<String>,
    decision: Option<String>,
    diff_summary: String,
    result: String,
}

impl Row {
    fn line(&self) -> String {
        let at = self.ts.get(..19).unwrap_or_default();
        let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "-".to_owned());
        let (tool, effect, decision) = (word(&self.tool), word(&self.effect), word(&self.decision));
        let (seq, actor) = (self.seq, &self.actor);
        let (what, result) = (&self.diff_summary, &self.result);
        let row = format!(
            "{seq:>6}  {at}  {actor:<10} {decision:<8} {effect:<8} {tool}: {what} ({result})"
        );
        visible_line(&row).into_owned()
    }
}

#[derive(Deserialize)]
struct Chains {
    chains: Vec<Chain>,
}

#[derive(Deserialize)]
struct Chain {
    person: String,
    whole: bool,
    rows: Option<u64>,
    unkeyed_until: Option<u64>,
    broken_at: Option<u64>,
}

impl Chain {
    fn line(&self) -> String {
        match (self.rows, self.broken_at) {
            (_, Some(at)) => format!("{}: BROKEN at row {at}", self.person),
            (rows, None) => {
                let until = self.unkeyed_until.map(|row| format!(", unkeyed until row {row}"));
                let until = until.unwrap_or_default();
                format!("{}: whole, {} rows{until}", self.person, rows.unwrap_or(0))
            }
        }
    }
}

pub(crate) async fn run(home: &HomeFolder, command: AuditCommand) -> Result<Exit> {
    let mut broken = false;
    let done = through(home, async |client| match command {
        AuditCommand::List { person, limit, json } => {
            let path = format!("{AUDIT}?limit={limit}{}", of(person.as_ref(), '&'));
            let lines = |page: Page| page.rows.iter().map(Row::line).collect();
            show(client.get(&path).await?, json, lines).await
        }
        AuditCommand::Verify { person, json } => {
            let path = format!("{AUDIT}/verify{}", of(person.as_ref(), '?'));
            let value: Value = client.get_json(&path).await?;
            let Chains { chains } =
                Chains::deserialize(&value).map_err(|error| ClientError::unreadable(&error))?;
            broken = !chains.iter().all(|chain| chain.whole);
            if json.json {
                output::json(&value);
            } else {
                chains.iter().for_each(|chain| output::line(&chain.line()));
            }
            Ok(())
        }
        AuditCommand::Export { person } => export(client, person.as_ref()).await,
    })
    .await?;
    Ok(if broken { Exit::Failed } else { done })
}

/// Prints every row, oldest first, one JSON object per line.
async fn export(client: &Client, person: Option<&PersonId>) -> Result<(), ClientError> {
    let mut rows = Vec::new();
    let mut before = None;
    loop {
        let cursor = before.map(|seq: u64| format!("&before={seq}")).unwrap_or_default();
        let path = format!("{AUDIT}?limit={PAGE}{cursor}{}", of(person, '&'));
        let page: Value = client.get_json(&path).await?;
        rows.extend(page["rows"].as_array().into_iter().flatten().cloned());
        before = page["before"].as_u64();
        if before.is_none() {
            break;
        }
    }
    rows.iter().rev().for_each(|row| output::json_text(&row.to_string()));
    Ok(())
}

fn of(person: Option<&PersonId>, separator: char) -> String {
    person.map(|person| format!("{separator}person={person}")).unwrap_or_default()
}
