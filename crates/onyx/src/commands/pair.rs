//! `onyx pair`: approves or rejects a device that shows a code.

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;

use super::{done, show, through};
use crate::cli::PairCommand;
use crate::exit::Exit;
use crate::home::HomeFolder;

#[derive(Deserialize)]
struct Pairings {
    pairings: Vec<Pairing>,
}

#[derive(Deserialize)]
struct Pairing {
    code: String,
    name: String,
    client: String,
    expires_in: u64,
}

pub(crate) async fn run(home: &HomeFolder, command: PairCommand) -> Result<Exit> {
    const PAIRINGS: &str = "/api/admin/pairings";
    match command {
        PairCommand::List(json) => {
            through(home, async |client| {
                let line = |at: &Pairing| {
                    format!("{}  {:<7} {:>4} s  {}", at.code, at.client, at.expires_in, at.name)
                };
                let lines = |all: Pairings| all.pairings.iter().map(line).collect();
                show(client.get(PAIRINGS).await?, json, lines).await
            })
            .await
        }
        PairCommand::Approve { code, person, json } => {
            through(home, async |client| {
                let body = json!({"code": code, "person": person});
                client.post(&format!("{PAIRINGS}/approve"), &body).await?;
                done(json, "the device is approved");
                Ok(())
            })
            .await
        }
        PairCommand::Reject { code, json } => {
            through(home, async |client| {
                client.post(&format!("{PAIRINGS}/reject"), &json!({"code": code})).await?;
                done(json, "the device is rejected");
                Ok(())
            })
            .await
        }
    }
}
