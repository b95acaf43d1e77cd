//! Tasks as every gateway knows them. The gateway at which a call works writes its row again and
//! again; if that gateway dies, the row ends within seconds, and the client calls again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onyx_storage::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom, StoreError};
use onyx_types::{PersonId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::era::Era;

const POLL_MILLIS: u64 = 1_000;
/// How often a gateway says that a call still works, and looks whether it is to end.
pub(super) const BEAT: Duration = Duration::from_secs(2);
/// How long a row lasts that is not written again.
const ALIVE: Duration = Duration::from_secs(15);
/// How long to wait until the gateway of a task has ended it.
const CANCEL_PATIENCE: Duration = Duration::from_secs(6);
/// How often another gateway looks at a row that it waits for.
const LOOK: Duration = Duration::from_millis(500);
/// The rows of one person, with their results.
const ROOM: ShortLivedRoom = ShortLivedRoom { entries: 128, bytes: 32 * 1024 * 1024 };
const CANCELS: ShortLivedRoom = ShortLivedRoom::of_entries(128);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum State {
    Working,
    /// The result or the error of JSON-RPC that the request would have had.
    Over(Result<Value, Value>),
    Cancelled,
}

impl State {
    const fn word(&self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Over(Ok(_)) => "completed",
            Self::Over(Err(_)) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A task at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskRow {
    pub(super) id: String,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
    /// How long the task is kept after its creation.
    pub(super) life: Duration,
    pub(super) state: State,
}

impl TaskRow {
    pub(super) fn shown(&self, era: Era) -> Value {
        let (life, poll) = match era {
            Era::Handshake => ("ttl", "pollInterval"),
            Era::Stateless => ("ttlMs", "pollIntervalMs"),
        };
        let life_millis = u64::try_from(self.life.as_millis()).unwrap_or(u64::MAX);
        json!({
            "taskId": self.id,
            "status": self.state.word(),
            "createdAt": self.created.to_string(),
            "lastUpdatedAt": self.updated.to_string(),
            life: life_millis,
            poll: POLL_MILLIS,
        })
    }
}

/// The rows in the store that gateways share.
#[derive(Clone)]
pub(super) struct TaskRows(Arc<dyn ShortLived>);

impl TaskRows {
    pub(super) fn new(store: Arc<dyn ShortLived>) -> Self {
        Self(store)
    }

    /// Writes a row. What the store refuses is only known here: other gateways do not find it.
    pub(super) async fn write(&self, person: &PersonId, row: &TaskRow, left: Duration) {
        let left = match row.state {
            State::Working => ALIVE,
            State::Over(_) | State::Cancelled => left,
        };
        if let Err(error) = self.put(person, row, left).await {
            tracing::warn!(%error, "a task of an MCP client is known to this gateway only");
        }
    }

    async fn put(
        &self,
        person: &PersonId,
        row: &TaskRow,
        left: Duration,
    ) -> Result<(), StoreError> {
        let value = serde_json::to_string(row).map_err(|error| unreadable(&error))?;
        let entry = ShortLivedEntry::of(person, &row.id, value, left);
        self.0.put(ShortLivedKind::McpTask, entry, ROOM).await
    }

    pub(super) async fn find(
        &self,
        person: &PersonId,
        id: &str,
    ) -> Result<Option<TaskRow>, StoreError> {
        let key = ShortLivedEntry::key_of(person, id);
        let found = self.0.get(ShortLivedKind::McpTask, key).await?;
        found.map(|found| read(&found.value)).transpose()
    }

    /// The tasks of a person, the oldest first.
    pub(super) async fn list(&self, person: &PersonId) -> Result<Vec<TaskRow>, StoreError> {
        let rows = self.0.list(ShortLivedKind::McpTask, Some(person)).await?;
        rows.iter().map(|entry| read(&entry.value)).collect()
    }

    /// Does another gateway want the task to end?
    pub(super) async fn is_to_end(&self, person: &PersonId, id: &str) -> bool {
        let key = ShortLivedEntry::key_of(person, id);
        match self.0.get(ShortLivedKind::McpCancel, key).await {
            Ok(wish) => wish.is_some(),
            Err(error) => {
                tracing::warn!(%error, "whether a task is to end could not be read; asking again");
                false
            }
        }
    }

    /// Asks the gateway of a task to end it, and waits until it has. `None`: the task is gone.
    pub(super) async fn cancel(
        &self,
        person: &PersonId,
        id: &str,
    ) -> Result<Option<TaskRow>, StoreError> {
        let wish = ShortLivedEntry::of(person, id, String::new(), ALIVE);
        self.0.put(ShortLivedKind::McpCancel, wish, CANCELS).await?;
        let begun = Instant::now();
        loop {
            let row = self.find(person, id).await?;
            let works = row.as_ref().is_some_and(|row| row.state == State::Working);
            if !works || begun.elapsed() > CANCEL_PATIENCE {
                return Ok(row);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until a task of another gateway is over. `None`: the task is gone.
    pub(super) async fn ended(
        &self,
        person: &PersonId,
        id: &str,
    ) -> Result<Option<TaskRow>, StoreError> {
        loop {
            let row = self.find(person, id).await?;
            if row.as_ref().is_none_or(|row| row.state != State::Working) {
                return Ok(row);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn read(text: &str) -> Result<TaskRow, StoreError> {
    serde_json::from_str(text).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> StoreError {
    StoreError::Failed(format!("a task of an MCP client is not understood: {error}"))
}
