//! Sealing moves lines that will not change from their rows into one object. The object is written
//! and read back before one transaction replaces the rows by it.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use onyx_types::SessionKey;

use super::append::LogAfterAppend;
use super::page::PlacedLine;
use super::{LogKey, PostgresTurnLog};
use crate::StoreError;
use crate::blocking::lock;
use crate::postgres::convert::{count, get, integer};
use crate::postgres::query::{execute, row_if_any, rows};
use crate::postgres::transaction::transact;

/// When the lines of a log are sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealing {
    /// The lines are sealed when their rows hold this many bytes, in a task beside the append that
    /// reached them.
    Beside { bytes: u64 },
    /// The lines are sealed when there are this many rows, before the append returns. Tests use
    /// this, so that they read from objects.
    AtOnce { rows: u64 },
}

impl Default for Sealing {
    fn default() -> Self {
        Self::Beside { bytes: 1024 * 1024 }
    }
}

/// How many segments are kept in memory for the pages that follow.
const MOST_KEPT: usize = 8;

/// The segments that were read last, unpacked into their lines.
#[derive(Debug, Default)]
pub(super) struct SegmentCache(Mutex<VecDeque<(String, Arc<Vec<u8>>)>>);

impl SegmentCache {
    fn get(&self, name: &str) -> Option<Arc<Vec<u8>>> {
        lock(&self.0).iter().find(|(of, _)| of == name).map(|(_, lines)| Arc::clone(lines))
    }

    fn keep(&self, name: String, lines: Arc<Vec<u8>>) {
        let mut kept = lock(&self.0);
        kept.push_front((name, lines));
        kept.truncate(MOST_KEPT);
    }
}

impl Sealing {
    pub(super) fn is_due(self, appended: &LogAfterAppend) -> bool {
        match self {
            Self::Beside { bytes } => appended.unsealed_bytes >= bytes,
            Self::AtOnce { rows } => appended.unsealed_rows >= rows,
        }
    }
}

impl PostgresTurnLog {
    /// Seals a log. If that fails, the log is still complete and the next append tries again.
    pub(super) async fn seal_now_or_beside(&self, key: &SessionKey) {
        let (log, session) = (self.clone(), key.session);
        let key = LogKey::of(key);
        let seal = async move {
            match log.seal(&key).await {
                // Another gateway or an earlier append has sealed the log meanwhile.
                Ok(()) | Err(StoreError::Conflict) => {}
                Err(error) => {
                    tracing::warn!(%session, %error, "a log could not be sealed; trying later");
                }
            }
        };
        match self.sealing {
            Sealing::AtOnce { .. } => seal.await,
            Sealing::Beside { .. } => drop(tokio::spawn(seal)),
        }
    }

    /// Seals up to a hundred of the logs that were not written to for this long. Returns how many
    /// it sealed.
    pub(crate) async fn seal_idle(&self, idle: Duration) -> Result<u64, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT DISTINCT person, agent, session FROM turns
             JOIN session_log USING (person, agent, session)
             WHERE written < clock_timestamp() - $1::DOUBLE PRECISION * INTERVAL '1 second'
             LIMIT 100",
            &[&idle.as_secs_f64()],
        )
        .await?;
        drop(client);
        let mut sealed = 0;
        for row in &found {
            let key = LogKey { person: get(row, 0)?, agent: get(row, 1)?, session: get(row, 2)? };
            match self.seal(&key).await {
                Ok(()) => sealed += 1,
                // Another gateway has written to, deleted or sealed the log meanwhile.
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sealed)
    }

    /// Seals one log. `Conflict`: the log was deleted, or another gateway sealed it meanwhile.
    async fn seal(&self, key: &LogKey) -> Result<(), StoreError> {
        let Some(found) = self.unsealed(key).await? else { return Ok(()) };
        let end_pos = found.first_pos + integer(found.lines.len() as u64);
        let name = self.blobs.keep(&key.person, &pack(&found.lines)?).await?;
        // The object is read back before the rows are deleted, because from then on it is the only
        // copy.
        if unpack(&self.blobs.get(&key.person, &name).await?)? != found.lines {
            return Err(StoreError::Damaged("the object store changed a log".to_owned()));
        }
        transact!(self.database, transaction => {
            self.blobs.refer(&transaction, &key.person, &name).await?;
            let taken = execute(
                &transaction,
                "UPDATE session_log SET sealed_seq = $6, sealed_pos = $7
                 WHERE person = $1 AND agent = $2 AND session = $3 AND generation = $4
                   AND sealed_pos = $5",
                &key.with([
                    &found.generation,
                    &found.first_pos,
                    &(found.last_seq + 1),
                    &end_pos,
                ]),
            )
            .await?;
            if taken == 0 {
                return Err(StoreError::Conflict.into());
            }
            execute(
                &transaction,
                "DELETE FROM turns
                 WHERE person = $1 AND agent = $2 AND session = $3 AND pos >= $4 AND pos < $5",
                &key.with([&found.first_pos, &end_pos]),
            )
            .await?;
            execute(
                &transaction,
                "INSERT INTO segments (person, agent, session, first_seq, last_seq, first_pos,
                                       end_pos, sha256)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                &key.with([&found.first_seq, &found.last_seq, &found.first_pos, &end_pos, &name]),
            )
            .await?;
            Ok(())
        })
    }

    /// Reads everything that is still in rows, in one query and so from one moment.
    async fn unsealed(&self, key: &LogKey) -> Result<Option<Unsealed>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            "SELECT seq, pos, line, generation FROM turns
             JOIN session_log USING (person, agent, session)
             WHERE person = $1 AND agent = $2 AND session = $3 ORDER BY pos",
            &key.given(),
        )
        .await?;
        let (Some(first), Some(last)) = (found.first(), found.last()) else { return Ok(None) };
        let mut lines: Vec<u8> = Vec::new();
        for row in &found {
            lines.extend_from_slice(get(row, 2)?);
        }
        Ok(Some(Unsealed {
            generation: get(first, 3)?,
            first_seq: get(first, 0)?,
            last_seq: get(last, 0)?,
            first_pos: get(first, 1)?,
            lines,
        }))
    }

    /// Reads the lines before a position from the segment that contains or ends at it, newest
    /// first. The list is empty if nothing is sealed there.
    pub(super) async fn sealed_before(
        &self,
        key: &LogKey,
        before: u64,
    ) -> Result<Vec<PlacedLine>, StoreError> {
        let client = self.database.client().await?;
        let found = row_if_any(
            &client,
            "SELECT first_pos, sha256 FROM segments
             WHERE person = $1 AND agent = $2 AND session = $3 AND first_pos < $4 AND end_pos >= $4",
            &key.with([&integer(before)]),
        )
        .await?;
        drop(client);
        let Some(found) = found else { return Ok(Vec::new()) };
        let (first, name): (u64, String) = (count(&found, 0)?, get(&found, 1)?);
        let lines = match self.segments.get(&name) {
            Some(lines) => lines,
            None => {
                let lines = Arc::new(unpack(&self.blobs.get(&key.person, &name).await?)?);
                self.segments.keep(name, Arc::clone(&lines));
                lines
            }
        };
        let mut placed = Vec::new();
        let mut at = first;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            if at >= before {
                break;
            }
            placed.push(PlacedLine { at, bytes: line.to_vec() });
            at += line.len() as u64;
        }
        placed.reverse();
        Ok(placed)
    }
}

/// The lines of a log that are still in rows.
struct Unsealed {
    generation: i64,
    first_seq: i64,
    last_seq: i64,
    first_pos: i64,
    lines: Vec<u8>,
}

pub(in crate::postgres) fn pack(lines: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(lines)?;
    Ok(packed.finish()?)
}

pub(in crate::postgres) fn unpack(packed: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut lines = Vec::new();
    let read = GzDecoder::new(packed).read_to_end(&mut lines);
    read.map_err(|error| StoreError::Damaged(format!("a sealed log: {error}")))?;
    Ok(lines)
}
