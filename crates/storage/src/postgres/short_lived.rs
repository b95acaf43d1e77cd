//! Short-lived entries in the database, whose clock decides how long an entry lasts. The table has the name that it got
//! when only sign-ins waited in it, because older gateways work on it too.

use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{Hash, PersonId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::connect::Database;
use super::convert::{get, hash, unreadable};
use super::query::{execute, read_all, row, row_if_any, rows};
use super::transaction::{TransactionError, transact};
use crate::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom, StoreError};

/// Stores an entry. An entry of the same key, `known`, is replaced if it meets the condition.
macro_rules! put_entry {
    ($condition:literal) => {
        concat!(
            "put AS (
                 INSERT INTO pending_entries AS known (kind, key, person, value, until)
                 VALUES ($1, $2, $3, $4,
                         clock_timestamp() + $5::DOUBLE PRECISION * INTERVAL '1 second')
                 ON CONFLICT (kind, key) DO UPDATE SET person = excluded.person,
                     value = excluded.value, made = excluded.made, until = excluded.until
                     WHERE ",
            $condition,
            " RETURNING key)"
        )
    };
}

/// Removes the oldest entries of a room that no longer fit beside the one that `put` stored. That
/// entry comes first (`EXISTS`), and rows that another statement removes at the same moment are left
/// to it: a statement never waits while it holds a row.
macro_rules! forget_oldest {
    () => {
        "DELETE FROM pending_entries WHERE kind = $1 AND person = $3
             AND EXISTS (SELECT 1 FROM put) AND key IN (
             SELECT key FROM pending_entries WHERE kind = $1 AND person = $3 AND key IN (
                 SELECT key FROM (
                     SELECT key, row_number() OVER newest AS place,
                            sum(octet_length(value)) OVER newest AS bytes
                     FROM pending_entries WHERE kind = $1 AND person = $3 AND key <> $2
                     WINDOW newest AS (ORDER BY made DESC, key ROWS UNBOUNDED PRECEDING)
                 ) AS others
                 WHERE place >= $6 OR bytes + octet_length($4) > $7
             ) ORDER BY key FOR UPDATE SKIP LOCKED)"
    };
}

/// Stores an entry and removes the oldest ones of its room that no longer fit.
const PUT: &str = concat!("WITH ", put_entry!("TRUE"), " ", forget_oldest!());

/// Does the same where there is no such entry that lasts, and says whether it did; else the value of
/// the one that is there.
const PUT_NEW: &str = concat!(
    "WITH ",
    put_entry!("known.until <= clock_timestamp()"),
    ", forgotten AS (",
    forget_oldest!(),
    ")
    SELECT EXISTS (SELECT 1 FROM put),
           (SELECT value FROM pending_entries
            WHERE kind = $1 AND key = $2 AND until > clock_timestamp())"
);

const GET: &str = "
    SELECT key, person, value, extract(epoch FROM until - clock_timestamp())::DOUBLE PRECISION
    FROM pending_entries WHERE kind = $1 AND key = $2 AND until > clock_timestamp()";

const LIST: &str = "
    SELECT key, person, value, extract(epoch FROM until - clock_timestamp())::DOUBLE PRECISION
    FROM pending_entries WHERE kind = $1 AND person = $2 AND until > clock_timestamp()
    ORDER BY made, key";

#[derive(Clone, Debug)]
pub(crate) struct PostgresShortLived {
    database: Database,
}

impl PostgresShortLived {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }

    /// Removes entries that have ended. Returns how many.
    pub(crate) async fn sweep(&self) -> Result<u64, StoreError> {
        let client = self.database.client().await?;
        let sweep = "DELETE FROM pending_entries WHERE (kind, key) IN
                         (SELECT kind, key FROM pending_entries WHERE until <= clock_timestamp()
                          ORDER BY kind, key FOR UPDATE SKIP LOCKED)";
        Ok(execute(&client, sweep, &[]).await?)
    }
}

/// An entry as the values of a statement.
struct EntryValues {
    key: String,
    person: String,
    value: String,
    left: f64,
    entries: i64,
    bytes: i64,
}

impl EntryValues {
    fn of(entry: ShortLivedEntry, room: ShortLivedRoom) -> Result<Self, StoreError> {
        room.check(&entry)?;
        let size = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
        Ok(Self {
            key: entry.key.to_string(),
            person: entry.person.map(|person| person.to_string()).unwrap_or_default(),
            value: entry.value,
            left: entry.left.as_secs_f64(),
            entries: size(room.entries),
            bytes: size(room.bytes),
        })
    }
}

#[async_trait]
impl ShortLived for PostgresShortLived {
    async fn put(
        &self,
        kind: ShortLivedKind,
        entry: ShortLivedEntry,
        room: ShortLivedRoom,
    ) -> Result<(), StoreError> {
        let name = kind.as_str();
        let EntryValues { key, person, value, left, entries, bytes } =
            EntryValues::of(entry, room)?;
        let given: [&(dyn ToSql + Sync); 7] =
            [&name, &key, &person, &value, &left, &entries, &bytes];
        if kind != ShortLivedKind::SignIn {
            // One statement is done whole or not at all, and doing it twice changes nothing more.
            let client = self.database.client().await?;
            execute(&client, PUT, &given).await?;
            return Ok(());
        }
        transact!(self.database, transaction => {
            execute(&transaction, PUT, &given).await?;
            tell_others(&transaction).await
        })
    }

    async fn put_new(
        &self,
        kind: ShortLivedKind,
        entry: ShortLivedEntry,
        room: ShortLivedRoom,
    ) -> Result<Option<String>, StoreError> {
        let name = kind.as_str();
        let EntryValues { key, person, value, left, entries, bytes } =
            EntryValues::of(entry, room)?;
        let given: [&(dyn ToSql + Sync); 7] =
            [&name, &key, &person, &value, &left, &entries, &bytes];
        let client = self.database.client().await?;
        loop {
            let found = row(&client, PUT_NEW, &given).await?;
            let there: Option<String> = get(&found, 1)?;
            match (get(&found, 0)?, there) {
                (true, _) => return Ok(None),
                (false, Some(there)) => return Ok(Some(there)),
                // The one that was there was stored or has ended while the statement ran.
                (false, None) => {}
            }
        }
    }

    async fn get(
        &self,
        kind: ShortLivedKind,
        key: Hash,
    ) -> Result<Option<ShortLivedEntry>, StoreError> {
        let client = self.database.client().await?;
        let found = row_if_any(&client, GET, &[&kind.as_str(), &key.to_string()]).await?;
        found.as_ref().map(entry).transpose()
    }

    async fn list(
        &self,
        kind: ShortLivedKind,
        person: Option<&PersonId>,
    ) -> Result<Vec<ShortLivedEntry>, StoreError> {
        let client = self.database.client().await?;
        let person = person.map_or("", PersonId::as_str);
        read_all(&rows(&client, LIST, &[&kind.as_str(), &person]).await?, entry)
    }

    async fn replace(
        &self,
        kind: ShortLivedKind,
        before: &ShortLivedEntry,
        value: String,
    ) -> Result<bool, StoreError> {
        let client = self.database.client().await?;
        let replace = "UPDATE pending_entries SET value = $4
                       WHERE kind = $1 AND key = $2 AND value = $3 AND until > clock_timestamp()";
        let key = before.key.to_string();
        let given: [&(dyn ToSql + Sync); 4] = [&kind.as_str(), &key, &before.value, &value];
        Ok(execute(&client, replace, &given).await? > 0)
    }

    async fn take(&self, kind: ShortLivedKind, key: Hash) -> Result<Option<String>, StoreError> {
        transact!(self.database, transaction => {
            let take = "DELETE FROM pending_entries WHERE kind = $1 AND key = $2
                        RETURNING value, until > clock_timestamp()";
            let found = row_if_any(&transaction, take, &[&kind.as_str(), &key.to_string()]).await?;
            let Some(found) = found else { return Ok(None) };
            if kind == ShortLivedKind::SignIn {
                tell_others(&transaction).await?;
            }
            let is_in_time: bool = get(&found, 1)?;
            Ok(is_in_time.then_some(get(&found, 0)?))
        })
    }
}

/// Gateways show sign-ins under way that others began, so they look at this counter.
async fn tell_others(
    transaction: &deadpool_postgres::Transaction<'_>,
) -> Result<(), TransactionError> {
    let bump = "UPDATE counters SET value = value + 1 WHERE name = 'sign-ins'";
    execute(transaction, bump, &[]).await?;
    Ok(())
}

fn entry(row: &Row) -> Result<ShortLivedEntry, StoreError> {
    let left: f64 = get(row, 3)?;
    let left = Duration::try_from_secs_f64(left).unwrap_or_default();
    Ok(ShortLivedEntry { key: hash(row, 0)?, person: person(row)?, value: get(row, 2)?, left })
}

fn person(row: &Row) -> Result<Option<PersonId>, StoreError> {
    let text: &str = get(row, 1)?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|error| unreadable(row, 1, &error))
}
