//! `/api/admin/*`: for the owner.

pub(super) mod config;
pub(super) mod logins;
pub(super) mod models;
pub(super) mod providers;
pub(super) mod usage;

use axum::Json;
use axum::extract::State;
use onyx_storage::rebuild_person;
use onyx_types::Fault;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{ApiState, Problem};

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reindexed {
    sessions: u64,
    /// Logs with lines that cannot be read; the rest of them was.
    damaged: u64,
    /// Files that were read for the index, and how many of them held something new.
    files: u64,
    changed: u64,
}

/// Makes everything derived anew from the files.
pub(super) async fn reindex(State(state): State<ApiState>) -> Result<Json<Reindexed>, Problem> {
    let mut all = Reindexed { sessions: 0, damaged: 0, files: 0, changed: 0 };
    for person in state.store.files.people().map_err(Fault::from)? {
        let store = &state.store;
        let rebuilt = rebuild_person(&*store.turns, &*store.ledger, &*store.files, &person)
            .await
            .map_err(Fault::from)?;
        all.sessions += rebuilt.sessions;
        all.damaged += rebuilt.damaged;
    }
    let read = state.index.rebuild().await.map_err(Fault::from)?;
    (all.files, all.changed) = (read.checked, read.indexed + read.removed);
    Ok(Json(all))
}
