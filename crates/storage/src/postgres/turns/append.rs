//! Appending: one statement that moves the end of the log and puts the lines there, or does neither.

use onyx_types::{Turn, TurnId};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::{LogKey, PostgresTurnLog};
use crate::local::encode_line;
use crate::postgres::convert::{count, get, integer};
use crate::postgres::query::row_if_any;
use crate::{Lease, LogState, Pos, StoreError};

/// A turn as its bytes.
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

// Two mistakes that `make cluster-broken` compiles in, to see that its checker finds them. No feature, no setting and no
// environment brings them: only a compiler that is told so, and never into a build that people get.
#[cfg(all(any(onyx_broken = "fence", onyx_broken = "reappend"), not(debug_assertions)))]
compile_error!("a build with a mistake in it is for `make cluster-broken` alone");

/// Under which condition a row of `session_log` may be written to: its fence is still the writer's.
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

/// What an append left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Appended {
    pub(super) end: Pos,
    /// Of the rows that no segment holds yet.
    pub(super) unsealed_rows: u64,
    pub(super) unsealed_bytes: u64,
}

/// Where lines may be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    AtTheEnd,
    /// Only into a log without any.
    First,
}

impl PostgresTurnLog {
    pub(super) async fn append_lines(
        &self,
        lease: &Lease,
        lines: &[NewLine],
    ) -> Result<Appended, StoreError> {
        let fence = self.leases.fence(lease)?;
        match self.put(lease, fence, lines, Where::AtTheEnd).await {
            Err(Unsure::Unknown(_)) if cfg!(onyx_broken = "reappend") => {
                let again = self.put(lease, fence, lines, Where::AtTheEnd).await;
                again.map_err(StoreError::from)?.ok_or_else(|| self.leases.lost(lease))
            }
            Err(Unsure::Unknown(error)) => {
                tracing::warn!(%error, "whether turns were written is not known; asking");
                let found = self.find_out(lease, lines).await;
                // What the log holds is not known: whoever takes the session next reads it.
                found.inspect_err(|_| drop(self.leases.lost(lease)))
            }
            Err(Unsure::Known(error)) => Err(error),
            Ok(end) => end.ok_or_else(|| self.leases.lost(lease)),
        }
    }

    /// Into an empty log; `Conflict` when it is not.
    pub(super) async fn append_first(
        &self,
        lease: &Lease,
        lines: &[NewLine],
    ) -> Result<Appended, StoreError> {
        let fence = self.leases.fence(lease)?;
        match self.put(lease, fence, lines, Where::First).await {
            Ok(Some(end)) => Ok(end),
            Ok(None) => match self.end(&LogKey::of(&lease.key)).await? {
                Some(end) if end > 0 => Err(StoreError::Conflict),
                Some(_) | None => Err(self.leases.lost(lease)),
            },
            Err(unsure) => Err(unsure.into()),
        }
    }

    /// `None`: the fence is not the row's any more.
    async fn put(
        &self,
        lease: &Lease,
        fence: i64,
        lines: &[NewLine],
        place: Where,
    ) -> Result<Option<Appended>, Unsure> {
        let key = LogKey::of(&lease.key);
        let (mut offsets, mut turns, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        let mut length = 0_u64;
        for line in lines {
            offsets.push(integer(length));
            turns.push(line.turn.to_string());
            bytes.push(line.bytes.as_slice());
            length += line.bytes.len() as u64;
        }
        let empty_only = place == Where::First;
        let client = self.database.client_soon().await.map_err(Unsure::Known)?;
        let put = row_if_any(
            &client,
            concat!(
                "WITH held AS (
                     UPDATE session_log SET next_seq = next_seq + $5, next_pos = next_pos + $6,
                                            written = clock_timestamp()
                     WHERE person = $1 AND agent = $2 AND session = $3 AND ",
                is_held!(),
                " AND (next_pos = 0 OR NOT $7)
                     RETURNING person, agent, session, next_seq, next_pos, sealed_seq, sealed_pos,
                               generation),
                 added AS (
                     INSERT INTO turns (person, agent, session, seq, pos, turn, line)
                     SELECT person, agent, session, next_seq - $5 + number - 1,
                            next_pos - $6 + at, turn, line
                     FROM held, unnest($8::BIGINT[], $9::TEXT[], $10::BYTEA[])
                         WITH ORDINALITY AS new (at, turn, line, number))
                 SELECT next_pos, generation, next_seq - sealed_seq, next_pos - sealed_pos
                 FROM held",
            ),
            &key.with([
                &fence,
                &integer(lines.len() as u64),
                &integer(length),
                &empty_only,
                &offsets,
                &turns,
                &bytes,
            ]),
        )
        .await
        .map_err(Unsure::of)?;
        let Some(put) = put else { return Ok(None) };
        let read = || -> Result<(Appended, i64), StoreError> {
            let appended = Appended {
                end: Pos(count(&put, 0)?),
                unsealed_rows: count(&put, 2)?,
                unsealed_bytes: count(&put, 3)?,
            };
            Ok((appended, get(&put, 1)?))
        };
        let (appended, generation) = read().map_err(Unsure::Known)?;
        self.leases.wrote(lease, LogState { len: appended.end.0, stamp: generation.into() });
        Ok(Some(appended))
    }

    /// The answer was lost. Raising the fence waits for the statement or shuts it out, so the turns are there now or
    /// never will be; absent ones are put under the new fence.
    async fn find_out(&self, lease: &Lease, lines: &[NewLine]) -> Result<Appended, StoreError> {
        let Some(last) = lines.last() else { return Err(StoreError::LeaseLost) };
        let raised = self.leases.raise(lease).await;
        let (key, turn) = (LogKey::of(&lease.key), last.turn.to_string());
        let client = self.database.client().await?;
        let found = row_if_any(
            &client,
            "SELECT pos + octet_length(line) FROM turns
             WHERE person = $1 AND agent = $2 AND session = $3 AND turn = $4",
            &key.with([&turn]),
        )
        .await?;
        drop(client);
        match (found, raised) {
            // Written, whoever holds the session now.
            (Some(row), _) => {
                let len = count(&row, 0)?;
                if let Some(log) = self.leases.log(&lease.key) {
                    self.leases.wrote(lease, LogState { len, stamp: log.stamp });
                }
                // The next append sees how much is to be sealed.
                Ok(Appended { end: Pos(len), unsealed_rows: 0, unsealed_bytes: 0 })
            }
            (None, Err(error)) => Err(error),
            // Once is enough: when this is not answered either, the caller is told that it failed.
            (None, Ok(fence)) => {
                let put = self.put(lease, fence, lines, Where::AtTheEnd).await?;
                put.ok_or(StoreError::LeaseLost)
            }
        }
    }
}

/// Why a statement failed, and whether it may have happened all the same.
enum Unsure {
    Known(StoreError),
    Unknown(Error),
}

impl From<Unsure> for StoreError {
    fn from(unsure: Unsure) -> Self {
        match unsure {
            Unsure::Known(error) => error,
            Unsure::Unknown(error) => error.into(),
        }
    }
}

impl Unsure {
    fn of(error: Error) -> Self {
        let may_have_happened = match error.code() {
            // The server went away, or says itself that it does not know.
            Some(code) => {
                *code == SqlState::ADMIN_SHUTDOWN
                    || *code == SqlState::CRASH_SHUTDOWN
                    || *code == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN
                    || code.code().starts_with("08")
            }
            None => true,
        };
        if may_have_happened { Self::Unknown(error) } else { Self::Known(error.into()) }
    }
}
