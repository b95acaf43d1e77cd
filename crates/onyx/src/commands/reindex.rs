//! `onyx reindex`: rebuilds everything derived from the files.

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;

use super::refused;
use crate::client::{Client, ClientError};
use crate::exit::Exit;
use crate::gateway::Connection;
use crate::home::HomeFolder;
use crate::output;

#[derive(Deserialize)]
struct ReindexResult {
    sessions: u64,
    files: u64,
    changed: u64,
}

#[derive(Deserialize)]
struct Status {
    progress: Option<Progress>,
}

#[derive(Deserialize)]
struct Progress {
    done: u64,
    total: u64,
}

const GLANCE: Duration = Duration::from_millis(200);
const BAR: u64 = 30;

pub(crate) async fn run(home: &HomeFolder) -> Result<Exit> {
    let connection = Connection::open(home).await?;
    let client = connection.client();
    let answer = tokio::select! {
        answer = reindex(client) => answer,
        never = watch(client) => match never {},
    };
    connection.close().await;
    Ok(match answer {
        Ok(done) => {
            let ReindexResult { sessions, files, changed } = done;
            output::line(&format!(
                "{sessions} sessions and {files} files were read again; {changed} files had changed"
            ));
            Exit::Done
        }
        Err(error) => refused(&error),
    })
}

async fn reindex(client: &Client) -> Result<ReindexResult, ClientError> {
    let response = client.post("/api/admin/reindex", &json!({})).await?;
    let done = response.json().await.map_err(ClientError::Unreachable);
    output::progress("");
    done
}

/// Shows the progress on a terminal; never ends.
async fn watch(client: &Client) -> std::convert::Infallible {
    if !std::io::stderr().is_terminal() {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(GLANCE).await;
        // A failed status request is ignored: the answer to the reindex request reports what is wrong.
        let status = client.get_json::<Status>("/v1/memory/status").await;
        if let Ok(Status { progress: Some(Progress { done, total }) }) = status {
            let full = done.min(total) * BAR / total.max(1);
            let bar: String = (0..BAR).map(|place| if place < full { '█' } else { '░' }).collect();
            output::progress(&format!("{bar} {done} of {total} files"));
        }
    }
}
