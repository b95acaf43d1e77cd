//! Checks whether the disk can be written to, and whether the object store can be used. Anyone may call
//! `/ready`, so each check runs at most every few seconds, and one at a time.

use std::path::PathBuf;
use std::time::Duration;

use onyx_storage::{Membership, ServerError};
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

/// How long a successful check of the object store counts. Some stores charge for the requests of a
/// check.
const STORE_WORKS_FOR: Duration = Duration::from_secs(10);
/// How long a check of the object store may take.
const STORE_PATIENCE: Duration = Duration::from_secs(5);

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
