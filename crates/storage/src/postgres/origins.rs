//! The records of where contents came from. They are not cached: what another gateway recorded a
//! moment ago must taint what is read here.

use async_trait::async_trait;
use deadpool_postgres::Transaction;
use onyx_types::{Clock as _, Hash, Origin, SystemClock, Timestamp};

use crate::{ContentRecord, OpenCommand, OriginNote, Origins, StoreError, TICK_MS};

use super::connect::Database;
use super::convert::{count, get, named, timestamp, timestamp_if_any};
use super::gateway::{LifeFence, LifeWriter, last_statement};
use super::query::{execute, read_all, row, row_if_any, rows};
use super::transaction::{TransactionError, transact};

#[derive(Clone, Debug)]
pub(crate) struct PostgresOrigins {
    database: Database,
    /// `None`: a program that is no gateway writes.
    writer: Option<LifeWriter>,
}

impl PostgresOrigins {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, writer: None }
    }

    /// The same, of what this writer writes.
    pub(super) fn written_by(&self, writer: LifeWriter) -> Self {
        Self { database: self.database.clone(), writer: Some(writer) }
    }
}

#[async_trait]
impl Origins for PostgresOrigins {
    async fn note(&self, owner: &str, notes: Vec<OriginNote>) -> Result<(), StoreError> {
        let fence = match &self.writer {
            Some(writer) => Some(writer.begin().await?),
            None => None,
        };
        transact!(self.database, transaction => {
            changed(&transaction, owner).await?;
            for note in &notes {
                put(&transaction, owner, note, fence.as_ref()).await?;
            }
            Ok(())
        })
    }

    async fn known(
        &self,
        owner: &str,
        path: &str,
        hash: Hash,
    ) -> Result<ContentRecord, StoreError> {
        let client = self.database.client().await?;
        let hash = hash.to_string();
        let found = rows(
            &client,
            "SELECT path = $2, hash, origin, at FROM origins
             WHERE owner = $1 AND (path = $2 OR hash = $3) ORDER BY id",
            &[&owner, &path, &hash],
        )
        .await?;
        let mut known = ContentRecord::default();
        for row in &found {
            let (is_here, of): (bool, &str) = (get(row, 0)?, get(row, 1)?);
            let origin: Origin = named(row, 2)?;
            if is_here && of == hash {
                return Ok(ContentRecord { here: Some(origin), ..ContentRecord::default() });
            }
            if is_here {
                known.before = (!of.is_empty()).then_some(origin);
            } else if known.elsewhere.is_none_or(|(worst, _)| worst < origin) {
                known.elsewhere = Some((origin, timestamp(row, 3)?));
            }
        }
        Ok(known)
    }

    async fn has_foreign_text(&self, owner: &str) -> Result<bool, StoreError> {
        let client = self.database.client().await?;
        let any = "SELECT EXISTS (SELECT 1 FROM prints WHERE owner = $1)";
        get(&row(&client, any, &[&owner]).await?, 0)
    }

    async fn alike(
        &self,
        owner: &str,
        prints: Vec<u64>,
        by: Timestamp,
    ) -> Result<Option<Origin>, StoreError> {
        let prints: Vec<i64> = prints.iter().map(|print| print.cast_signed()).collect();
        let client = self.database.client().await?;
        // The condition at the end is the rule of `provenance::prints::is_alike`.
        let found = rows(
            &client,
            "SELECT origins.origin FROM prints JOIN origins ON origins.id = prints.note
             WHERE prints.owner = $1 AND prints.print = ANY ($2) AND origins.at <= $3
             GROUP BY origins.id, origins.origin, origins.prints
             HAVING count(*) >= 2 AND count(*) * 2 >= origins.prints",
            &[&owner, &prints, &by.as_millis()],
        )
        .await?;
        Ok(read_all(&found, |row| named(row, 0))?.into_iter().max())
    }

    async fn named_by(&self, owner: &str, paths: Vec<String>) -> Result<Origin, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT DISTINCT origin FROM foreign_names
                      WHERE owner = $1 AND path = ANY ($2)";
        let found = rows(&client, select, &[&owner, &paths]).await?;
        let found: Vec<Origin> = read_all(&found, |row| named(row, 0))?;
        Ok(found.into_iter().max().unwrap_or(Origin::Person))
    }

    async fn begin_command(&self, owner: &str) -> Result<OpenCommand, StoreError> {
        let started = SystemClock::new().wall().as_millis() - TICK_MS;
        let id = transact!(self.database, transaction => {
            changed(&transaction, owner).await?;
            let begin = "INSERT INTO open_commands (owner, started_at) VALUES ($1, $2)
                         RETURNING id";
            Ok(get(&row(&transaction, begin, &[&owner, &started]).await?, 0)?)
        })?;
        let (owner, started_at) = (owner.to_owned(), Timestamp::from_millis(started));
        Ok(OpenCommand { id, owner, started_at })
    }

    async fn end_command(&self, id: i64) -> Result<(), StoreError> {
        transact!(self.database, transaction => {
            let end = "DELETE FROM open_commands WHERE id = $1 RETURNING owner";
            if let Some(ended) = row_if_any(&transaction, end, &[&id]).await? {
                changed(&transaction, get(&ended, 0)?).await?;
            }
            Ok(())
        })
    }

    async fn open_commands(&self) -> Result<Vec<OpenCommand>, StoreError> {
        let client = self.database.client().await?;
        let select = "SELECT id, owner, started_at FROM open_commands ORDER BY id";
        read_all(&rows(&client, select, &[]).await?, |row| {
            Ok(OpenCommand {
                id: get(row, 0)?,
                owner: get(row, 1)?,
                started_at: timestamp(row, 2)?,
            })
        })
    }

    async fn command_since(&self, owner: &str) -> Result<Option<Timestamp>, StoreError> {
        let client = self.database.client().await?;
        let oldest = "SELECT min(started_at) FROM open_commands WHERE owner = $1";
        timestamp_if_any(&row(&client, oldest, &[&owner]).await?, 0)
    }

    async fn version(&self, owner: &str) -> Result<u64, StoreError> {
        let versions = self.versions(&[owner.to_owned()]).await?;
        Ok(versions.first().copied().unwrap_or_default())
    }

    /// Reads the versions over the connection on which files are read, so that a caller who asks
    /// for both at once makes one trip.
    async fn versions(&self, owners: &[String]) -> Result<Vec<u64>, StoreError> {
        let reader = self.database.reader().await?;
        let select = "SELECT coalesce(version, 0)
                      FROM unnest($1::TEXT[]) WITH ORDINALITY AS asked (owner, number)
                           LEFT JOIN origin_owners USING (owner) ORDER BY number";
        read_all(&rows(&*reader, select, &[&owners]).await?, |row| count(row, 0))
    }
}

/// Raises the owner's version, because an answer about the owner changes in this transaction. The
/// row stays locked until the end of the transaction, so the version is new as soon as the change
/// is visible.
async fn changed(transaction: &Transaction<'_>, owner: &str) -> Result<(), TransactionError> {
    let change = "INSERT INTO origin_owners (owner, version) VALUES ($1, 1)
                  ON CONFLICT (owner) DO UPDATE SET version = origin_owners.version + 1";
    execute(transaction, change, &[&owner]).await?;
    Ok(())
}

async fn put(
    transaction: &Transaction<'_>,
    owner: &str,
    note: &OriginNote,
    fence: Option<&LifeFence>,
) -> Result<(), TransactionError> {
    let origin = note.origin.as_str();
    if !note.path.is_empty() {
        put_content(transaction, owner, note, origin).await?;
    }
    let names = async {
        execute(
            transaction,
            "INSERT INTO foreign_names (owner, path, origin)
             SELECT DISTINCT $1::TEXT, name, $3::TEXT FROM unnest($2::TEXT[]) AS name
             ON CONFLICT (owner, path) DO UPDATE SET origin = excluded.origin",
            &[&owner, &note.names, &origin],
        )
        .await?;
        Ok::<(), TransactionError>(())
    };
    last_statement(fence, transaction, names).await
}

/// Records the origin of a content. The newest row of a path is the one with the greatest id, so a
/// content that returns gets a new row.
async fn put_content(
    transaction: &Transaction<'_>,
    owner: &str,
    note: &OriginNote,
    origin: &str,
) -> Result<(), TransactionError> {
    let hash = note.hash.map(|hash| hash.to_string()).unwrap_or_default();
    let at = SystemClock::new().wall().as_millis();
    execute(
        transaction,
        "DELETE FROM prints WHERE note IN
             (SELECT id FROM origins WHERE owner = $1 AND path = $2 AND hash = $3)",
        &[&owner, &note.path, &hash],
    )
    .await?;
    let forget = "DELETE FROM origins WHERE owner = $1 AND path = $2 AND hash = $3";
    execute(transaction, forget, &[&owner, &note.path, &hash]).await?;
    let count = i64::try_from(note.prints.len()).unwrap_or(i64::MAX);
    let put = row(
        transaction,
        "INSERT INTO origins (owner, path, hash, origin, prints, at)
         VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
        &[&owner, &note.path, &hash, &origin, &count, &at],
    )
    .await?;
    let id: i64 = get(&put, 0)?;
    let prints: Vec<i64> = note.prints.iter().map(|print| print.cast_signed()).collect();
    execute(
        transaction,
        "INSERT INTO prints (owner, print, note)
         SELECT DISTINCT $1::TEXT, print, $3::BIGINT FROM unnest($2::BIGINT[]) AS print
         ON CONFLICT DO NOTHING",
        &[&owner, &prints, &id],
    )
    .await?;
    Ok(())
}
