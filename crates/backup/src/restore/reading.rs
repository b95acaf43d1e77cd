//! Reads one file or one conversation of a snapshot as bytes, for a destination that is not a
//! folder.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use onyx_types::{SessionId, Timestamp};

use super::Source;
use super::one::{find, names};
use super::session::{details_of_copy, find_log};
use super::writing::{content, modified};
use crate::error::BackupError;
use crate::repository::{EntryKind, FileEntry, Purpose, Repository};

#[derive(Clone, Debug)]
pub struct SnapshotFile {
    pub snapshot: String,
    pub content: Vec<u8>,
    pub modified: SystemTime,
    path: PathBuf,
    made_at: Timestamp,
}

impl SnapshotFile {
    /// The file's own path, then similar ones in case it is taken.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        names(&self.path, self.made_at).map(|name| self.path.with_file_name(name))
    }
}

pub fn read_file(source: Source<'_>, path: &Path) -> Result<SnapshotFile, BackupError> {
    let repository = Repository::open(source.place, source.passphrase, Purpose::Read)?;
    let snapshot = repository.choose(source.snapshot)?;
    let entry = find(&snapshot, path)?;
    let id = snapshot.info.id.clone();
    Ok(SnapshotFile {
        content: content(&mut repository.packs()?, entry, path, &id)?,
        modified: when(entry),
        path: path.to_owned(),
        made_at: snapshot.info.made_at,
        snapshot: id,
    })
}

#[derive(Clone, Debug)]
pub struct SnapshotSession {
    pub snapshot: String,
    pub log: Vec<u8>,
    pub modified: SystemTime,
    /// The details that are stored beside the log.
    details: Option<Vec<u8>>,
    path: PathBuf,
}

impl SnapshotSession {
    /// The path of this conversation's log, or of a copy of it.
    pub fn path(&self, session: SessionId) -> PathBuf {
        self.path.with_file_name(format!("{session}.jsonl"))
    }

    /// The details of the conversation, with their path.
    pub fn details(&self, session: SessionId) -> Option<(PathBuf, Vec<u8>)> {
        let path = self.path(session);
        let kept = self.details.as_deref()?;
        let is_copy = path != self.path;
        let details = if is_copy { details_of_copy(kept, session)? } else { kept.to_owned() };
        Some((path.with_extension("json"), details))
    }
}

pub fn read_session(
    source: Source<'_>,
    session: SessionId,
) -> Result<SnapshotSession, BackupError> {
    let repository = Repository::open(source.place, source.passphrase, Purpose::Read)?;
    let snapshot = repository.choose(source.snapshot)?;
    let mut packs = repository.packs()?;
    let (path, log) = find_log(&snapshot, session)?;
    let id = snapshot.info.id.clone();
    let beside = path.with_extension("json");
    let entry = snapshot.entries.iter().find(|entry| entry.path.0 == beside);
    let details = match entry.map(|entry| &entry.kind) {
        Some(EntryKind::File(file)) => Some(content(&mut packs, file, &beside, &id)?),
        Some(EntryKind::Folder { .. } | EntryKind::Link { .. }) | None => None,
    };
    let modified = when(log);
    let log = content(&mut packs, log, path, &id)?;
    Ok(SnapshotSession { snapshot: id, log, modified, details, path: path.to_owned() })
}

fn when(entry: &FileEntry) -> SystemTime {
    modified(entry).unwrap_or(SystemTime::UNIX_EPOCH)
}
