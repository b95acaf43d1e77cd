//! Checks whether the disk can be written to. Anyone may call `/ready`, so the check runs at most every few
//! seconds, and one at a time.

use std::path::PathBuf;
use std::time::Duration;

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
        // A whole block is written, because less may find room where nothing else does.
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
