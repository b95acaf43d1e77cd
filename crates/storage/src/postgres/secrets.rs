use async_trait::async_trait;
use deadpool_postgres::Transaction;
use tokio_postgres::Row;

use crate::{SealedSecret, SealedSecrets, SecretId, StoreError};

use super::connect::Database;
use super::convert::{get, parsed, timestamp};
use super::query::{execute, read_all, rows};
use super::transaction::{TransactionError, transact};

#[derive(Clone, Debug)]
pub(crate) struct PostgresSecrets {
    database: Database,
}

impl PostgresSecrets {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }
}

#[async_trait]
impl SealedSecrets for PostgresSecrets {
    async fn secrets(&self) -> Result<Vec<SealedSecret>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT person, provider, name, key, nonce, sealed, updated_at
             FROM secrets ORDER BY person, provider, name",
            &[],
        )
        .await?;
        read_all(&found, secret)
    }

    async fn put_secrets(&self, secrets: Vec<SealedSecret>) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            for row in &secrets {
                execute(
                    &transaction,
                    "INSERT INTO secrets (person, provider, name, key, nonce, sealed, updated_at)
                     VALUES ($1, $2, $3, $4, $5, $6, $7)
                     ON CONFLICT (person, provider, name) DO UPDATE SET key = excluded.key,
                         nonce = excluded.nonce, sealed = excluded.sealed,
                         updated_at = excluded.updated_at",
                    &[
                        &row.id.person.as_str(),
                        &row.id.provider,
                        &row.id.name,
                        &row.key,
                        &row.nonce,
                        &row.sealed,
                        &row.updated_at.as_millis(),
                    ],
                )
                .await?;
            }
            tell_others(&transaction).await
        })
    }

    async fn remove_secret(&self, id: &SecretId) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            let removed = execute(
                &transaction,
                "DELETE FROM secrets WHERE person = $1 AND provider = $2 AND name = $3",
                &[&id.person.as_str(), &id.provider, &id.name],
            )
            .await?;
            if removed == 0 {
                return Err(StoreError::NotFound.into());
            }
            tell_others(&transaction).await
        })
    }
}

/// Raises the counter of changes to secrets in the same transaction. Every gateway watches it and
/// reads the secrets again.
async fn tell_others(transaction: &Transaction<'_>) -> Result<(), TransactionError> {
    let bump = "UPDATE counters SET value = value + 1 WHERE name = 'secrets'";
    execute(transaction, bump, &[]).await?;
    Ok(())
}

fn secret(row: &Row) -> Result<SealedSecret, StoreError> {
    Ok(SealedSecret {
        id: SecretId { person: parsed(row, 0)?, provider: get(row, 1)?, name: get(row, 2)? },
        key: get(row, 3)?,
        nonce: get(row, 4)?,
        sealed: get(row, 5)?,
        updated_at: timestamp(row, 6)?,
    })
}
