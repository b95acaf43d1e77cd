use std::path::Path;

use async_trait::async_trait;
use rusqlite::{Connection, params};

use crate::{SealedSecret, SealedSecrets, SecretId, StoreError};

use super::connection::open_reader;
use super::convert::{parsed, timestamp};
use super::ledger::SqliteLedger;

#[async_trait]
impl SealedSecrets for SqliteLedger {
    async fn secrets(&self) -> Result<Vec<SealedSecret>, StoreError> {
        self.readers.read(all).await
    }

    async fn put_secrets(&self, rows: Vec<SealedSecret>) -> Result<(), StoreError> {
        self.writer.write(move |connection| put(connection, &rows)).await
    }

    async fn remove_secret(&self, id: &SecretId) -> Result<(), StoreError> {
        let id = id.clone();
        self.writer.write(move |connection| remove(connection, &id)).await
    }
}

/// The secrets of a home that another process may be serving. They can be read but not changed.
#[derive(Debug)]
pub struct ReadOnlySecrets(Vec<SealedSecret>);

impl ReadOnlySecrets {
    pub fn read(database: &Path) -> Result<Self, StoreError> {
        if !database.exists() {
            return Ok(Self(Vec::new()));
        }
        Ok(Self(all(&open_reader(database)?)?))
    }
}

#[async_trait]
impl SealedSecrets for ReadOnlySecrets {
    async fn secrets(&self) -> Result<Vec<SealedSecret>, StoreError> {
        Ok(self.0.clone())
    }

    async fn put_secrets(&self, _rows: Vec<SealedSecret>) -> Result<(), StoreError> {
        Err(StoreError::Refused("these secrets are only read".to_owned()))
    }

    async fn remove_secret(&self, _id: &SecretId) -> Result<(), StoreError> {
        Err(StoreError::Refused("these secrets are only read".to_owned()))
    }
}

fn all(connection: &Connection) -> Result<Vec<SealedSecret>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT person, provider, name, key, nonce, sealed, updated_at
         FROM secrets ORDER BY person, provider, name",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(SealedSecret {
            id: SecretId { person: parsed(row, 0)?, provider: row.get(1)?, name: row.get(2)? },
            key: row.get(3)?,
            nonce: row.get(4)?,
            sealed: row.get(5)?,
            updated_at: timestamp(row, 6)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn put(connection: &Connection, rows: &[SealedSecret]) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO secrets (person, provider, name, key, nonce, sealed, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for row in rows {
        statement.execute(params![
            row.id.person.as_str(),
            row.id.provider,
            row.id.name,
            row.key,
            row.nonce,
            row.sealed,
            row.updated_at.as_millis(),
        ])?;
    }
    Ok(())
}

fn remove(connection: &Connection, id: &SecretId) -> Result<(), StoreError> {
    let removed = connection
        .prepare_cached("DELETE FROM secrets WHERE person = ?1 AND provider = ?2 AND name = ?3")?
        .execute(params![id.person.as_str(), id.provider, id.name])?;
    if removed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}
