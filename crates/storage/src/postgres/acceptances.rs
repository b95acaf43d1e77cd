use async_trait::async_trait;
use onyx_types::PersonId;
use tokio_postgres::Row;

use crate::{Acceptance, AcceptanceKind, Acceptances, AuditEntry, StoreError};

use super::audit::AuditChains;
use super::connect::Database;
use super::convert::{get, hash, named, parsed, shown, timestamp};
use super::query::{execute, read_all, rows};
use super::transaction::transact;

#[derive(Clone, Debug)]
pub(crate) struct PostgresAcceptances {
    database: Database,
    audit: AuditChains,
}

impl PostgresAcceptances {
    pub(crate) fn new(database: Database, audit: AuditChains) -> Self {
        Self { database, audit }
    }
}

#[async_trait]
impl Acceptances for PostgresAcceptances {
    async fn accepted(
        &self,
        person: &PersonId,
        kind: AcceptanceKind,
    ) -> Result<Vec<Acceptance>, StoreError> {
        let reader = self.database.reader().await?;
        let found = rows(
            &*reader,
            "SELECT person, kind, name, hash, content, accepted_at
             FROM acceptances WHERE person = $1 AND kind = $2 ORDER BY name",
            &[&person.as_str(), &kind.as_str()],
        )
        .await?;
        read_all(&found, acceptance)
    }

    async fn accept(&self, accepted: Vec<Acceptance>, entry: AuditEntry) -> Result<(), StoreError> {
        let row = transact!(self.database, transaction => {
            let held = self.audit.hold(&transaction, &entry.person).await?;
            for row in &accepted {
                execute(
                    &transaction,
                    "INSERT INTO acceptances (person, kind, name, hash, content, accepted_at)
                     VALUES ($1, $2, $3, $4, $5, $6)
                     ON CONFLICT (person, kind, name) DO UPDATE SET hash = excluded.hash,
                         content = excluded.content, accepted_at = excluded.accepted_at",
                    &[
                        &row.person.as_str(),
                        &row.kind.as_str(),
                        &row.name,
                        &row.hash.to_string(),
                        &shown(&row.content),
                        &row.accepted_at.as_millis(),
                    ],
                )
                .await?;
            }
            self.audit.add(&transaction, held, &entry).await
        })?;
        self.audit.tell(&row);
        Ok(())
    }

    async fn withdraw(
        &self,
        person: &PersonId,
        kind: AcceptanceKind,
        names: Vec<String>,
        entry: AuditEntry,
    ) -> Result<(), StoreError> {
        let row = transact!(self.database, transaction => {
            let held = self.audit.hold(&transaction, &entry.person).await?;
            execute(
                &transaction,
                "DELETE FROM acceptances WHERE person = $1 AND kind = $2 AND name = ANY ($3)",
                &[&person.as_str(), &kind.as_str(), &names],
            )
            .await?;
            self.audit.add(&transaction, held, &entry).await
        })?;
        self.audit.tell(&row);
        Ok(())
    }
}

fn acceptance(row: &Row) -> Result<Acceptance, StoreError> {
    Ok(Acceptance {
        person: parsed(row, 0)?,
        kind: named(row, 1)?,
        name: get(row, 2)?,
        hash: hash(row, 3)?,
        content: get(row, 4)?,
        accepted_at: timestamp(row, 5)?,
    })
}
