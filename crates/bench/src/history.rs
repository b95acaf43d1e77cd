//! Makes a session as long as needed by repeating, with new ids, what the server itself wrote for
//! its first message. The turns go through the store, so that the log is the same as the server's
//! own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use onyx_storage::{Home, Lease, Store};
use onyx_types::{IdGenerator, SessionId, SessionKey, SystemClock, Timestamp, Turn};

const BATCH: usize = 1_000;
const LEASE: Duration = Duration::from_secs(600);

/// Appends whole runs until the log has at least `length` turns, and returns how many it has. No
/// server may be using the home.
pub(crate) async fn lengthen(home: &Path, session: SessionId, length: usize) -> Result<usize> {
    let store = Store::open_embedded(Home::open(home)?, Arc::new(SystemClock::new())).await?;
    let key = find(&store, session).await?;
    let pattern = store.turns.tail(&key, None, BATCH).await?.turns;
    let lease = store.leases.acquire(&key, LEASE).await?;
    let turns = repeat(&store, &lease, &pattern, length).await?;
    store.leases.release(&lease).await?;
    Ok(turns)
}

async fn find(store: &Store, session: SessionId) -> Result<SessionKey> {
    for person in store.files.people().await? {
        let keys = store.turns.sessions(&person).await?;
        if let Some(key) = keys.into_iter().find(|key| key.session == session) {
            return Ok(key);
        }
    }
    bail!("no log of session {session}")
}

async fn repeat(store: &Store, lease: &Lease, pattern: &[Turn], length: usize) -> Result<usize> {
    let mut now = pattern.last().context("the session's log is empty")?.ts;
    let mut mint = IdGenerator::new(1);
    let mut turns = pattern.len();
    while turns < length {
        let mut batch = Vec::new();
        while batch.len() < BATCH && turns + batch.len() < length {
            batch.extend(again(pattern, &mut mint, &mut now));
        }
        store.turns.append(lease, &batch).await?;
        turns += batch.len();
    }
    Ok(turns)
}

/// The same run once more, with new ids and a little later.
fn again(pattern: &[Turn], mint: &mut IdGenerator, now: &mut Timestamp) -> Vec<Turn> {
    let run = mint.run(*now);
    let mut renewed = pattern.to_vec();
    for turn in &mut renewed {
        *now = now.saturating_add(Duration::from_millis(1));
        (turn.id, turn.ts, turn.run) = (mint.turn(*now), *now, turn.run.map(|_| run));
    }
    renewed
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const TURN: &str = r#"{"id":"01890000-0000-7000-8000-000000000001","ts":"2026-11-01T00:00:00.000Z","run_id":"01890000-0000-7000-8000-000000000002","lane":0,"author":"person:owner","origin":"person","type":"user","content":"hello"}"#;

    async fn store(home: &Path) -> Store {
        Store::open_embedded(Home::open(home).unwrap(), Arc::new(SystemClock::new())).await.unwrap()
    }

    #[tokio::test]
    async fn a_log_is_lengthened_by_turns_of_its_own_kind_with_ids_of_their_own() {
        let home = tempfile::tempdir().unwrap();
        let first: Turn = serde_json::from_str(TURN).unwrap();
        let key = SessionKey {
            person: "owner".parse().unwrap(),
            agent: "main".parse().unwrap(),
            session: IdGenerator::new(7).session(first.ts),
        };
        let before = store(home.path()).await;
        let lease = before.leases.acquire(&key, LEASE).await.unwrap();
        before.turns.append(&lease, std::slice::from_ref(&first)).await.unwrap();
        drop(before);

        assert_eq!(lengthen(home.path(), key.session, 2_500).await.unwrap(), 2_500);

        let page = store(home.path()).await.turns.tail(&key, None, 3_000).await.unwrap();
        let ids: HashSet<String> = page.turns.iter().map(|turn| turn.id.to_string()).collect();
        assert_eq!(ids.len(), 2_500);
        assert!(page.turns.iter().all(|turn| turn.body == first.body));
        assert_eq!(page.damage, []);
    }
}
