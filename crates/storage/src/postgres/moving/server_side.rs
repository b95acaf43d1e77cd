//! The database and the object store of a move, and the mark that keeps gateways away meanwhile.

use std::path::Path;

use onyx_types::{Clock as _, Hash, SystemClock};

use super::MoveError;
use crate::postgres::connect::Database;
use crate::postgres::convert::get;
use crate::postgres::files::Blobs;
use crate::postgres::gateway::{list_gateways, read_shared_config};
use crate::postgres::query::{execute, row, row_if_any};
use crate::postgres::schema::inspect_database;
use crate::s3::Bucket;
use crate::{DatabaseUrl, ServerSettings, StoreError};

/// The name of the mark in the table `agreed`.
const MARK: &str = "moving";
/// The value of the mark while the server is read into a home. While it is filled, the value is the
/// hash of the home's path.
const READING: &str = "out";

/// Whether a move in or out is in progress. Every gateway asks this after it has registered. A move
/// sets its mark first and looks for gateways afterwards, so one of the two always notices the
/// other.
pub(crate) async fn half_moved(database: &Database) -> Result<bool, StoreError> {
    let client = database.client().await?;
    let marked = "SELECT 1 FROM agreed WHERE name = $1";
    Ok(row_if_any(&client, marked, &[&MARK]).await?.is_some())
}

#[derive(Debug)]
pub(super) struct ServerSide {
    pub(super) database: Database,
    pub(super) blobs: Blobs,
    url: DatabaseUrl,
}

impl ServerSide {
    pub(super) async fn open(settings: &ServerSettings) -> Result<Self, MoveError> {
        let now = SystemClock::new().wall();
        inspect_database(&settings.database, now, settings.clock_slack).await?;
        let bucket = Bucket::new(settings.objects.clone(), &settings.s3)?;
        bucket.probe("move").await?;
        let database = Database::new(&settings.database)?;
        let blobs = Blobs::new(database.clone(), bucket);
        Ok(Self { database, blobs, url: settings.database.clone() })
    }

    async fn no_gateway_works(&self) -> Result<(), MoveError> {
        let alive = list_gateways(&self.url).await?.into_iter().filter(|row| row.is_alive);
        let alive: Vec<String> = alive.map(|row| row.id).collect();
        if alive.is_empty() { Ok(()) } else { Err(MoveError::Serving(alive.join(", "))) }
    }

    /// Marks the database as incompletely filled from this home.
    pub(super) async fn mark_filling(&self, home: &Path) -> Result<(), MoveError> {
        let from = Hash::of(home.as_os_str().as_encoded_bytes()).to_string();
        if self.marked().await?.is_some_and(|mark| mark == from) {
            return self.no_gateway_works().await;
        }
        let anything = "SELECT EXISTS (SELECT 1 FROM people) OR EXISTS (SELECT 1 FROM files)
                            OR EXISTS (SELECT 1 FROM session_log) OR EXISTS (SELECT 1 FROM sessions)
                            OR EXISTS (SELECT 1 FROM config_versions)
                            OR EXISTS (SELECT 1 FROM agreed WHERE name = $1)";
        let client = self.database.client().await?;
        let anything = row(&client, anything, &[&MARK]).await.map_err(StoreError::from)?;
        drop(client);
        if get(&anything, 0)? {
            return Err(MoveError::NotEmpty("the database"));
        }
        self.mark(&from).await
    }

    pub(super) async fn mark_reading(&self) -> Result<(), MoveError> {
        match self.marked().await? {
            Some(mark) if mark == READING => self.no_gateway_works().await?,
            // The database holds only part of a home, so it must not be read.
            Some(_) => return Err(MoveError::NotEmpty("the database, where a move was cut off,")),
            None => self.mark(READING).await?,
        }
        let client = self.database.client().await?;
        let open = "SELECT EXISTS (SELECT 1 FROM runs WHERE status IS NULL)";
        let open: bool = get(&row(&client, open, &[]).await.map_err(StoreError::from)?, 0)?;
        drop(client);
        if open {
            self.unmark_reading().await?;
            return Err(MoveError::OpenRuns);
        }
        Ok(())
    }

    async fn marked(&self) -> Result<Option<String>, MoveError> {
        let client = self.database.client().await?;
        let select = "SELECT value FROM agreed WHERE name = $1";
        let found = row_if_any(&client, select, &[&MARK]).await.map_err(StoreError::from)?;
        Ok(found.map(|row| get(&row, 0)).transpose()?)
    }

    async fn mark(&self, value: &str) -> Result<(), MoveError> {
        let client = self.database.client().await?;
        let mark = "INSERT INTO agreed (name, value) VALUES ($1, $2)";
        execute(&client, mark, &[&MARK, &value]).await.map_err(StoreError::from)?;
        drop(client);
        let nobody = self.no_gateway_works().await;
        if nobody.is_err() {
            self.unmark().await?;
        }
        nobody
    }

    pub(super) async fn unmark(&self) -> Result<(), MoveError> {
        let client = self.database.client().await?;
        let unmark = "DELETE FROM agreed WHERE name = $1";
        execute(&client, unmark, &[&MARK]).await.map_err(StoreError::from)?;
        Ok(())
    }

    /// Removes the mark of reading. A database that is only partly filled stays marked.
    pub(super) async fn unmark_reading(&self) -> Result<(), MoveError> {
        let client = self.database.client().await?;
        let unmark = "DELETE FROM agreed WHERE name = $1 AND value = $2";
        execute(&client, unmark, &[&MARK, &READING]).await.map_err(StoreError::from)?;
        Ok(())
    }

    pub(super) async fn config(&self) -> Result<Option<String>, MoveError> {
        Ok(read_shared_config(&self.url).await?.map(|config| config.text))
    }

    /// Writes the first version of the config, from which all gateways continue.
    pub(super) async fn put_config(&self, text: Option<&str>) -> Result<(), MoveError> {
        let Some(text) = text else { return Ok(()) };
        let client = self.database.client().await?;
        let put = "INSERT INTO config_versions (version, text, gateway) VALUES (1, $1, '')
                   ON CONFLICT (version) DO UPDATE SET text = excluded.text";
        execute(&client, put, &[&text]).await.map_err(StoreError::from)?;
        Ok(())
    }
}
