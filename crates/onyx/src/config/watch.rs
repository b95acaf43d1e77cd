//! Notices edits of `onyx.json` and `.env`, in whichever way an editor writes files.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

use crate::home::HomeFolder;

/// Editors write in several steps, so the file is read only after it was quiet for this long.
const QUIET: Duration = Duration::from_millis(150);

/// The events by which an edit ends. Single writes are left out, because the database in the same
/// folder is written at every turn.
const EDITS: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ATTRIB);

/// A watch on the config files; dropping it ends the watch.
pub(crate) struct ConfigWatch {
    folder: AsyncFd<OwnedFd>,
    names: Vec<OsString>,
}

/// Watches the folder and not the files, because an atomic rename replaces the file.
pub(crate) fn watch(home: &HomeFolder) -> Result<ConfigWatch> {
    let folder = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
        .context("cannot watch files")?;
    inotify::add_watch(&folder, home.path(), EDITS)
        .with_context(|| format!("cannot watch {}", home.path().display()))?;
    let names = [home.config(), home.dotenv()];
    let names = names.iter().filter_map(|path| path.file_name()).map(OsStr::to_owned).collect();
    #[allow(deprecated, reason = "what it warns of cannot happen to a descriptor that is owned")]
    let folder = AsyncFd::new(folder).context("cannot watch files")?;
    Ok(ConfigWatch { folder, names })
}

impl ConfigWatch {
    /// Waits for an edit and until the file is quiet again.
    pub(crate) async fn edited(&mut self) {
        self.touched().await;
        while tokio::time::timeout(QUIET, self.touched()).await.is_ok() {}
    }

    async fn touched(&self) {
        loop {
            let Ok(mut ready) = self.folder.readable().await else {
                // The runtime is ending, so no edit can be reported any more.
                return std::future::pending().await;
            };
            let touched = self.read_events();
            ready.clear_ready();
            if touched {
                return;
            }
        }
    }

    /// Reads all waiting events. Returns whether one of them concerns the config files.
    fn read_events(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(self.folder.get_ref(), &mut buffer);
        let mut touched = false;
        loop {
            match events.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    touched |= self.names.iter().any(|ours| name == Some(ours));
                    // Events were lost, and one of them may have concerned the config files.
                    touched |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return touched,
                Err(error) => {
                    tracing::error!(%error, "edits of the config are not noticed any more");
                    return touched;
                }
            }
        }
    }
}
