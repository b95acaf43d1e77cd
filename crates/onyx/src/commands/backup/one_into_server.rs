//! Restores one conversation or one file into server mode, even while gateways run. Nothing is overwritten: where
//! the name is taken, the copy gets another one.

use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use onyx_backup::{BackupPlace, Passphrase, SnapshotSession, read_file, read_session};
use onyx_storage::{ServerAdditions, ServerSettings};
use onyx_types::{Clock as _, ErrorCode, Fault, IdGenerator, SessionId, SystemClock};

use super::super::reindex;
use super::restore::{random_seed, source, tell_session};
use super::waiting;
use crate::exit::Exit;
use crate::home::HomeFolder;
use crate::output;

pub(super) struct OneIntoServer<'a> {
    pub(super) settings: &'a ServerSettings,
    pub(super) from: BackupPlace,
    pub(super) snapshot: Option<String>,
    pub(super) passphrase: Option<Passphrase>,
}

impl OneIntoServer<'_> {
    pub(super) async fn session(self, home: &HomeFolder, session: SessionId) -> Result<Exit> {
        let (from, snapshot, passphrase) = (self.from, self.snapshot, self.passphrase);
        let read = waiting(move || {
            read_session(source(&from, snapshot.as_deref(), passphrase.as_ref()), session)
        });
        let read = read.await?;
        let server = ServerAdditions::open(self.settings).await.map_err(Fault::from)?;
        let restored = if add_session(&server, &read, session).await? {
            session
        } else {
            let copy = IdGenerator::new(random_seed()?).session(SystemClock::new().wall());
            if !add_session(&server, &read, copy).await? {
                let message = "the conversation exists already, and so does one with the new id";
                return Err(Fault::new(ErrorCode::Internal, message).into());
            }
            copy
        };
        tell_session(session, restored, &read.snapshot);
        // The reindex enters the restored log in the ledger.
        reindex::run(home).await
    }

    pub(super) async fn file(self, path: &Path) -> Result<Exit> {
        let (from, snapshot, passphrase) = (self.from, self.snapshot, self.passphrase);
        let asked = path.to_owned();
        let read = waiting(move || {
            read_file(source(&from, snapshot.as_deref(), passphrase.as_ref()), &asked)
        });
        let read = read.await?;
        let server = ServerAdditions::open(self.settings).await.map_err(Fault::from)?;
        for path in read.paths() {
            if add_file(&server, &path, &read.content, read.modified).await? {
                output::line(&format!(
                    "{} is restored from snapshot {}.",
                    path.display(),
                    read.snapshot
                ));
                return Ok(Exit::Done);
            }
        }
        let message = format!("there is no free file name beside {}", path.display());
        Err(Fault::new(ErrorCode::InvalidRequest, message).into())
    }
}

/// Restores the files beside the log first, because a conversation exists as soon as its log does.
async fn add_session(
    server: &ServerAdditions,
    read: &SnapshotSession,
    session: SessionId,
) -> Result<bool> {
    let log = text(&read.path(session))?.to_owned();
    if let Some((path, details)) = read.details(session) {
        // An object that exists already belongs to this conversation, deleted or not, and is kept.
        add_file(server, &path, &details, read.modified).await?;
    }
    Ok(server.add_log(&log, &read.log).await.map_err(Fault::from)?)
}

async fn add_file(
    server: &ServerAdditions,
    path: &Path,
    content: &[u8],
    modified: SystemTime,
) -> Result<bool> {
    let added = server.add_file(text(path)?, content.to_owned(), modified).await;
    Ok(added.map_err(Fault::from)?)
}

fn text(path: &Path) -> Result<&str> {
    let message = || format!("{} is not a valid name in an object store", path.display());
    let text = path.to_str().ok_or_else(|| Fault::new(ErrorCode::InvalidRequest, message()));
    Ok(text?)
}
