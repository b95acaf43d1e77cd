//! Provenance kept in memory, for files without a ledger and for tests.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use onyx_types::{Clock as _, Hash, Origin, SystemClock, Timestamp};

use super::{ContentRecord, OpenCommand, OriginNote, Origins, TICK_MS, prints};
use crate::StoreError;
use crate::blocking::lock;

/// Origins that are kept in memory and lost with the process.
#[derive(Debug, Default)]
pub struct MemoryOrigins {
    facts: Mutex<ProvenanceRecords>,
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct ProvenanceRecords {
    /// The notes, in the order in which they were recorded.
    notes: Vec<(String, OriginNote, Timestamp)>,
    names: BTreeMap<(String, String), Origin>,
    commands: Vec<OpenCommand>,
    last_command: i64,
}

impl MemoryOrigins {
    fn changed(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Origins for MemoryOrigins {
    async fn note(&self, owner: &str, notes: Vec<OriginNote>) -> Result<(), StoreError> {
        let at = SystemClock::new().wall();
        let mut facts = lock(&self.facts);
        for note in notes {
            facts.notes.retain(|(of, known, _)| {
                (of.as_str(), &known.path, known.hash) != (owner, &note.path, note.hash)
            });
            for name in &note.names {
                facts.names.insert((owner.to_owned(), name.clone()), note.origin);
            }
            facts.notes.push((owner.to_owned(), note, at));
        }
        self.changed();
        Ok(())
    }

    async fn known(
        &self,
        owner: &str,
        path: &str,
        hash: Hash,
    ) -> Result<ContentRecord, StoreError> {
        let facts = lock(&self.facts);
        let mut known = ContentRecord::default();
        for (_, note, at) in facts.notes.iter().filter(|(of, ..)| of == owner) {
            let is_same = note.hash == Some(hash);
            if note.path == path {
                known.here = if is_same { Some(note.origin) } else { known.here };
                known.before = if is_same { known.before } else { note.hash.map(|_| note.origin) };
            } else if is_same && known.elsewhere.is_none_or(|(worst, _)| worst < note.origin) {
                known.elsewhere = Some((note.origin, *at));
            }
        }
        Ok(known)
    }

    async fn has_foreign_text(&self, owner: &str) -> Result<bool, StoreError> {
        let facts = lock(&self.facts);
        Ok(facts.notes.iter().any(|(of, note, _)| of == owner && !note.prints.is_empty()))
    }

    async fn alike(
        &self,
        owner: &str,
        found: Vec<u64>,
        by: Timestamp,
    ) -> Result<Option<Origin>, StoreError> {
        let facts = lock(&self.facts);
        let ours = facts.notes.iter().filter(|(of, _, at)| of == owner && *at <= by);
        let alike = ours.filter(|(_, note, _)| {
            let shared = note.prints.iter().filter(|print| found.contains(print)).count();
            prints::is_alike(shared, note.prints.len())
        });
        Ok(alike.map(|(_, note, _)| note.origin).max())
    }

    async fn named_by(&self, owner: &str, paths: Vec<String>) -> Result<Origin, StoreError> {
        let facts = lock(&self.facts);
        let named = paths.into_iter().filter_map(|path| facts.names.get(&(owner.to_owned(), path)));
        Ok(named.copied().max().unwrap_or(Origin::Person))
    }

    async fn begin_command(&self, owner: &str) -> Result<OpenCommand, StoreError> {
        let started = SystemClock::new().wall().as_millis() - TICK_MS;
        let mut facts = lock(&self.facts);
        facts.last_command += 1;
        let command = OpenCommand {
            id: facts.last_command,
            owner: owner.to_owned(),
            started_at: Timestamp::from_millis(started),
        };
        facts.commands.push(command.clone());
        self.changed();
        Ok(command)
    }

    async fn end_command(&self, id: i64) -> Result<(), StoreError> {
        lock(&self.facts).commands.retain(|command| command.id != id);
        self.changed();
        Ok(())
    }

    async fn open_commands(&self) -> Result<Vec<OpenCommand>, StoreError> {
        Ok(lock(&self.facts).commands.clone())
    }

    async fn command_since(&self, owner: &str) -> Result<Option<Timestamp>, StoreError> {
        let facts = lock(&self.facts);
        let ours = facts.commands.iter().filter(|command| command.owner == owner);
        Ok(ours.map(|command| command.started_at).min())
    }

    async fn version(&self, _owner: &str) -> Result<u64, StoreError> {
        Ok(self.version.load(Ordering::Relaxed))
    }
}
