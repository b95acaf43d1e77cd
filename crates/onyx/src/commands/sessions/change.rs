//! Changes sessions: rename, archive, delete, fork.

use std::io::IsTerminal;

use onyx_types::{ErrorCode, Fault, SessionId, TurnId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{SessionRow, Show};
use crate::client::{Client, ClientError};
use crate::output;

pub(super) async fn patch(
    client: &Client,
    session: SessionId,
    patch: Value,
    show: Show,
) -> Result<(), ClientError> {
    let changed = client.patch_json(&format!("/v1/sessions/{session}"), &patch).await?;
    print(&changed, show)
}

pub(super) async fn delete(
    client: &Client,
    session: SessionId,
    show: Show,
) -> Result<(), ClientError> {
    client.delete(&format!("/v1/sessions/{session}")).await?;
    match show {
        Show::Json => output::json(&json!({"deleted": session})),
        Show::Words => output::line(&format!("deleted {session}")),
    }
    Ok(())
}

pub(super) async fn fork(
    client: &Client,
    session: SessionId,
    turn: Option<TurnId>,
    show: Show,
) -> Result<(), ClientError> {
    let turn = match turn {
        Some(turn) => turn,
        None => newest_turn(client, session).await?,
    };
    let path = format!("/v1/sessions/{session}/fork");
    let response = client.post(&path, &json!({"turn_id": turn})).await?;
    let fork = response.json().await.map_err(ClientError::Unreachable)?;
    print(&fork, show)
}

async fn newest_turn(client: &Client, session: SessionId) -> Result<TurnId, ClientError> {
    #[derive(Deserialize)]
    struct Turns {
        turns: Vec<Turn>,
    }
    #[derive(Deserialize)]
    struct Turn {
        id: TurnId,
    }
    let page: Turns = client.get_json(&format!("/v1/sessions/{session}/turns?limit=1")).await?;
    page.turns.last().map(|turn| turn.id).ok_or_else(|| {
        ClientError::Refused(Fault::new(ErrorCode::NotFound, "the session has nothing to copy"))
    })
}

/// Asks the person at the terminal. Without a terminal this is an error whose hint names `--yes`.
pub(super) async fn agreed(client: &Client, session: SessionId) -> Result<bool, ClientError> {
    let row: SessionRow = client.get_json(&format!("/v1/sessions/{session}")).await?;
    if !std::io::stdin().is_terminal() {
        return Err(ClientError::Refused(
            Fault::new(ErrorCode::ConfirmationRequired, "deleting a session cannot be undone")
                .with_hint("Confirm with --yes."),
        ));
    }
    output::aside(&row.line());
    output::question("Delete it permanently? [y/N] ");
    let mut answer = String::new();
    // No answer means no.
    let _ = tokio::task::block_in_place(|| std::io::stdin().read_line(&mut answer));
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn print(session: &Value, show: Show) -> Result<(), ClientError> {
    match show {
        Show::Json => output::json(session),
        Show::Words => {
            let row = SessionRow::deserialize(session)
                .map_err(|error| ClientError::unreadable(&error))?;
            output::line(&row.line());
        }
    }
    Ok(())
}
