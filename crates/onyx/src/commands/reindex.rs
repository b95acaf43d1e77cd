//! `onyx reindex`: everything derived, built anew from the files.

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;

use super::refused;
use crate::client::ClientError;
use crate::exit::Exit;
use crate::gateway::Connection;
use crate::home::HomeFolder;
use crate::output;

#[derive(Deserialize)]
struct Reindexed {
    sessions: u64,
}

pub(crate) async fn run(home: &HomeFolder) -> Result<Exit> {
    let connection = Connection::open(home).await?;
    let answer = async {
        let response = connection.client().post("/api/admin/reindex", &json!({})).await?;
        response.json::<Reindexed>().await.map_err(ClientError::Unreachable)
    };
    let answer = answer.await;
    connection.close().await;
    Ok(match answer {
        Ok(done) => {
            output::line(&format!("{} sessions were read anew", done.sessions));
            Exit::Done
        }
        Err(error) => refused(&error),
    })
}
