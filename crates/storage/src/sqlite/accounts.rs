use async_trait::async_trait;
use onyx_types::{CredentialId, PersonId, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::{Accounts, CredentialRow, PersonRow, StoreError};

use super::convert::{hash, named, parsed, parsed_if_any, timestamp, unreadable};
use super::ledger::SqliteLedger;

#[async_trait]
impl Accounts for SqliteLedger {
    async fn changes(&self) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn people(&self) -> Result<Vec<PersonRow>, StoreError> {
        self.readers.read(people).await
    }

    async fn add_person(&self, row: PersonRow) -> Result<(), StoreError> {
        self.writer.write(move |connection| add_person(connection, &row)).await
    }

    async fn remove_person(&self, person: &PersonId) -> Result<(), StoreError> {
        let person = person.clone();
        self.writer.write(move |connection| remove_person(connection, &person)).await
    }

    async fn passwords(&self) -> Result<Vec<(PersonId, String)>, StoreError> {
        self.readers.read(passwords).await
    }

    async fn set_password(&self, person: &PersonId, hash: String) -> Result<(), StoreError> {
        let person = person.clone();
        self.writer.write(move |connection| set_password(connection, &person, &hash)).await
    }

    async fn remove_password(&self, person: &PersonId) -> Result<(), StoreError> {
        let person = person.clone();
        self.writer.write(move |connection| remove_password(connection, &person)).await
    }

    async fn credentials(&self) -> Result<Vec<CredentialRow>, StoreError> {
        self.readers.read(credentials).await
    }

    async fn put_credential(&self, row: CredentialRow) -> Result<(), StoreError> {
        self.writer.write(move |connection| put_credential(connection, &row)).await
    }

    async fn remove_credentials(&self, ids: &[CredentialId]) -> Result<(), StoreError> {
        let ids = ids.to_vec();
        self.writer.write(move |connection| remove_credentials(connection, &ids)).await
    }
}

fn people(connection: &Connection) -> Result<Vec<PersonRow>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT person, name, role, added_at FROM people ORDER BY person")?;
    let rows = statement.query_map([], |row| {
        Ok(PersonRow {
            person: parsed(row, 0)?,
            name: row.get(1)?,
            role: named(row, 2)?,
            added_at: timestamp(row, 3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn add_person(connection: &Connection, row: &PersonRow) -> Result<(), StoreError> {
    let added = connection
        .prepare_cached(
            "INSERT INTO people (person, name, role, added_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            row.person.as_str(),
            row.name,
            row.role.as_str(),
            row.added_at.as_millis()
        ])?;
    if added == 0 { Err(StoreError::Conflict) } else { Ok(()) }
}

fn remove_person(connection: &Connection, person: &PersonId) -> Result<(), StoreError> {
    let removed = connection
        .prepare_cached("DELETE FROM people WHERE person = ?1")?
        .execute([person.as_str()])?;
    if removed == 0 {
        return Err(StoreError::NotFound);
    }
    remove_password(connection, person)?;
    let theirs: Vec<_> = credentials(connection)?
        .into_iter()
        .filter(|row| row.people.first() == Some(person))
        .map(|row| row.credential)
        .collect();
    remove_credentials(connection, &theirs)
}

fn passwords(connection: &Connection) -> Result<Vec<(PersonId, String)>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT person, hash FROM passwords ORDER BY person")?;
    let rows = statement.query_map([], |row| Ok((parsed(row, 0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn set_password(connection: &Connection, person: &PersonId, hash: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO passwords (person, hash) VALUES (?1, ?2)")?
        .execute(params![person.as_str(), hash])?;
    Ok(())
}

fn remove_password(connection: &Connection, person: &PersonId) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM passwords WHERE person = ?1")?
        .execute([person.as_str()])?;
    Ok(())
}

fn credentials(connection: &Connection) -> Result<Vec<CredentialRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT credential, kind, people, name, hash, grants, parent, created_at, expires_at
         FROM credentials ORDER BY credential",
    )?;
    let rows = statement.query_map([], credential_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn credential_row(row: &Row<'_>) -> rusqlite::Result<CredentialRow> {
    let people = row.get_ref(2)?.as_str()?.split_whitespace().map(str::parse);
    let people = people.collect::<Result<_, onyx_types::IdError>>();
    let expires_at: Option<i64> = row.get(8)?;
    Ok(CredentialRow {
        credential: parsed(row, 0)?,
        kind: named(row, 1)?,
        people: people.map_err(|error| unreadable(2, error))?,
        name: row.get(3)?,
        hash: hash(row, 4)?,
        grants: parsed(row, 5)?,
        parent: parsed_if_any(row, 6)?,
        created_at: timestamp(row, 7)?,
        expires_at: expires_at.map(Timestamp::from_millis),
    })
}

fn put_credential(connection: &Connection, row: &CredentialRow) -> Result<(), StoreError> {
    let people: Vec<_> = row.people.iter().map(PersonId::as_str).collect();
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO credentials
                 (credential, kind, people, name, hash, grants, parent, created_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            row.credential.to_string(),
            row.kind.as_str(),
            people.join(" "),
            row.name,
            row.hash.to_string(),
            row.grants.to_string(),
            row.parent.map(|parent| parent.to_string()),
            row.created_at.as_millis(),
            row.expires_at.map(Timestamp::as_millis),
        ])?;
    Ok(())
}

fn remove_credentials(connection: &Connection, ids: &[CredentialId]) -> Result<(), StoreError> {
    let mut statement =
        connection.prepare_cached("DELETE FROM credentials WHERE credential = ?1")?;
    for id in ids {
        statement.execute([id.to_string()])?;
    }
    Ok(())
}
