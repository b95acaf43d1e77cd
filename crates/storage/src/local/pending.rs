use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{Clock, Hash};

use crate::blocking::lock;
use crate::{PendingEntries, PendingEntry, PendingKind, StoreError};

/// The pending entries of one process. They are lost with the process, as is a link that it printed
/// in its terminal.
#[derive(Debug)]
pub struct LocalPending {
    clock: Arc<dyn Clock>,
    /// The entries, oldest first.
    waiting: Mutex<Vec<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    kind: PendingKind,
    key: Hash,
    value: String,
    /// The expiry on the monotonic clock, because a jump of the wall clock must not make an entry
    /// last longer.
    until: Duration,
}

impl LocalPending {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, waiting: Mutex::default() }
    }

    fn now(&self) -> Duration {
        self.clock.now().mono
    }
}

impl Waiting {
    fn is(&self, kind: PendingKind, key: Hash) -> bool {
        self.kind == kind && self.key == key
    }

    fn view(&self, now: Duration) -> PendingEntry {
        let left = self.until.saturating_sub(now);
        PendingEntry { key: self.key, value: self.value.clone(), left }
    }
}

#[async_trait]
impl PendingEntries for LocalPending {
    async fn put(
        &self,
        kind: PendingKind,
        entry: PendingEntry,
        most: usize,
    ) -> Result<(), StoreError> {
        let now = self.now();
        let mut waiting = lock(&self.waiting);
        waiting.retain(|at| at.until > now && !at.is(kind, entry.key));
        let there = waiting.iter().filter(|at| at.kind == kind).count();
        for _ in most..=there {
            if let Some(oldest) = waiting.iter().position(|at| at.kind == kind) {
                waiting.remove(oldest);
            }
        }
        let PendingEntry { key, value, left } = entry;
        waiting.push(Waiting { kind, key, value, until: now + left });
        Ok(())
    }

    async fn get(&self, kind: PendingKind, key: Hash) -> Result<Option<PendingEntry>, StoreError> {
        let now = self.now();
        let waiting = lock(&self.waiting);
        let found = waiting.iter().find(|at| at.is(kind, key) && at.until > now);
        Ok(found.map(|at| at.view(now)))
    }

    async fn list(&self, kind: PendingKind) -> Result<Vec<PendingEntry>, StoreError> {
        let now = self.now();
        let waiting = lock(&self.waiting);
        let found = waiting.iter().filter(|at| at.kind == kind && at.until > now);
        Ok(found.map(|at| at.view(now)).collect())
    }

    async fn replace(
        &self,
        kind: PendingKind,
        before: &PendingEntry,
        value: String,
    ) -> Result<bool, StoreError> {
        let now = self.now();
        let mut waiting = lock(&self.waiting);
        let found = waiting
            .iter_mut()
            .find(|at| at.is(kind, before.key) && at.until > now && at.value == before.value);
        Ok(found.map(|at| at.value = value).is_some())
    }

    async fn take(&self, kind: PendingKind, key: Hash) -> Result<Option<String>, StoreError> {
        let now = self.now();
        let mut waiting = lock(&self.waiting);
        let found = waiting.iter().position(|at| at.is(kind, key));
        let taken = found.map(|at| waiting.remove(at));
        Ok(taken.filter(|at| at.until > now).map(|at| at.value))
    }
}
