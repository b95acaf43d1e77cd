//! Appends lines to a log: one statement moves the end of the log and inserts the lines, or does
//! neither.

use onyx_types::{Turn, TurnId};
use tokio_postgres::{Error, Row};

use super::{LogKey, PostgresTurnLog};
use crate::local::encode_line;
use crate::postgres::convert::{count, get, integer};
use crate::postgres::query::{StatementParameters, row_if_any};
use crate::postgres::transaction::{TransactionError, TransactionTries, may_have_happened};
use crate::{Lease, LogState, Pos, StoreError};

/// The line of a turn as bytes.
pub(super) struct NewLine {
    pub(super) turn: TurnId,
    pub(super) bytes: Vec<u8>,
}

pub(super) fn lines(batch: &[Turn]) -> Result<Vec<NewLine>, StoreError> {
    let mut lines = Vec::with_capacity(batch.len());
    for turn in batch {
        let mut bytes = Vec::new();
        encode_line(turn, &mut bytes)?;
        lines.push(NewLine { turn: turn.id, bytes });
    }
    Ok(lines)
}

// These are two deliberate mistakes that `make cluster-broken` compiles in to show that its checker
// finds them. No feature, setting or environment variable turns them on, only a compiler flag, and
// never in a build that people get.
#[cfg(all(any(onyx_broken = "fence", onyx_broken = "reappend"), not(debug_assertions)))]
compile_error!("a build with a mistake in it is for `make cluster-broken` alone");

/// A statement that appends lines and does other things in the same step. Its first nine parameters
/// are the session's key, the fence, the number of lines and of their bytes, and the lines'
/// offsets, ids and bytes; `given` holds the further ones. The row that it returns begins with
/// `appended_columns`.
pub(in crate::postgres) struct AppendStatement<'a> {
    pub(in crate::postgres) sql: &'static str,
    pub(in crate::postgres) given: StatementParameters<'a>,
}

/// Inserts the lines into a log whose end was moved in its row, `held`.
macro_rules! added_lines {
    () => {
        "added AS (
             INSERT INTO turns (person, agent, session, seq, pos, turn, line)
             SELECT person, agent, session, next_seq - $5 + number - 1, next_pos - $6 + at, turn,
                    line
             FROM held, unnest($7::BIGINT[], $8::TEXT[], $9::BYTEA[])
                 WITH ORDINALITY AS new (at, turn, line, number))"
    };
}
pub(in crate::postgres) use added_lines;

/// The columns from which `Appended` is read.
macro_rules! appended_columns {
    () => {
        "next_pos, generation, next_seq - sealed_seq, next_pos - sealed_pos"
    };
}
pub(in crate::postgres) use appended_columns;

/// The condition under which a row of `session_log` may be written to: its fence must still be the
/// writer's.
#[cfg(not(onyx_broken = "fence"))]
macro_rules! is_held {
    () => {
        "fence = $4"
    };
}
#[cfg(onyx_broken = "fence")]
macro_rules! is_held {
    () => {
        "$4::BIGINT IS NOT NULL"
    };
}
pub(in crate::postgres) use is_held;

/// Appends to the end of a log. If the last parameter is true, it does so only if the log has no
/// lines.
const APPEND: &str = concat!(
    "WITH held AS (
         UPDATE session_log SET next_seq = next_seq + $5, next_pos = next_pos + $6,
                                written = clock_timestamp()
         WHERE person = $1 AND agent = $2 AND session = $3 AND ",
    is_held!(),
    " AND (next_pos = 0 OR NOT $10)
         RETURNING person, agent, session, next_seq, next_pos, sealed_seq, sealed_pos, generation),
     ",
    added_lines!(),
    " SELECT ",
    appended_columns!(),
    " FROM held"
);

/// The state of the log after an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Appended {
    pub(super) end: Pos,
    /// The number of rows that are not in any segment yet.
    pub(super) unsealed_rows: u64,
    pub(super) unsealed_bytes: u64,
}

/// The result of a statement that appends.
pub(in crate::postgres) struct Written {
    pub(super) appended: Appended,
    pub(in crate::postgres) log: LogState,
    /// The row that the statement returned; `None` if the answer was lost.
    pub(in crate::postgres) row: Option<Row>,
}

impl PostgresTurnLog {
    pub(super) async fn append_lines(
        &self,
        lease: &Lease,
        lines: &[NewLine],
    ) -> Result<Appended, StoreError> {
        let statement = AppendStatement { sql: APPEND, given: &[&false] };
        Ok(self.write(lease, lines, &statement).await?.appended)
    }

    /// Appends the first lines of a log; `Conflict` when the log is not empty.
    pub(super) async fn append_first(
        &self,
        lease: &Lease,
        lines: &[NewLine],
    ) -> Result<Appended, StoreError> {
        let fence = self.leases.fence(lease)?;
        let statement = AppendStatement { sql: APPEND, given: &[&true] };
        match self.put(lease, fence, lines, &statement).await {
            Ok(Some(written)) => Ok(written.appended),
            Ok(None) => match self.end(&LogKey::of(&lease.key)).await? {
                Some(end) if end > 0 => Err(StoreError::Conflict),
                Some(_) | None => Err(self.leases.lost(lease)),
            },
            Err(unsure) => Err(TransactionError::from(unsure).into()),
        }
    }

    /// Runs a statement that writes lines and what belongs to them, all or nothing. `LeaseLost`:
    /// the statement found no row that it may write to.
    pub(super) async fn write(
        &self,
        lease: &Lease,
        lines: &[NewLine],
        statement: &AppendStatement<'_>,
    ) -> Result<Written, TransactionError> {
        let fence = self.leases.fence(lease)?;
        match self.put(lease, fence, lines, statement).await {
            Err(AppendFailure::Unknown(_)) if cfg!(onyx_broken = "reappend") => {
                let again = self.put(lease, fence, lines, statement).await;
                again.map_err(TransactionError::from)?.ok_or_else(|| self.leases.lost(lease).into())
            }
            Err(AppendFailure::Unknown(error)) => {
                tracing::warn!(%error, "whether turns were written is not known; asking");
                let found = self.find_out(lease, lines, statement).await;
                // It is not known what the log holds, so the lease is given up, and the next holder
                // of the session reads the log.
                found.inspect_err(|_| drop(self.leases.lost(lease)))
            }
            Err(AppendFailure::Known(trouble)) => Err(trouble),
            Ok(written) => written.ok_or_else(|| self.leases.lost(lease).into()),
        }
    }

    /// Runs the statement once. `None`: the row has another fence now.
    async fn put(
        &self,
        lease: &Lease,
        fence: i64,
        lines: &[NewLine],
        statement: &AppendStatement<'_>,
    ) -> Result<Option<Written>, AppendFailure> {
        let key = LogKey::of(&lease.key);
        let (mut offsets, mut turns, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        let mut length = 0_u64;
        for line in lines {
            offsets.push(integer(length));
            turns.push(line.turn.to_string());
            bytes.push(line.bytes.as_slice());
            length += line.bytes.len() as u64;
        }
        let (count, length) = (integer(lines.len() as u64), integer(length));
        let mut given = key.with([&fence, &count, &length, &offsets, &turns, &bytes]);
        given.extend(statement.given);
        let mut tries = TransactionTries::default();
        let put = loop {
            let client = self.database.client_soon().await.map_err(AppendFailure::known)?;
            match row_if_any(&client, statement.sql, &given).await.map_err(AppendFailure::of) {
                Err(AppendFailure::Known(trouble)) if tries.again(&trouble).await => {}
                put => break put?,
            }
        };
        let Some(put) = put else { return Ok(None) };
        let written = Written::read(put).map_err(AppendFailure::known)?;
        self.leases.wrote(lease, written.log);
        Ok(Some(written))
    }

    /// Finds out what happened to a statement whose answer was lost. Raising the fence waits for
    /// the statement or shuts it out, so the turns are there now or never will be. If they are
    /// absent, they are written under the new fence.
    async fn find_out(
        &self,
        lease: &Lease,
        lines: &[NewLine],
        statement: &AppendStatement<'_>,
    ) -> Result<Written, TransactionError> {
        let Some(last) = lines.last() else { return Err(StoreError::LeaseLost.into()) };
        let raised = self.leases.raise(lease).await;
        let (key, turn) = (LogKey::of(&lease.key), last.turn.to_string());
        let client = self.database.client().await?;
        let found = row_if_any(
            &client,
            "SELECT pos + octet_length(line), generation FROM turns JOIN session_log
                 USING (person, agent, session)
             WHERE person = $1 AND agent = $2 AND session = $3 AND turn = $4",
            &key.with([&turn]),
        )
        .await?;
        drop(client);
        match (found, raised) {
            // The lines were written, even if another gateway holds the session now.
            (Some(row), _) => {
                let (len, generation): (u64, i64) = (count(&row, 0)?, get(&row, 1)?);
                let log = LogState { len, stamp: generation.into() };
                self.leases.wrote(lease, log);
                // The numbers are zero because they are not known here; the next append counts what
                // is to be sealed.
                let appended = Appended { end: Pos(len), unsealed_rows: 0, unsealed_bytes: 0 };
                Ok(Written { appended, log, row: None })
            }
            (None, Err(error)) => Err(error.into()),
            // The statement is retried once. If that is not answered either, the caller gets the
            // error.
            (None, Ok(fence)) => {
                let put = self.put(lease, fence, lines, statement).await?;
                put.ok_or_else(|| StoreError::LeaseLost.into())
            }
        }
    }
}

impl Written {
    fn read(row: Row) -> Result<Self, StoreError> {
        let appended = Appended {
            end: Pos(count(&row, 0)?),
            unsealed_rows: count(&row, 2)?,
            unsealed_bytes: count(&row, 3)?,
        };
        let log = LogState { len: appended.end.0, stamp: get::<i64>(&row, 1)?.into() };
        Ok(Self { appended, log, row: Some(row) })
    }
}

/// Why a statement failed, and whether it may have happened nevertheless.
enum AppendFailure {
    Known(TransactionError),
    Unknown(Error),
}

impl From<AppendFailure> for TransactionError {
    fn from(unsure: AppendFailure) -> Self {
        match unsure {
            AppendFailure::Known(trouble) => trouble,
            AppendFailure::Unknown(error) => error.into(),
        }
    }
}

impl AppendFailure {
    fn known(error: StoreError) -> Self {
        Self::Known(error.into())
    }

    fn of(error: Error) -> Self {
        if may_have_happened(&error) { Self::Unknown(error) } else { Self::Known(error.into()) }
    }
}
