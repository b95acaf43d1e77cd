//! Moves everything from a home into server mode, or back: logs and files byte for byte, ledgers
//! row by row. What was moved is read again and compared before the move counts as done. A move
//! that was cut off continues when the command is run again; until then, no gateway can serve the
//! incomplete data.

mod additions;
mod disk;
mod error;
mod files;
mod ledger;
mod logs;
mod server_copy;
mod server_side;

use std::sync::Arc;

use super::connect::Database;
use super::secrets::PostgresSecrets;
use crate::{Home, SealedSecret, SealedSecrets, ServerError, ServerSettings};

pub use additions::ServerAdditions;
use disk::HomeContents;
pub use error::MoveError;
use files::Content;
pub use server_copy::{CopiedContent, CopiedFile, CopiedLog, ServerCopy};
use server_side::ServerSide;
pub(crate) use server_side::half_moved;

/// Counts of what was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoveCounts {
    pub logs: u64,
    pub files: u64,
    pub rows: u64,
    pub bytes: u64,
    /// How many of the logs and files had been moved by an earlier try.
    pub already_there: u64,
    /// How many links and files with names that are not UTF-8 were left out; they stay where they
    /// are.
    pub left_out: u64,
}

/// Data that needs another form at the destination.
#[derive(Debug, Default)]
pub struct MoveExtras {
    /// The secrets, sealed with a key of the destination.
    pub secrets: Vec<SealedSecret>,
    /// The `onyx.json` for the destination.
    pub config: Option<String>,
    pub open_runs: OpenRuns,
}

/// What to do with runs whose end is not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpenRuns {
    #[default]
    Refused,
    /// Open runs are moved too, and the first gateway ends them as interrupted. This is for a
    /// backup that was taken while they ran.
    TakenAlong,
}

/// The secrets of a server, in their sealed form.
pub fn server_secrets(settings: &ServerSettings) -> Result<Arc<dyn SealedSecrets>, ServerError> {
    let database = Database::new(&settings.database)?;
    Ok(Arc::new(PostgresSecrets::new(database)))
}

/// A server on which no gateway works, and on which none can begin to work until the move is
/// finished.
#[derive(Debug)]
pub struct MovingServer {
    side: ServerSide,
}

impl MovingServer {
    /// Opens a server to fill it from a home. `NotEmpty` if it holds anything else.
    pub async fn to_be_filled(settings: &ServerSettings, from: &Home) -> Result<Self, MoveError> {
        let side = ServerSide::open(settings).await?;
        side.mark_filling(from.paths().root()).await?;
        Ok(Self { side })
    }

    /// Opens a server to read it into a home.
    pub async fn to_be_read(settings: &ServerSettings) -> Result<Self, MoveError> {
        let side = ServerSide::open(settings).await?;
        side.mark_reading().await?;
        Ok(Self { side })
    }

    /// The secrets of the server, in their sealed form.
    pub fn secrets(&self) -> Arc<dyn SealedSecrets> {
        Arc::new(PostgresSecrets::new(self.side.database.clone()))
    }

    /// The shared `onyx.json` of the gateways.
    pub async fn config(&self) -> Result<Option<String>, MoveError> {
        self.side.config().await
    }

    /// Moves everything from a home to the server. This process must own the home.
    pub async fn fill(&self, home: &Home, extras: &MoveExtras) -> Result<MoveCounts, MoveError> {
        let server = &self.side;
        let root = home.paths().root().to_owned();
        let tables = ledger::of_home(&home.paths().database()).await?.with_secrets(&extras.secrets);
        if tables.has_open_runs() && extras.open_runs == OpenRuns::Refused {
            return Err(MoveError::OpenRuns);
        }
        let found = disk::of_home(&root)?;
        let mut moved = MoveCounts { left_out: found.left_out, ..MoveCounts::default() };
        for name in &found.files {
            files::into_server(server, name, &disk::content(&root.join(name))?, &mut moved).await?;
        }
        for (key, path) in &found.logs {
            logs::into_server(server, key, &disk::read(path)?, &mut moved).await?;
        }
        ledger::into_server(server, &tables).await?;
        server.put_config(extras.config.as_deref()).await?;
        moved.rows = tables.rows();
        compare_contents(server, home, &found).await?;
        tables.same_as(&ledger::of_server(&server.database.client().await?).await?)?;
        server.unmark().await?;
        Ok(moved)
    }

    /// Moves everything from the server into an empty home. This process must own the home.
    pub async fn read_into(
        &self,
        home: &Home,
        extras: &MoveExtras,
    ) -> Result<MoveCounts, MoveError> {
        let server = &self.side;
        let root = home.paths().root().to_owned();
        disk::mark(home)?;
        let mut moved = MoveCounts::default();
        for key in logs::of_server(server).await? {
            let bytes = logs::bytes(&server.database.client().await?, &server.blobs, &key).await?;
            disk::write(&root.join(logs::path(&key)), &bytes, None, &mut moved)?;
            moved.logs += 1;
        }
        for name in files::of_server(server).await? {
            let Content { bytes, modified } = files::content(server, &name).await?;
            disk::write(&root.join(&name), &bytes, Some(modified), &mut moved)?;
            moved.files += 1;
        }
        let there = ledger::of_server(&server.database.client().await?).await?;
        let there = there.with_secrets(&extras.secrets);
        ledger::into_home(&home.paths().database(), &there).await?;
        moved.rows = there.rows();
        ledger::of_home(&home.paths().database()).await?.same_as(&there)?;
        compare_contents(server, home, &disk::of_home(&root)?).await?;
        if let Some(text) = &extras.config {
            disk::write(&home.paths().config(), text.as_bytes(), None, &mut MoveCounts::default())?;
        }
        disk::unmark(home)?;
        server.unmark().await?;
        Ok(moved)
    }

    /// Cancels the reading of a server, so that gateways may work on it again.
    pub async fn cancel_reading(&self) -> Result<(), MoveError> {
        self.side.unmark_reading().await
    }
}

/// Checks that both sides hold the same logs and files, byte for byte.
async fn compare_contents(
    server: &ServerSide,
    home: &Home,
    found: &HomeContents,
) -> Result<(), MoveError> {
    let keys: Vec<_> = found.logs.iter().map(|(key, _)| key.clone()).collect();
    if logs::of_server(server).await? != keys {
        return Err(MoveError::Different("the list of conversations".to_owned()));
    }
    for (key, path) in &found.logs {
        if logs::bytes(&server.database.client().await?, &server.blobs, key).await?
            != logs::whole_lines(&disk::read(path)?)
        {
            return Err(MoveError::Different(path.display().to_string()));
        }
    }
    if files::of_server(server).await? != found.files {
        return Err(MoveError::Different("the list of files".to_owned()));
    }
    for name in &found.files {
        let here = disk::read(&home.paths().root().join(name))?;
        if files::content(server, name).await?.bytes != here {
            return Err(MoveError::Different(name.clone()));
        }
    }
    Ok(())
}
