//! Reads logs backwards: first from rows, then from sealed segments.

use onyx_types::{SessionKey, TurnId};

use super::append::NewLine;
use super::{LogKey, PostgresTurnLog};
use crate::local::{FoundTurns, Line, decode_line};
use crate::postgres::convert::{count, get, integer};
use crate::postgres::query::rows;
use crate::{LogTail, Page, Pos, StoreError};

/// How much of a log is read at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadLimits {
    pub(super) turns: usize,
    /// The bound on bytes. One line may exceed it.
    pub(super) bytes: u64,
}

/// The most rows that one query returns.
const ROWS_AT_ONCE: usize = 2_000;
/// How much a copy reads at a time.
const COPIED_AT_ONCE: ReadLimits = ReadLimits { turns: usize::MAX, bytes: 4 * 1024 * 1024 };

/// A line and the position at which it begins.
pub(super) struct PlacedLine {
    pub(super) at: u64,
    pub(super) bytes: Vec<u8>,
}

/// Consecutive lines, newest first.
struct Lines {
    lines: Vec<PlacedLine>,
    start: u64,
}

impl PostgresTurnLog {
    pub(super) async fn page(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        limits: ReadLimits,
    ) -> Result<Page, StoreError> {
        let Some(read) = self.read(key, before, limits).await? else { return Ok(Page::default()) };
        let mut found = FoundTurns::default();
        for mut line in read.lines {
            found.take(line.at, &mut line.bytes);
        }
        Ok(found.into_page(read.start).page)
    }

    /// Returns the lines up to and including a turn, oldest first. `NotFound` when there is no such
    /// turn.
    pub(super) async fn lines_through(
        &self,
        key: &SessionKey,
        through: TurnId,
    ) -> Result<Vec<NewLine>, StoreError> {
        let mut copied: Vec<NewLine> = Vec::new();
        let mut before = None;
        while let Some(read) = self.read(key, before, COPIED_AT_ONCE).await? {
            for mut line in read.lines {
                let turn = match decode_line(&mut line.bytes) {
                    Line::Turn(turn) | Line::Altered(turn, _) => turn.id,
                    // Lines that cannot be read are not copied.
                    Line::Unreadable(_) | Line::Blank => continue,
                };
                if turn == through || !copied.is_empty() {
                    copied.push(NewLine { turn, bytes: line.bytes });
                }
            }
            if read.start == 0 {
                break;
            }
            before = Some(Pos(read.start));
        }
        copied.reverse();
        if copied.is_empty() { Err(StoreError::NotFound) } else { Ok(copied) }
    }

    /// The log's state and its lines from a position on. `Conflict`: it ends before that, as after a failover to a database
    /// that had not got everything.
    pub(super) async fn tail_from(
        &self,
        key: &SessionKey,
        from: u64,
    ) -> Result<LogTail, StoreError> {
        let key = LogKey::of(key);
        let state = self.state(&key).await?.ok_or(StoreError::Conflict)?;
        let bytes = state.len.checked_sub(from).ok_or(StoreError::Conflict)?;
        // The append before may have had the log sealed meanwhile, with these lines in the segment.
        let read =
            self.read_before(&key, state.len, ReadLimits { turns: usize::MAX, bytes }).await?;
        let lines = read.lines.into_iter().rev().map(|line| line.bytes).collect();
        Ok(LogTail { state, lines })
    }

    /// Reads the last lines before a position. `None`: there is no log.
    async fn read(
        &self,
        key: &SessionKey,
        before: Option<Pos>,
        limits: ReadLimits,
    ) -> Result<Option<Lines>, StoreError> {
        // If this gateway holds the log, no other gateway moves its end, so the known length can be
        // used.
        let held = self.leases.log(key);
        let key = LogKey::of(key);
        let state = match held {
            Some(state) => Some(state),
            None => self.state(&key).await?,
        };
        let Some(state) = state else { return Ok(None) };
        let end = before.map_or(state.len, |pos| pos.0.min(state.len));
        self.read_before(&key, end, limits).await.map(Some)
    }

    async fn read_before(
        &self,
        key: &LogKey,
        end: u64,
        limits: ReadLimits,
    ) -> Result<Lines, StoreError> {
        let mut read = Lines { lines: Vec::new(), start: end };
        while read.start > 0 && read.lines.len() < limits.turns && end - read.start < limits.bytes {
            let wanted = (limits.turns - read.lines.len()).min(ROWS_AT_ONCE);
            let floor = end.saturating_sub(limits.bytes);
            let mut older = self.rows_before(key, read.start, floor, wanted).await?;
            if older.is_empty() {
                older = self.sealed_before(key, read.start).await?;
            }
            // The log was deleted meanwhile.
            let Some(newest) = older.first() else { break };
            if newest.at + newest.bytes.len() as u64 != read.start {
                return Err(StoreError::Refused("not a position of this log".to_owned()));
            }
            for line in older {
                if read.lines.len() == limits.turns || end - read.start >= limits.bytes {
                    break;
                }
                read.start = line.at;
                read.lines.push(line);
            }
        }
        Ok(read)
    }

    async fn rows_before(
        &self,
        key: &LogKey,
        before: u64,
        floor: u64,
        limit: usize,
    ) -> Result<Vec<PlacedLine>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT pos, line FROM turns
             WHERE person = $1 AND agent = $2 AND session = $3 AND pos < $4
               AND pos >= coalesce((SELECT max(pos) FROM turns
                                    WHERE person = $1 AND agent = $2 AND session = $3
                                      AND pos <= $5), 0)
             ORDER BY pos DESC LIMIT $6",
            &key.with([&integer(before), &integer(floor), &integer(limit as u64)]),
        )
        .await?;
        let line = |row| Ok(PlacedLine { at: count(row, 0)?, bytes: get(row, 1)? });
        found.iter().map(line).collect()
    }
}
