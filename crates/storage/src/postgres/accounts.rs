use async_trait::async_trait;
use deadpool_postgres::Transaction;
use onyx_types::{CredentialId, PersonId, Timestamp};
use tokio_postgres::Row;

use crate::{Accounts, CredentialRow, PersonRow, StoreError};

use super::connect::Database;
use super::convert::{
    count, get, hash, named, parsed, parsed_if_any, timestamp, timestamp_if_any, unreadable,
};
use super::query::{execute, read_all, row, rows};
use super::transaction::{TransactionError, transact};

#[derive(Clone, Debug)]
pub(crate) struct PostgresAccounts {
    database: Database,
}

impl PostgresAccounts {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }
}

#[async_trait]
impl Accounts for PostgresAccounts {
    async fn changes(&self) -> Result<u64, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT value FROM counters WHERE name = 'accounts'";
        count(&row(&client, select, &[]).await?, 0)
    }

    async fn people(&self) -> Result<Vec<PersonRow>, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT person, name, role, added_at FROM people ORDER BY person";
        read_all(&rows(&client, select, &[]).await?, person)
    }

    async fn add_person(&self, row: PersonRow) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            let added = execute(
                &transaction,
                "INSERT INTO people (person, name, role, added_at) VALUES ($1, $2, $3, $4)
                 ON CONFLICT DO NOTHING",
                &[&row.person.as_str(), &row.name, &row.role.as_str(), &row.added_at.as_millis()],
            )
            .await?;
            if added == 0 {
                return Err(StoreError::Conflict.into());
            }
            tell_others(&transaction).await
        })
    }

    async fn remove_person(&self, person: &PersonId) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            let person = person.as_str();
            let remove = "DELETE FROM people WHERE person = $1";
            if execute(&transaction, remove, &[&person]).await? == 0 {
                return Err(StoreError::NotFound.into());
            }
            execute(&transaction, "DELETE FROM passwords WHERE person = $1", &[&person]).await?;
            // A credential whose default person (the first in its list) is removed is deleted too.
            let credentials = "DELETE FROM credentials WHERE split_part(people, ' ', 1) = $1";
            execute(&transaction, credentials, &[&person]).await?;
            tell_others(&transaction).await
        })
    }

    async fn passwords(&self) -> Result<Vec<(PersonId, String)>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(&client, "SELECT person, hash FROM passwords ORDER BY person", &[]);
        read_all(&found.await?, |row| Ok((parsed(row, 0)?, get(row, 1)?)))
    }

    async fn set_password(&self, person: &PersonId, hash: String) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            let put = "INSERT INTO passwords (person, hash) VALUES ($1, $2)
                       ON CONFLICT (person) DO UPDATE SET hash = excluded.hash";
            execute(&transaction, put, &[&person.as_str(), &hash]).await?;
            tell_others(&transaction).await
        })
    }

    async fn remove_password(&self, person: &PersonId) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            let remove = "DELETE FROM passwords WHERE person = $1";
            execute(&transaction, remove, &[&person.as_str()]).await?;
            tell_others(&transaction).await
        })
    }

    async fn credentials(&self) -> Result<Vec<CredentialRow>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT credential, kind, people, name, hash, grants, parent, created_at, expires_at
             FROM credentials ORDER BY credential",
            &[],
        )
        .await?;
        read_all(&found, credential)
    }

    async fn put_credential(&self, row: CredentialRow) -> Result<(), StoreError> {
        let people: Vec<_> = row.people.iter().map(PersonId::as_str).collect();
        transact!(self.database, transaction => {
            execute(
                &transaction,
                "INSERT INTO credentials
                     (credential, kind, people, name, hash, grants, parent, created_at, expires_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                 ON CONFLICT (credential) DO UPDATE SET kind = excluded.kind,
                     people = excluded.people, name = excluded.name, hash = excluded.hash,
                     grants = excluded.grants, parent = excluded.parent,
                     created_at = excluded.created_at, expires_at = excluded.expires_at",
                &[
                    &row.credential.to_string(),
                    &row.kind.as_str(),
                    &people.join(" "),
                    &row.name,
                    &row.hash.to_string(),
                    &row.grants.to_string(),
                    &row.parent.map(|parent| parent.to_string()),
                    &row.created_at.as_millis(),
                    &row.expires_at.map(Timestamp::as_millis),
                ],
            )
            .await?;
            tell_others(&transaction).await
        })
    }

    async fn remove_credentials(&self, ids: &[CredentialId]) -> Result<(), StoreError> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        transact!(self.database, transaction => {
            let remove = "DELETE FROM credentials WHERE credential = ANY ($1)";
            execute(&transaction, remove, &[&ids]).await?;
            tell_others(&transaction).await
        })
    }
}

/// Raises the counter of account changes in the same transaction. Every gateway watches it, so none
/// lets in a person who was shut out.
async fn tell_others(transaction: &Transaction<'_>) -> Result<(), TransactionError> {
    let bump = "UPDATE counters SET value = value + 1 WHERE name = 'accounts'";
    execute(transaction, bump, &[]).await?;
    Ok(())
}

fn person(row: &Row) -> Result<PersonRow, StoreError> {
    Ok(PersonRow {
        person: parsed(row, 0)?,
        name: get(row, 1)?,
        role: named(row, 2)?,
        added_at: timestamp(row, 3)?,
    })
}

fn credential(row: &Row) -> Result<CredentialRow, StoreError> {
    let people: &str = get(row, 2)?;
    let people = people.split_whitespace().map(str::parse);
    let people = people.collect::<Result<_, onyx_types::IdError>>();
    Ok(CredentialRow {
        credential: parsed(row, 0)?,
        kind: named(row, 1)?,
        people: people.map_err(|error| unreadable(row, 2, &error))?,
        name: get(row, 3)?,
        hash: hash(row, 4)?,
        grants: parsed(row, 5)?,
        parent: parsed_if_any(row, 6)?,
        created_at: timestamp(row, 7)?,
        expires_at: timestamp_if_any(row, 8)?,
    })
}
