//! Keeps histories of active sessions, so that their logs are not read and parsed again at each
//! message. Other histories are read from the log.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_storage::{LogState, Pos, StoreError, TurnLog};
use onyx_types::{Fault, SessionKey, Turn, TurnBody, TurnId};

use super::history::{History, is_question};
use super::weight::turn_weight;

/// The largest history that is kept.
const LARGEST: usize = 4 * 1024 * 1024;
const LARGEST_PAGE: usize = 2_048;

/// How much is read and kept.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// The most bytes of all histories together. The least recently used are dropped first.
    most_bytes: usize,
    /// How many turns the first read of a log takes. Each further read takes twice as many, up to
    /// the largest page.
    first_page: usize,
}

/// The logs are files of this machine, which are read in less than a millisecond.
const BESIDE_FILES: Limits = Limits { most_bytes: 768 * 1024, first_page: 64 };
/// Every read asks the database. There is room for the conversations of about a hundred people who
/// talk at once, and most conversations are read with one question.
const BESIDE_A_DATABASE: Limits = Limits { most_bytes: 16 * 1024 * 1024, first_page: 256 };

/// Histories of sessions that had a run lately.
pub(crate) struct HistoryCache {
    turns: Arc<dyn TurnLog>,
    limits: Limits,
    recent: Mutex<CachedHistories>,
}

#[derive(Default)]
struct CachedHistories {
    sessions: HashMap<SessionKey, Entry>,
    bytes: usize,
    /// Counts uses, so that the entry with the smallest stamp is the least recently used.
    clock: u64,
}

struct Entry {
    history: History,
    /// The state of the log that the history was made of.
    log: Option<LogState>,
    bytes: usize,
    used: u64,
}

impl HistoryCache {
    pub(crate) fn new(turns: Arc<dyn TurnLog>) -> Self {
        let limits = if turns.is_remote() { BESIDE_A_DATABASE } else { BESIDE_FILES };
        Self { turns, limits, recent: Mutex::default() }
    }

    /// Keeps the session's history after a run.
    pub(crate) fn keep(&self, key: SessionKey, history: History, log: Option<LogState>) {
        let bytes = history.bytes();
        let mut kept = self.lock();
        kept.remove(&key);
        if bytes > LARGEST {
            return;
        }
        while kept.bytes + bytes > self.limits.most_bytes {
            let oldest = kept.sessions.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            kept.remove(&oldest);
        }
        kept.clock += 1;
        let used = kept.clock;
        kept.bytes += bytes;
        kept.sessions.insert(key, Entry { history, log, bytes, used });
    }

    /// Returns the session's history, from the cache or from the log. The log is read from its
    /// newest turn back to the newest summary's range, or until a window of this size is filled.
    pub(crate) async fn load(&self, key: &SessionKey, window: usize) -> Result<History, Fault> {
        if let Some(mut entry) = self.take(key)
            && entry.catch_up(&*self.turns, key).await?
        {
            entry.history.limit(window * 2);
            return Ok(entry.history);
        }
        read(&*self.turns, key, window, self.limits.first_page).await
    }

    fn take(&self, key: &SessionKey) -> Option<Entry> {
        self.lock().remove(key)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CachedHistories> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedHistories {
    fn remove(&mut self, key: &SessionKey) -> Option<Entry> {
        let entry = self.sessions.remove(key)?;
        self.bytes -= entry.bytes;
        Some(entry)
    }
}

impl Entry {
    /// Brings the history up to date with what other gateways appended to the log. `false` if the
    /// log was changed in another way, by a crash or with an editor; then the history is useless.
    async fn catch_up(&mut self, turns: &dyn TurnLog, key: &SessionKey) -> Result<bool, Fault> {
        let (Some(left), Some(found)) = (self.log, turns.state_now(key)) else {
            return self.is_newest(turns, key).await;
        };
        if left == found {
            return Ok(true);
        }
        if left.stamp != found.stamp || found.len < left.len {
            return Ok(false);
        }
        let page = turns.tail_within(key, None, found.len - left.len).await?;
        if page.start != Pos(left.len) || !page.damage.is_empty() {
            return Ok(false);
        }
        self.history.extend(page.turns.into_iter().map(Arc::new));
        Ok(true)
    }

    async fn is_newest(&self, turns: &dyn TurnLog, key: &SessionKey) -> Result<bool, Fault> {
        let newest = match turns.tail(key, None, 1).await {
            Ok(page) => page.turns.into_iter().next(),
            Err(StoreError::NotFound) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(newest.as_ref() == self.history.newest())
    }
}

async fn read(
    turns: &dyn TurnLog,
    key: &SessionKey,
    window: usize,
    first_page: usize,
) -> Result<History, Fault> {
    let mut pages = Vec::new();
    let (mut before, mut tokens, mut replaced) = (None, 0, None);
    let mut size = first_page;
    // What counts begins with a person's words: an answer without its question is of no use.
    let mut usable = 0;
    let cut_off = loop {
        let page = match turns.tail(key, before, size).await {
            Ok(page) => page,
            Err(StoreError::NotFound) => break false,
            Err(error) => return Err(error.into()),
        };
        let weigh = |page: &[Turn]| page.iter().map(turn_weight).sum::<usize>();
        if let Some(question) = page.turns.iter().position(is_question) {
            usable = tokens + weigh(&page.turns[question..]);
        }
        tokens += weigh(&page.turns);
        replaced = replaced.or_else(|| replaced_by_summary(&page.turns));
        let reached = replaced.is_some_and(|last| page.turns.iter().any(|turn| turn.id == last));
        before = Some(page.start);
        size = (size * 2).min(LARGEST_PAGE);
        pages.push(page.turns);
        if !page.has_older || reached {
            break false;
        }
        if usable > window {
            break true;
        }
    };
    let mut history: History = pages.into_iter().rev().flatten().collect();
    if cut_off {
        history.begin_with_question();
    }
    Ok(history)
}

/// The last turn that the newest summary among these turns replaces.
fn replaced_by_summary(turns: &[Turn]) -> Option<TurnId> {
    turns.iter().rev().find_map(|turn| match &turn.body {
        TurnBody::Summary(summary) => Some(summary.replaces.last),
        _ => None,
    })
}
