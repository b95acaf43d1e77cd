//! Messages that were sent to a run in progress and that no run has read yet, for instance because
//! it was stopped: they are shown until the person sends or discards them.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use onyx_storage::InboxRow;
use onyx_types::{Timestamp, TurnId, UserContent};
use schemars::JsonSchema;
use serde::Serialize;

use super::session_id;
use crate::wire::Json;
use crate::{ApiState, AuthContext, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct QueuedMessages {
    /// In the order in which they were sent.
    messages: Vec<QueuedMessage>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct QueuedMessage {
    /// The message's turn in the log, once a run has read it.
    id: TurnId,
    /// A text, or parts as in `chat.send`.
    #[schemars(with = "serde_json::Value")]
    content: UserContent,
    received_at: Timestamp,
}

impl From<InboxRow> for QueuedMessage {
    fn from(row: InboxRow) -> Self {
        Self { id: row.turn, content: row.words.content, received_at: row.received_at }
    }
}

pub(in crate::routes) async fn list(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
) -> Result<Json<QueuedMessages>, Problem> {
    let rows = state.agent.runs.queued(&caller.person, session_id(&id)?).await?;
    Ok(Json(QueuedMessages { messages: rows.into_iter().map(QueuedMessage::from).collect() }))
}

pub(in crate::routes) async fn discard(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path((id, message)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let message = message.parse().map_err(|error| Problem::field("message", error))?;
    state.agent.runs.discard_queued(&caller.person, session_id(&id)?, message).await?;
    Ok(StatusCode::NO_CONTENT)
}
