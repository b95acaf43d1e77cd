//! Notices edits of `onyx.json` and `.env`, by whatever way an editor makes them.

use std::ffi::OsStr;
use std::time::Duration;

use anyhow::{Context, Result};
use notify::{EventKind, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use crate::home::HomeFolder;

/// Editors write in several steps; the file is read when they have been quiet for so long.
const QUIET: Duration = Duration::from_millis(150);

/// Tells of edits. Dropping it ends the watch.
pub(crate) struct ConfigWatch {
    edits: mpsc::Receiver<()>,
    _watcher: notify::RecommendedWatcher,
}

/// Watches the folder, not the files: an atomic rename puts a new file in the place of the old.
pub(crate) fn watch(home: &HomeFolder) -> Result<ConfigWatch> {
    let names = [home.config(), home.dotenv()].map(|path| path.file_name().map(OsStr::to_owned));
    let (told, edits) = mpsc::channel(1);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let concerns = match event {
            Ok(event) => {
                !matches!(event.kind, EventKind::Access(_))
                    && event
                        .paths
                        .iter()
                        .any(|path| names.iter().any(|name| name.as_deref() == path.file_name()))
            }
            // Events were lost: perhaps the one that matters.
            Err(_) => true,
        };
        if concerns {
            // Full means that an edit is waiting to be looked at already.
            let _ = told.try_send(());
        }
    })
    .context("cannot watch files")?;
    watcher
        .watch(home.path(), RecursiveMode::NonRecursive)
        .with_context(|| format!("cannot watch {}", home.path().display()))?;
    Ok(ConfigWatch { edits, _watcher: watcher })
}

impl ConfigWatch {
    /// Returns after an edit, when it has settled.
    pub(crate) async fn edited(&mut self) {
        if self.edits.recv().await.is_none() {
            // The watcher is gone; there is nothing to tell any more.
            std::future::pending::<()>().await;
        }
        while tokio::time::timeout(QUIET, self.edits.recv()).await.is_ok_and(|edit| edit.is_some())
        {
        }
    }
}
