use async_trait::async_trait;
use onyx_types::PersonId;
use rusqlite::{Connection, params};

use crate::{Acceptance, AcceptanceKind, Acceptances, AuditEntry, StoreError};

use super::audit;
use super::convert::{hash, named, parsed, timestamp};
use super::ledger::SqliteLedger;

#[async_trait]
impl Acceptances for SqliteLedger {
    async fn accepted(
        &self,
        person: &PersonId,
        kind: AcceptanceKind,
    ) -> Result<Vec<Acceptance>, StoreError> {
        let person = person.clone();
        self.readers.read(move |connection| of(connection, &person, kind)).await
    }

    async fn accept(&self, rows: Vec<Acceptance>, entry: AuditEntry) -> Result<(), StoreError> {
        let witnesses = self.witnesses.clone();
        let write = move |connection: &Connection| {
            put(connection, &rows)?;
            audit::append(connection, entry, witnesses.seal())
        };
        let row = self.writer.write(write).await?;
        self.witnesses.tell(&row);
        Ok(())
    }

    async fn withdraw(
        &self,
        person: &PersonId,
        kind: AcceptanceKind,
        names: Vec<String>,
        entry: AuditEntry,
    ) -> Result<(), StoreError> {
        let (person, witnesses) = (person.clone(), self.witnesses.clone());
        let write = move |connection: &Connection| {
            remove(connection, &person, kind, &names)?;
            audit::append(connection, entry, witnesses.seal())
        };
        let row = self.writer.write(write).await?;
        self.witnesses.tell(&row);
        Ok(())
    }
}

fn of(
    connection: &Connection,
    person: &PersonId,
    kind: AcceptanceKind,
) -> Result<Vec<Acceptance>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT person, kind, name, hash, content, accepted_at
         FROM acceptances WHERE person = ?1 AND kind = ?2 ORDER BY name",
    )?;
    let rows = statement.query_map(params![person.as_str(), kind.as_str()], |row| {
        Ok(Acceptance {
            person: parsed(row, 0)?,
            kind: named(row, 1)?,
            name: row.get(2)?,
            hash: hash(row, 3)?,
            content: row.get(4)?,
            accepted_at: timestamp(row, 5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn put(connection: &Connection, rows: &[Acceptance]) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO acceptances (person, kind, name, hash, content, accepted_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for row in rows {
        statement.execute(params![
            row.person.as_str(),
            row.kind.as_str(),
            row.name,
            row.hash.to_string(),
            row.content,
            row.accepted_at.as_millis(),
        ])?;
    }
    Ok(())
}

fn remove(
    connection: &Connection,
    person: &PersonId,
    kind: AcceptanceKind,
    names: &[String],
) -> Result<(), StoreError> {
    let mut statement = connection
        .prepare_cached("DELETE FROM acceptances WHERE person = ?1 AND kind = ?2 AND name = ?3")?;
    for name in names {
        statement.execute(params![person.as_str(), kind.as_str(), name])?;
    }
    Ok(())
}
