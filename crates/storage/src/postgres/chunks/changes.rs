//! Which sources changed. Changes get their numbers when they are read, as the changes of sessions
//! do.

use deadpool_postgres::{GenericClient, Transaction};

use crate::postgres::connect::Database;
use crate::postgres::convert::{count, get, integer};
use crate::postgres::query::{execute, read_all, row, rows};
use crate::postgres::transaction::{TransactionError, at_once};
use crate::{SourceChange, SourceId, StoreError};

/// What changed in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangedPart {
    Text,
    /// Only vectors changed, so the sequence of the source's text stays as it was.
    Vectors,
}

pub(super) async fn note(
    transaction: &Transaction<'_>,
    sources: &[i64],
    what: ChangedPart,
) -> Result<(), TransactionError> {
    execute(
        transaction,
        "INSERT INTO source_changes (source, is_text, noted)
         SELECT source, $2::BOOLEAN, clock_timestamp() FROM unnest($1::BIGINT[]) AS source
         ON CONFLICT (source) DO UPDATE SET seq = NULL,
             is_text = source_changes.is_text OR excluded.is_text, noted = excluded.noted",
        &[&sources, &(what == ChangedPart::Text)],
    )
    .await?;
    Ok(())
}

/// Numbers the waiting changes in one message, as those of sessions are numbered and for the same
/// reason: see `ledger/changes.rs`.
const NUMBER: &str = "
    SELECT FROM counters WHERE name = 'chunks' FOR UPDATE;
    WITH waiting AS (SELECT source FROM source_changes WHERE seq IS NULL FOR UPDATE),
    numbered AS (
        SELECT source, row_number() OVER (ORDER BY noted, source)
                       + (SELECT value FROM counters WHERE name = 'chunks') AS number
        FROM waiting JOIN source_changes USING (source))
    UPDATE source_changes SET seq = numbered.number, is_text = FALSE,
        text_seq = CASE WHEN is_text THEN numbered.number ELSE text_seq END
    FROM numbered WHERE source_changes.source = numbered.source;
    UPDATE counters SET value = greatest(value, (SELECT max(seq) FROM source_changes))
    WHERE name = 'chunks'";

pub(super) async fn number(database: &Database) -> Result<(), StoreError> {
    let client = database.client().await?;
    let any = "SELECT EXISTS (SELECT 1 FROM source_changes WHERE seq IS NULL)";
    if get::<bool>(&row(&client, any, &[]).await?, 0)? {
        at_once(&client, NUMBER).await?;
    }
    Ok(())
}

pub(super) async fn last(client: &impl GenericClient) -> Result<u64, StoreError> {
    let select = "SELECT coalesce(max(seq), 0) FROM source_changes";
    count(&row(client, select, &[]).await?, 0)
}

pub(super) async fn after(
    client: &impl GenericClient,
    after: u64,
    limit: u32,
) -> Result<Vec<SourceChange>, StoreError> {
    let found = rows(
        client,
        "SELECT seq, text_seq, source FROM source_changes WHERE seq > $1 ORDER BY seq LIMIT $2",
        &[&integer(after), &i64::from(limit)],
    )
    .await?;
    read_all(&found, |row| {
        Ok(SourceChange {
            seq: count(row, 0)?,
            text_seq: count(row, 1)?,
            source: SourceId(count(row, 2)?),
        })
    })
}
