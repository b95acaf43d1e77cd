use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{Clock, Hash, PersonId};

use crate::blocking::lock;
use crate::{ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom, StoreError};

/// Short-lived entries of one process. They are lost with the process, as is a link printed in its terminal.
#[derive(Debug)]
pub struct LocalShortLived {
    clock: Arc<dyn Clock>,
    kept: Mutex<EntryTable>,
}

#[derive(Debug, Default)]
struct EntryTable {
    entries: HashMap<(ShortLivedKind, Hash), StoredEntry>,
    /// What shares one room.
    groups: HashMap<(ShortLivedKind, Option<PersonId>), Group>,
    /// The entries by the time at which they end.
    ends: BTreeSet<(Duration, ShortLivedKind, Hash)>,
    /// How many entries were stored so far. It gives them their order.
    stored: u64,
}

#[derive(Debug)]
struct StoredEntry {
    number: u64,
    person: Option<PersonId>,
    value: String,
    /// The time on the monotonic clock, because a wall clock that jumps must make nothing last
    /// longer.
    until: Duration,
}

#[derive(Debug, Default)]
struct Group {
    bytes: usize,
    oldest_first: BTreeMap<u64, Hash>,
}

impl LocalShortLived {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, kept: Mutex::default() }
    }

    fn now(&self) -> Duration {
        self.clock.now().mono
    }
}

impl StoredEntry {
    fn view(&self, key: Hash, now: Duration) -> ShortLivedEntry {
        let left = self.until.saturating_sub(now);
        ShortLivedEntry { key, person: self.person.clone(), value: self.value.clone(), left }
    }
}

impl EntryTable {
    fn find(&self, kind: ShortLivedKind, key: Hash, now: Duration) -> Option<&StoredEntry> {
        self.entries.get(&(kind, key)).filter(|held| held.until > now)
    }

    fn remove(&mut self, kind: ShortLivedKind, key: Hash) -> Option<StoredEntry> {
        let held = self.entries.remove(&(kind, key))?;
        self.ends.remove(&(held.until, kind, key));
        let whose = (kind, held.person.clone());
        if let Some(group) = self.groups.get_mut(&whose) {
            group.bytes -= held.value.len();
            group.oldest_first.remove(&held.number);
            if group.oldest_first.is_empty() {
                self.groups.remove(&whose);
            }
        }
        Some(held)
    }

    fn remove_ended(&mut self, now: Duration) {
        while let Some(&(until, kind, key)) = self.ends.first()
            && until <= now
        {
            self.remove(kind, key);
        }
    }

    /// Removes the oldest entries until one of this size fits beside the others.
    fn make_room(
        &mut self,
        whose: &(ShortLivedKind, Option<PersonId>),
        size: usize,
        room: ShortLivedRoom,
    ) {
        while let Some(group) = self.groups.get(whose)
            && (group.oldest_first.len() >= room.entries || group.bytes + size > room.bytes)
            && let Some((_, &oldest)) = group.oldest_first.first_key_value()
        {
            self.remove(whose.0, oldest);
        }
    }

    fn store(
        &mut self,
        kind: ShortLivedKind,
        entry: ShortLivedEntry,
        room: ShortLivedRoom,
        now: Duration,
    ) {
        let ShortLivedEntry { key, person, value, left } = entry;
        self.remove_ended(now);
        self.remove(kind, key);
        let whose = (kind, person.clone());
        self.make_room(&whose, value.len(), room);
        self.stored += 1;
        let (number, until) = (self.stored, now + left);
        let group = self.groups.entry(whose).or_default();
        group.bytes += value.len();
        group.oldest_first.insert(number, key);
        self.ends.insert((until, kind, key));
        self.entries.insert((kind, key), StoredEntry { number, person, value, until });
    }
}

#[async_trait]
impl ShortLived for LocalShortLived {
    async fn put(
        &self,
        kind: ShortLivedKind,
        entry: ShortLivedEntry,
        room: ShortLivedRoom,
    ) -> Result<(), StoreError> {
        room.check(&entry)?;
        lock(&self.kept).store(kind, entry, room, self.now());
        Ok(())
    }

    async fn put_new(
        &self,
        kind: ShortLivedKind,
        entry: ShortLivedEntry,
        room: ShortLivedRoom,
    ) -> Result<Option<String>, StoreError> {
        room.check(&entry)?;
        let now = self.now();
        let mut kept = lock(&self.kept);
        if let Some(held) = kept.find(kind, entry.key, now) {
            return Ok(Some(held.value.clone()));
        }
        kept.store(kind, entry, room, now);
        Ok(None)
    }

    async fn get(
        &self,
        kind: ShortLivedKind,
        key: Hash,
    ) -> Result<Option<ShortLivedEntry>, StoreError> {
        let now = self.now();
        Ok(lock(&self.kept).find(kind, key, now).map(|held| held.view(key, now)))
    }

    async fn list(
        &self,
        kind: ShortLivedKind,
        person: Option<&PersonId>,
    ) -> Result<Vec<ShortLivedEntry>, StoreError> {
        let now = self.now();
        let kept = lock(&self.kept);
        let group = kept.groups.get(&(kind, person.cloned()));
        let keys = group.into_iter().flat_map(|group| group.oldest_first.values());
        let held = keys.filter_map(|key| Some((*key, kept.find(kind, *key, now)?)));
        Ok(held.map(|(key, held)| held.view(key, now)).collect())
    }

    async fn replace(
        &self,
        kind: ShortLivedKind,
        before: &ShortLivedEntry,
        value: String,
    ) -> Result<bool, StoreError> {
        let now = self.now();
        let mut kept = lock(&self.kept);
        let EntryTable { entries, groups, .. } = &mut *kept;
        let found = entries.get_mut(&(kind, before.key));
        let Some(held) = found.filter(|held| held.until > now && held.value == before.value) else {
            return Ok(false);
        };
        if let Some(group) = groups.get_mut(&(kind, held.person.clone())) {
            group.bytes = group.bytes - held.value.len() + value.len();
        }
        held.value = value;
        Ok(true)
    }

    async fn take(&self, kind: ShortLivedKind, key: Hash) -> Result<Option<String>, StoreError> {
        let now = self.now();
        let taken = lock(&self.kept).remove(kind, key);
        Ok(taken.filter(|held| held.until > now).map(|held| held.value))
    }
}
