use std::time::Duration;

use async_trait::async_trait;
use onyx_types::Hash;
use tokio_postgres::Row;

use crate::postgres::connect::Database;
use crate::postgres::convert::{get, hash};
use crate::postgres::query::{execute, read_all, row_if_any, rows};
use crate::postgres::transaction::transact;
use crate::{PendingEntries, PendingEntry, PendingKind, StoreError};

/// Pending entries in the database. The database's clock decides how long an entry lasts.
#[derive(Clone, Debug)]
pub(crate) struct PostgresPending {
    database: Database,
}

impl PostgresPending {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }

    /// Removes entries that were not taken in time. Returns how many.
    pub(crate) async fn sweep(&self) -> Result<u64, StoreError> {
        let client = self.database.client().await?;
        let sweep = "DELETE FROM pending_entries WHERE until <= clock_timestamp()";
        Ok(execute(&client, sweep, &[]).await?)
    }
}

#[async_trait]
impl PendingEntries for PostgresPending {
    async fn put(
        &self,
        kind: PendingKind,
        entry: PendingEntry,
        most: usize,
    ) -> Result<(), StoreError> {
        let (kind_name, key) = (kind.as_str(), entry.key.to_string());
        let left = entry.left.as_secs_f64();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        transact!(self.database, transaction => {
            let put = "INSERT INTO pending_entries (kind, key, value, until)
                       VALUES ($1, $2, $3,
                               clock_timestamp() + $4::DOUBLE PRECISION * INTERVAL '1 second')
                       ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value,
                           made = excluded.made, until = excluded.until";
            execute(&transaction, put, &[&kind_name, &key, &entry.value, &left]).await?;
            let forget = "DELETE FROM pending_entries WHERE kind = $1 AND key IN
                              (SELECT key FROM pending_entries WHERE kind = $1
                               ORDER BY made DESC, key OFFSET $2)";
            execute(&transaction, forget, &[&kind_name, &most]).await?;
            if kind == PendingKind::SignIn {
                tell_others(&transaction).await?;
            }
            Ok(())
        })
    }

    async fn get(&self, kind: PendingKind, key: Hash) -> Result<Option<PendingEntry>, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT key, value,
                             extract(epoch FROM until - clock_timestamp())::DOUBLE PRECISION
                      FROM pending_entries
                      WHERE kind = $1 AND key = $2 AND until > clock_timestamp()";
        let found = row_if_any(&client, select, &[&kind.as_str(), &key.to_string()]).await?;
        found.as_ref().map(entry).transpose()
    }

    async fn list(&self, kind: PendingKind) -> Result<Vec<PendingEntry>, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT key, value,
                             extract(epoch FROM until - clock_timestamp())::DOUBLE PRECISION
                      FROM pending_entries
                      WHERE kind = $1 AND until > clock_timestamp() ORDER BY made, key";
        read_all(&rows(&client, select, &[&kind.as_str()]).await?, entry)
    }

    async fn replace(
        &self,
        kind: PendingKind,
        before: &PendingEntry,
        value: String,
    ) -> Result<bool, StoreError> {
        let client = self.database.client().await?;
        let replace = "UPDATE pending_entries SET value = $4
                       WHERE kind = $1 AND key = $2 AND value = $3 AND until > clock_timestamp()";
        let key = before.key.to_string();
        let given: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&kind.as_str(), &key, &before.value, &value];
        Ok(execute(&client, replace, &given).await? > 0)
    }

    async fn take(&self, kind: PendingKind, key: Hash) -> Result<Option<String>, StoreError> {
        transact!(self.database, transaction => {
            let take = "DELETE FROM pending_entries WHERE kind = $1 AND key = $2
                        RETURNING value, until > clock_timestamp()";
            let found = row_if_any(&transaction, take, &[&kind.as_str(), &key.to_string()]).await?;
            let Some(found) = found else { return Ok(None) };
            if kind == PendingKind::SignIn {
                tell_others(&transaction).await?;
            }
            let is_in_time: bool = get(&found, 1)?;
            Ok(is_in_time.then_some(get(&found, 0)?))
        })
    }
}

/// Raises the counter of changes to sign-ins. Gateways show sign-ins that others began, so they
/// watch it.
async fn tell_others(
    transaction: &deadpool_postgres::Transaction<'_>,
) -> Result<(), crate::postgres::transaction::TransactionError> {
    let bump = "UPDATE counters SET value = value + 1 WHERE name = 'sign-ins'";
    execute(transaction, bump, &[]).await?;
    Ok(())
}

fn entry(row: &Row) -> Result<PendingEntry, StoreError> {
    let left: f64 = get(row, 2)?;
    let left = Duration::try_from_secs_f64(left).unwrap_or_default();
    Ok(PendingEntry { key: hash(row, 0)?, value: get(row, 1)?, left })
}
