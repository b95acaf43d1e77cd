//! The turns that a session's next prompt is made of: read from the log, and kept for a while, so
//! that a conversation under way is not read and parsed anew at every message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_storage::{Store, StoreError};
use onyx_types::{Fault, RunStatus, SessionKey, Turn, TurnBody};

use crate::prompt;

/// All of them together; the longest unused go first.
const MOST_BYTES: usize = 3 * 1024 * 1024;
/// What a turn takes beside its text.
const TURN_BYTES: usize = 400;
const PAGE: usize = 64;

/// Histories of sessions that were at work lately.
#[derive(Default)]
pub(crate) struct RecentTurns(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    sessions: HashMap<SessionKey, Entry>,
    bytes: usize,
    /// Counts uses; the smallest stamp is the longest unused.
    clock: u64,
}

struct Entry {
    turns: Vec<Arc<Turn>>,
    bytes: usize,
    used: u64,
}

impl RecentTurns {
    /// The session's history as a run left it.
    pub(crate) fn keep(&self, key: SessionKey, turns: Vec<Arc<Turn>>) {
        let turns = without_marks(turns);
        let bytes: usize = turns.iter().map(|turn| weight(turn)).sum();
        let mut kept = self.lock();
        kept.remove(&key);
        if bytes > MOST_BYTES {
            return;
        }
        while kept.bytes + bytes > MOST_BYTES {
            let oldest = kept.sessions.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            kept.remove(&oldest);
        }
        kept.clock += 1;
        let used = kept.clock;
        kept.bytes += bytes;
        kept.sessions.insert(key, Entry { turns, bytes, used });
    }

    /// From the newest back: to where the newest summary begins to stand for what is older, or
    /// until a window of this size is surely filled. Never reads more of a long log than that.
    pub(crate) async fn load(
        &self,
        store: &Store,
        key: &SessionKey,
        window: usize,
    ) -> Result<Vec<Arc<Turn>>, Fault> {
        if let Some(turns) = self.take(key)
            && is_current(store, key, &turns).await?
        {
            return Ok(within(turns, window));
        }
        read(store, key, window).await
    }

    fn take(&self, key: &SessionKey) -> Option<Vec<Arc<Turn>>> {
        self.lock().remove(key)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, key: &SessionKey) -> Option<Vec<Arc<Turn>>> {
        let entry = self.sessions.remove(key)?;
        self.bytes -= entry.bytes;
        Some(entry.turns)
    }
}

/// Half of a log are marks of where runs began and ended well, of which a prompt shows nothing.
/// The newest turn stays whatever it is: by it we know that the log has not changed.
fn without_marks(mut turns: Vec<Arc<Turn>>) -> Vec<Arc<Turn>> {
    let newest = turns.pop();
    turns.retain(|turn| match &turn.body {
        TurnBody::RunStart(_) => false,
        TurnBody::RunEnd(end) => end.status != RunStatus::Done,
        TurnBody::User(_)
        | TurnBody::Reasoning(_)
        | TurnBody::AssistantText(_)
        | TurnBody::ToolCall(_)
        | TurnBody::ToolResult(_)
        | TurnBody::Decision(_)
        | TurnBody::Summary(_)
        | TurnBody::Unknown(_) => true,
    });
    turns.extend(newest);
    turns
}

/// Does the log still end where these turns end? Another run, a crash or a person with an editor
/// may have been there.
async fn is_current(store: &Store, key: &SessionKey, turns: &[Arc<Turn>]) -> Result<bool, Fault> {
    let newest = match store.turns.tail(key, None, 1).await {
        Ok(page) => page.turns.into_iter().next(),
        Err(StoreError::NotFound) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(newest.as_ref() == turns.last().map(|turn| &**turn))
}

/// Drops from the front what no prompt of this window can use.
fn within(mut turns: Vec<Arc<Turn>>, window: usize) -> Vec<Arc<Turn>> {
    let replaced = prompt::newest_summary(&turns).map(|summary| summary.replaces.last);
    let start = replaced.and_then(|last| turns.iter().position(|turn| turn.id == last));
    if let Some(start) = start {
        turns.drain(..start);
    }
    let mut tokens = 0;
    let mut fits = |turn: &Arc<Turn>| {
        tokens += prompt::turn_weight(turn);
        tokens <= window * 2
    };
    let kept = turns.iter().rev().take_while(|turn| fits(turn)).count();
    turns.drain(..turns.len() - kept);
    turns
}

async fn read(store: &Store, key: &SessionKey, window: usize) -> Result<Vec<Arc<Turn>>, Fault> {
    let mut pages = Vec::new();
    let (mut before, mut tokens, mut replaced) = (None, 0, None);
    loop {
        let page = match store.turns.tail(key, before, PAGE).await {
            Ok(page) => page,
            Err(StoreError::NotFound) => break,
            Err(error) => return Err(error.into()),
        };
        tokens += page.turns.iter().map(prompt::turn_weight).sum::<usize>();
        replaced =
            replaced.or_else(|| prompt::newest_summary(&page.turns).map(|s| s.replaces.last));
        let reached = replaced.is_some_and(|last| page.turns.iter().any(|turn| turn.id == last));
        before = Some(page.start);
        let enough = !page.has_older || reached || tokens > window * 2;
        pages.push(page.turns);
        if enough {
            break;
        }
    }
    Ok(pages.into_iter().rev().flatten().map(Arc::new).collect())
}

fn weight(turn: &Turn) -> usize {
    let text = match &turn.body {
        TurnBody::User(user) => {
            user.content.byte_len() + user.context.as_ref().map_or(0, String::len)
        }
        TurnBody::AssistantText(text) => text.content.len(),
        TurnBody::ToolResult(result) => result.output.len(),
        TurnBody::Summary(summary) => summary.content.len(),
        TurnBody::ToolCall(_) | TurnBody::Reasoning(_) | TurnBody::Unknown(_) => 2_000,
        TurnBody::Decision(_) | TurnBody::RunStart(_) | TurnBody::RunEnd(_) => 0,
    };
    text + TURN_BYTES
}
