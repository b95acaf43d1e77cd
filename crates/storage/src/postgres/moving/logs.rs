//! Moves logs. A whole log becomes one sealed segment, which holds its exact bytes.

use std::path::PathBuf;

use deadpool_postgres::GenericClient;

use super::server_side::ServerSide;
use super::{MoveCounts, MoveError};
use crate::StoreError;
use crate::postgres::convert::{get, integer};
use crate::postgres::files::Blobs;
use crate::postgres::query::{execute, rows};
use crate::postgres::transaction::{TransactionError, transact};
use crate::postgres::turns::{pack, unpack};

/// The name of one log, the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogName {
    pub(super) person: String,
    pub(super) agent: String,
    pub(super) session: String,
}

impl LogName {
    /// Reads the name from a path of the form `people/<person>/sessions/<agent>/<session>.jsonl`.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix("people/")?.split('/');
        let (person, sessions) = (parts.next()?, parts.next()?);
        let (agent, file) = (parts.next()?, parts.next()?);
        let session = file.strip_suffix(".jsonl")?;
        let is_log = sessions == "sessions" && parts.next().is_none();
        is_log.then(|| Self {
            person: person.to_owned(),
            agent: agent.to_owned(),
            session: session.to_owned(),
        })
    }
}

pub(super) fn path(key: &LogName) -> PathBuf {
    let LogName { person, agent, session } = key;
    format!("people/{person}/sessions/{agent}/{session}.jsonl").into()
}

/// Cuts off a line that a crash left incomplete. It was never acknowledged, and the next start of a
/// home would move it to another file.
pub(super) fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

pub(super) async fn into_server(
    server: &ServerSide,
    key: &LogName,
    log: &[u8],
    moved: &mut MoveCounts,
) -> Result<(), MoveError> {
    let lines = whole_lines(log);
    moved.logs += 1;
    moved.bytes += lines.len() as u64;
    let there = bytes(&server.database.client().await?, &server.blobs, key).await?;
    if there == lines && exists(server, key).await? {
        moved.already_there += 1;
        return Ok(());
    }
    Ok(put(server, key, lines).await?)
}

/// Adds a conversation if there is none, or if it was deleted. Says whether it did.
pub(super) async fn add(
    server: &ServerSide,
    key: &LogName,
    log: &[u8],
) -> Result<bool, StoreError> {
    let lines = whole_lines(log);
    let name = server.blobs.keep(&key.person, &pack(lines)?).await?;
    let count = integer(lines.iter().filter(|byte| **byte == b'\n').count() as u64);
    let length = integer(lines.len() as u64);
    let LogName { person, agent, session } = key;
    transact!(server.database, transaction => {
        server.blobs.refer(&transaction, person, &name).await?;
        // The fence is a new one, so nobody who held the log before it was deleted holds it now.
        let log = "INSERT INTO session_log (person, agent, session, fence, gateway, incarnation, until,
                                            next_seq, next_pos, sealed_seq, sealed_pos)
                   VALUES ($1, $2, $3, nextval('fences'), '', 0, '-infinity', $4, $5, $4, $5)
                   ON CONFLICT (person, agent, session) DO UPDATE
                   SET fence = excluded.fence, gateway = '', incarnation = 0, until = '-infinity',
                       next_seq = excluded.next_seq, next_pos = excluded.next_pos,
                       sealed_seq = excluded.sealed_seq, sealed_pos = excluded.sealed_pos,
                       written = clock_timestamp()
                   WHERE session_log.next_pos = 0
                     AND (session_log.generation > 0 OR session_log.until < clock_timestamp())";
        let is_free = execute(&transaction, log, &[person, agent, session, &count, &length]).await? > 0;
        if is_free && count > 0 {
            segment(&transaction, key, count, length, &name).await?;
        }
        Ok(is_free)
    })
}

/// Stores a log and replaces what an earlier try left.
async fn put(server: &ServerSide, key: &LogName, lines: &[u8]) -> Result<(), StoreError> {
    let packed = pack(lines)?;
    let name = server.blobs.keep(&key.person, &packed).await?;
    let count = integer(lines.iter().filter(|byte| **byte == b'\n').count() as u64);
    let length = integer(lines.len() as u64);
    let LogName { person, agent, session } = key;
    transact!(server.database, transaction => {
        server.blobs.refer(&transaction, person, &name).await?;
        for remove in [
            "DELETE FROM segments WHERE person = $1 AND agent = $2 AND session = $3",
            "DELETE FROM turns WHERE person = $1 AND agent = $2 AND session = $3",
            "DELETE FROM session_log WHERE person = $1 AND agent = $2 AND session = $3",
        ] {
            execute(&transaction, remove, &[person, agent, session]).await?;
        }
        // The new row says that no gateway holds the log.
        let log = "INSERT INTO session_log (person, agent, session, fence, gateway, incarnation, until,
                                            next_seq, next_pos, sealed_seq, sealed_pos)
                   VALUES ($1, $2, $3, nextval('fences'), '', 0, '-infinity', $4, $5, $4, $5)";
        execute(&transaction, log, &[person, agent, session, &count, &length]).await?;
        if count > 0 {
            segment(&transaction, key, count, length, &name).await?;
        }
        Ok(())
    })
}

/// Inserts the only segment of a log with that many lines and bytes.
async fn segment(
    client: &impl GenericClient,
    key: &LogName,
    count: i64,
    length: i64,
    name: &str,
) -> Result<(), TransactionError> {
    let segment = "INSERT INTO segments (person, agent, session, first_seq, last_seq, first_pos,
                                         end_pos, sha256)
                   VALUES ($1, $2, $3, 0, $4, 0, $5, $6)";
    let LogName { person, agent, session } = key;
    let given: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
        [person, agent, session, &(count - 1), &length, &name];
    execute(client, segment, &given).await?;
    Ok(())
}

async fn exists(server: &ServerSide, key: &LogName) -> Result<bool, MoveError> {
    let client = server.database.client().await?;
    let select = "SELECT 1 FROM session_log WHERE person = $1 AND agent = $2 AND session = $3";
    let found = rows(&client, select, &[&key.person, &key.agent, &key.session]).await;
    Ok(!found.map_err(StoreError::from)?.is_empty())
}

/// Lists the logs in order.
pub(super) async fn of_server(server: &ServerSide) -> Result<Vec<LogName>, MoveError> {
    let client = server.database.client().await?;
    // A session whose log was never written to has no log file in a home, so it is left out.
    let select = "SELECT person, agent, session FROM session_log WHERE next_pos > 0
                  ORDER BY person, agent, session";
    let found = rows(&client, select, &[]).await.map_err(StoreError::from)?;
    let mut all = Vec::with_capacity(found.len());
    for row in &found {
        all.push(LogName { person: get(row, 0)?, agent: get(row, 1)?, session: get(row, 2)? });
    }
    Ok(all)
}

/// Reads a log: first its sealed segments, then the lines that are still in rows.
pub(super) async fn bytes(
    client: &impl GenericClient,
    blobs: &Blobs,
    key: &LogName,
) -> Result<Vec<u8>, MoveError> {
    let given: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
        [&key.person, &key.agent, &key.session];
    let segments = "SELECT sha256 FROM segments
                    WHERE person = $1 AND agent = $2 AND session = $3 ORDER BY first_pos";
    let segments = rows(client, segments, &given).await.map_err(StoreError::from)?;
    let lines = "SELECT line FROM turns
                 WHERE person = $1 AND agent = $2 AND session = $3 ORDER BY pos";
    let lines = rows(client, lines, &given).await.map_err(StoreError::from)?;
    let mut all = Vec::new();
    for row in &segments {
        all.extend(unpack(&blobs.get(&key.person, get(row, 0)?).await?)?);
    }
    for row in &lines {
        all.extend_from_slice(get(row, 0)?);
    }
    Ok(all)
}
