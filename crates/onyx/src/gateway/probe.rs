//! Checks whether the disk can be written to, and whether the database and the object store can be used.
//! Anyone may call `/ready`, so each check runs at most every few seconds, and one at a time.

use std::path::PathBuf;
use std::time::Duration;

use onyx_storage::{Membership, ServerError, Store};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::files;

const HOLDS_FOR: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct WriteProbe(Mutex<Option<(Instant, Result<(), String>)>>);

impl WriteProbe {
    /// Writes and syncs a small file; returns the disk's error.
    pub(super) async fn probe(&self, path: PathBuf) -> Result<(), String> {
        let mut last = self.0.lock().await;
        if let Some((at, found)) = &*last
            && at.elapsed() < HOLDS_FOR
        {
            return found.clone();
        }
        // A whole block is written, because a smaller write may succeed on a full disk.
        let text = "x".repeat(4096);
        let written = tokio::task::spawn_blocking(move || files::replace(&path, &text)).await;
        let found = match written {
            Ok(written) => written.map_err(|error| format!("it cannot be written: {error}")),
            Err(error) => Err(error.to_string()),
        };
        *last = Some((Instant::now(), found.clone()));
        found
    }
}

/// How long a check of the database counts.
const DATABASE_HOLDS_FOR: Duration = Duration::from_secs(1);
/// How long a check of the database may take. A proxy that asks `/ready` must get an answer even when
/// the database gives none.
const DATABASE_PATIENCE: Duration = Duration::from_secs(3);

#[derive(Default)]
pub(super) struct DatabaseProbe(Mutex<Option<(Instant, Result<(), String>)>>);

impl DatabaseProbe {
    /// Reads from the database and writes to it; returns why that is not possible.
    pub(super) async fn probe(&self, store: &Store, membership: &Membership) -> Result<(), String> {
        let mut last = self.0.lock().await;
        if let Some((at, found)) = &*last
            && at.elapsed() < DATABASE_HOLDS_FOR
        {
            return found.clone();
        }
        let used = async {
            store.ledger.active_runs().await?;
            // The report that this gateway is alive is a write.
            membership.beat().await
        };
        let found = match tokio::time::timeout(DATABASE_PATIENCE, used).await {
            Ok(used) => used.map_err(|error| error.to_string()),
            Err(_) => Err("the database: it does not answer".to_owned()),
        };
        *last = Some((Instant::now(), found.clone()));
        found
    }
}

/// How long a successful check of the object store counts. Some stores charge for the requests of a
/// check.
const STORE_WORKS_FOR: Duration = Duration::from_secs(10);
/// How long a check of the object store may take.
const STORE_PATIENCE: Duration = Duration::from_secs(3);

#[derive(Default)]
pub(super) struct ObjectsProbe(Mutex<Option<(Instant, Result<(), ServerError>)>>);

impl ObjectsProbe {
    /// Writes, reads, lists and deletes an object; returns why that is not possible.
    pub(super) async fn probe(&self, membership: &Membership) -> Result<(), ServerError> {
        let mut last = self.0.lock().await;
        if let Some((at, found)) = &*last {
            let holds_for = if found.is_ok() { STORE_WORKS_FOR } else { HOLDS_FOR };
            if at.elapsed() < holds_for {
                return found.clone();
            }
        }
        let asked = tokio::time::timeout(STORE_PATIENCE, membership.probe_objects()).await;
        let silent = || Err(ServerError::Objects("it does not answer".to_owned()));
        let found = asked.unwrap_or_else(|_| silent());
        *last = Some((Instant::now(), found.clone()));
        found
    }
}
