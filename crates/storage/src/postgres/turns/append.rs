//! Appends lines to a log: one statement moves the end of the log and inserts the lines, or does
//! neither.

use onyx_types::{Turn, TurnId};
use tokio_postgres::Row;

use super::once::StatementAppend;
use super::{LogKey, PostgresTurnLog};
use crate::local::encode_line;
use crate::postgres::convert::{count, get, integer};
use crate::postgres::query::{StatementParameters, row_if_any};
use crate::postgres::transaction::{TransactionError, TransactionTries, may_have_happened};
use crate::{Attempt, Lease, LogState, Pos, StoreError, append_once};

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
// finds them: `fence` is here, `reappend` is in `sessions/append_once.rs`. No feature, setting or
// environment variable turns them on, only a compiler flag, and never in a build that people get.
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

/// The columns from which `LogAfterAppend` is read.
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
pub(super) struct LogAfterAppend {
    pub(super) end: Pos,
    /// The number of rows that are not in any segment yet.
    pub(super) unsealed_rows: u64,
    pub(super) unsealed_bytes: u64,
}

/// The result of a statement that appends.
pub(in crate::postgres) struct Written {
    pub(super) appended: LogAfterAppend,
    pub(in crate::postgres) log: LogState,
    /// The row that the statement returned; `None` if the answer was lost.
    pub(in crate::postgres) row: Option<Row>,
}

impl PostgresTurnLog {
    pub(super) async fn append_lines(
        &self,
        lease: &Lease,
        lines: &[NewLine],
    ) -> Result<LogAfterAppend, StoreError> {
        let statement = AppendStatement { sql: APPEND, given: &[&false] };
        Ok(self.write(lease, lines, &statement).await?.appended)
    }

    /// Appends the first lines of a log; `Conflict` when the log is not empty.
    pub(super) async fn append_first(
        &self,
        lease: &Lease,
        lines: &[NewLine],
    ) -> Result<LogAfterAppend, StoreError> {
        let fence = self.leases.fence(lease)?;
        let statement = AppendStatement { sql: APPEND, given: &[&true] };
        let append = StatementAppend::new(self, lease, lines, &statement);
        match append_once(&append, fence).await? {
            Some(written) => Ok(written.appended),
            None => match self.state(&LogKey::of(&lease.key)).await? {
                Some(log) if log.len > 0 => Err(StoreError::Conflict),
                Some(_) | None => Err(self.leases.lost(lease)),
            },
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
        let append = StatementAppend::new(self, lease, lines, statement);
        let written = append_once(&append, fence).await?;
        written.ok_or_else(|| self.leases.lost(lease).into())
    }

    /// Sends the statement until the database takes part in it or fails.
    pub(super) async fn put(
        &self,
        lease: &Lease,
        fence: i64,
        lines: &[NewLine],
        statement: &AppendStatement<'_>,
    ) -> Attempt<Written, TransactionError> {
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
        loop {
            let client = match self.database.client_soon().await {
                Ok(client) => client,
                Err(error) => return Attempt::Failed(error.into()),
            };
            let error = match row_if_any(&client, statement.sql, &given).await {
                Ok(row) => return self.answered(lease, row),
                Err(error) => error,
            };
            if may_have_happened(&error) {
                tracing::warn!(%error, "whether turns were written is not known; asking");
                return Attempt::Unanswered(error.into());
            }
            let trouble = TransactionError::from(error);
            if !tries.wait_to_retry(&trouble).await {
                return Attempt::Failed(trouble);
            }
        }
    }

    fn answered(&self, lease: &Lease, row: Option<Row>) -> Attempt<Written, TransactionError> {
        let Some(row) = row else { return Attempt::ShutOut };
        match Written::read(row) {
            Ok(written) => {
                self.leases.wrote(lease, written.log);
                Attempt::Written(written)
            }
            // An answer that cannot be read is as good as none.
            Err(error) => Attempt::Unanswered(error.into()),
        }
    }
}

impl Written {
    fn read(row: Row) -> Result<Self, StoreError> {
        let appended = LogAfterAppend {
            end: Pos(count(&row, 0)?),
            unsealed_rows: count(&row, 2)?,
            unsealed_bytes: count(&row, 3)?,
        };
        let log = LogState { len: appended.end.0, stamp: get::<i64>(&row, 1)?.into() };
        Ok(Self { appended, log, row: Some(row) })
    }
}
