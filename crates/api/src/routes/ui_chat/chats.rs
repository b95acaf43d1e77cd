//! The sessions that chats of `useChat` began, and the readers of the runs of such chats. Both are
//! known at every gateway.

use std::sync::Arc;
use std::time::Duration;

use onyx_agent::{Runs, StopTarget};
use onyx_storage::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom, StoreError};
use onyx_types::{ErrorCode, Fault, PersonId, RunId, SessionId};
use serde::{Deserialize, Serialize};

use crate::ApiState;

/// How many chats of a person are remembered, and for how long. The session of a forgotten one is
/// still found by its id, which every answer contains.
const CHATS: ShortLivedRoom = ShortLivedRoom::of_entries(1_024);
const CHAT_LASTS: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How many runs of a person are read at once, and the longest time that a run is read.
const READ_RUNS: ShortLivedRoom = ShortLivedRoom::of_entries(1_024);
const READING_LASTS: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a run continues without a reader. A page that is reloaded rejoins within this time;
/// `stop()` of `useChat` only closes the connection, so the run is stopped after it.
const PATIENCE: Duration = Duration::from_secs(8);

/// The chats and readers of all people. Cheap to clone.
#[derive(Clone)]
pub(super) struct UiChats(Arc<dyn ShortLived>);

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Readers {
    now: u64,
    /// How many readers there were so far. A waiting task compares it to know whether another one
    /// came.
    ever: u64,
}

impl UiChats {
    pub(super) fn of(state: &ApiState) -> Self {
        Self(Arc::clone(&state.store.short_lived))
    }

    pub(super) async fn note(
        &self,
        person: &PersonId,
        chat: &str,
        session: SessionId,
    ) -> Result<(), StoreError> {
        let entry = ShortLivedEntry::of(person, chat, session.to_string(), CHAT_LASTS);
        self.0.put(ShortLivedKind::Chat, entry, CHATS).await
    }

    pub(super) async fn session(
        &self,
        person: &PersonId,
        chat: &str,
    ) -> Result<Option<SessionId>, StoreError> {
        let key = ShortLivedEntry::key_of(person, chat);
        let found = self.0.get(ShortLivedKind::Chat, key).await?;
        Ok(found.and_then(|found| found.value.parse().ok()))
    }

    /// Registers a reader of this run.
    pub(super) async fn read(&self, runs: &Runs, person: &PersonId, run: RunId) -> Reader {
        let is_counted = match self.come(person, run).await {
            Ok(()) => true,
            Err(fault) => {
                tracing::warn!(%run, %fault, "a reader is not counted; the run goes on without it");
                false
            }
        };
        Reader {
            chats: self.clone(),
            runs: runs.clone(),
            person: person.clone(),
            run,
            is_counted,
            is_done: false,
        }
    }

    async fn come(&self, person: &PersonId, run: RunId) -> Result<(), Fault> {
        let first = Readers { now: 1, ever: 1 }.written()?;
        let more = |readers: Readers| Readers { now: readers.now + 1, ever: readers.ever + 1 };
        loop {
            let entry = ShortLivedEntry::of(person, &run.to_string(), first.clone(), READING_LASTS);
            let there = self.0.put_new(ShortLivedKind::ChatReaders, entry, READ_RUNS).await?;
            if there.is_none() || self.change(person, run, more).await?.is_some() {
                return Ok(());
            }
        }
    }

    /// Removes a reader. Returns the number of readers so far if no other one is left.
    async fn leave(&self, person: &PersonId, run: RunId) -> Result<Option<u64>, Fault> {
        let fewer = |readers: Readers| Readers { now: readers.now.saturating_sub(1), ..readers };
        let left = self.change(person, run, fewer).await?;
        Ok(left.filter(|left| left.now == 0).map(|left| left.ever))
    }

    /// Removes the last reader of a run that has ended. Others remove themselves.
    async fn leave_at_end(&self, person: &PersonId, run: RunId) -> Result<(), Fault> {
        if self.leave(person, run).await?.is_some() {
            self.forget(person, run).await?;
        }
        Ok(())
    }

    /// Removes a reader before the end, and stops the run if it has no reader for a while.
    async fn leave_early(&self, runs: &Runs, person: &PersonId, run: RunId) -> Result<(), Fault> {
        let Some(ever) = self.leave(person, run).await? else { return Ok(()) };
        tokio::time::sleep(PATIENCE).await;
        let key = ShortLivedEntry::key_of(person, &run.to_string());
        let Some(found) = self.0.get(ShortLivedKind::ChatReaders, key).await? else {
            return Ok(());
        };
        let readers = Readers::read(&found.value)?;
        if readers.now > 0 || readers.ever > ever {
            return Ok(());
        }
        self.forget(person, run).await?;
        runs.stop(person, StopTarget::Run(run)).await?;
        Ok(())
    }

    async fn forget(&self, person: &PersonId, run: RunId) -> Result<(), Fault> {
        let key = ShortLivedEntry::key_of(person, &run.to_string());
        self.0.take(ShortLivedKind::ChatReaders, key).await?;
        Ok(())
    }

    /// Changes the count of a run's readers; `None` if there is none. Another gateway may change it
    /// at the same moment, and then it is read again.
    async fn change(
        &self,
        person: &PersonId,
        run: RunId,
        change: impl Fn(Readers) -> Readers,
    ) -> Result<Option<Readers>, Fault> {
        let key = ShortLivedEntry::key_of(person, &run.to_string());
        loop {
            let Some(before) = self.0.get(ShortLivedKind::ChatReaders, key).await? else {
                return Ok(None);
            };
            let after = change(Readers::read(&before.value)?);
            if self.0.replace(ShortLivedKind::ChatReaders, &before, after.written()?).await? {
                return Ok(Some(after));
            }
        }
    }
}

impl Readers {
    fn read(text: &str) -> Result<Self, Fault> {
        serde_json::from_str(text).map_err(|error| unreadable(&error))
    }

    fn written(self) -> Result<String, Fault> {
        serde_json::to_string(&self).map_err(|error| unreadable(&error))
    }
}

fn unreadable(error: &serde_json::Error) -> Fault {
    Fault::new(
        ErrorCode::Internal,
        format!("the count of a run's readers is not understood: {error}"),
    )
}

/// A client that reads a run. When the last reader leaves before the end and none returns, the run
/// is stopped.
pub(super) struct Reader {
    chats: UiChats,
    runs: Runs,
    person: PersonId,
    run: RunId,
    /// Whether the other gateways know of this reader. A run with unknown readers is not stopped.
    is_counted: bool,
    is_done: bool,
}

impl Reader {
    /// Notes that everything was sent, so that the run continues when this reader leaves.
    pub(super) fn done(&mut self) {
        self.is_done = true;
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if !self.is_counted {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (chats, runs) = (self.chats.clone(), self.runs.clone());
        let (person, run, is_done) = (self.person.clone(), self.run, self.is_done);
        runtime.spawn(async move {
            let left = if is_done {
                chats.leave_at_end(&person, run).await
            } else {
                chats.leave_early(&runs, &person, run).await
            };
            if let Err(fault) = left {
                tracing::warn!(%run, %fault, "a reader could not be removed; its run goes on to its end");
            }
        });
    }
}
