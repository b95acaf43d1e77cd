//! Restores one conversation into a home that may be in use: under its own id if that is free, else
//! as another conversation.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use onyx_types::{Clock, IdGenerator, SessionId};
use serde_json::{Map, Value, json};

use super::Source;
use super::one::FilePlacement;
use super::writing::content;
use crate::error::BackupError;
use crate::folder::Folder;
use crate::repository::{EntryKind, FileEntry, Packs, Purpose, Repository, Snapshot};

#[derive(Clone, Copy, Debug)]
pub struct SessionRequest<'a> {
    pub source: Source<'a>,
    pub home: &'a Path,
    pub session: SessionId,
    pub clock: &'a dyn Clock,
    /// The random numbers for a new id, which must be unpredictable.
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredSession {
    pub snapshot: String,
    pub person: String,
    pub agent: String,
    /// The restored conversation's id, which differs from the requested one if that conversation
    /// still exists.
    pub session: SessionId,
}

/// Restores a conversation's log and the files beside it. The holder of the home's ledger must
/// reload its sessions afterwards.
pub fn restore_session(request: &SessionRequest<'_>) -> Result<RestoredSession, BackupError> {
    let Source { place, snapshot, passphrase } = request.source;
    let repository = Repository::open(place, passphrase, Purpose::Read)?;
    let snapshot = repository.choose(snapshot)?;
    let mut packs = repository.packs()?;
    let (path, log) = find_log(&snapshot, request.session)?;
    let home = Folder::open(request.home).map_err(BackupError::at_errno(request.home))?;
    let parent = home.make_parent_of(path).map_err(BackupError::at_errno(path))?;
    let taken = parent.has(path.file_name().unwrap_or_default());
    let is_taken = taken.map_err(BackupError::at_errno(path))?;
    let session = if is_taken {
        IdGenerator::new(request.seed).session(request.clock.wall())
    } else {
        request.session
    };
    let restoring = Restoring { snapshot: &snapshot, parent: &parent, path, session };
    restoring.details(&mut packs, is_taken)?;
    restoring.log(&mut packs, log)?;
    let names: Vec<_> = path.components().map(Component::as_os_str).collect();
    let name = |at: usize| names.get(at).map(|name| name.display().to_string()).unwrap_or_default();
    let (person, agent) = (name(1), name(3));
    Ok(RestoredSession { snapshot: snapshot.info.id.clone(), person, agent, session })
}

pub(super) fn find_log(
    snapshot: &Snapshot,
    session: SessionId,
) -> Result<(&Path, &FileEntry), BackupError> {
    let name = format!("{session}.jsonl");
    let found = snapshot.entries.iter().find_map(|entry| match &entry.kind {
        EntryKind::File(file) if entry.path.0.file_name() == Some(name.as_ref()) => {
            let path: &Path = entry.path.as_ref();
            crate::home::is_log(path).then_some((path, file))
        }
        EntryKind::File(_) | EntryKind::Folder { .. } | EntryKind::Link { .. } => None,
    });
    found.ok_or_else(|| BackupError::NotInSnapshot {
        wanted: format!("session {session}"),
        snapshot: snapshot.info.id.clone(),
    })
}

/// The details for a copy of the conversation under another id. `None` if they cannot be read.
pub(super) fn details_of_copy(details: &[u8], copy: SessionId) -> Option<Vec<u8>> {
    let mut details = serde_json::from_slice::<Map<String, Value>>(details).ok()?;
    details.insert("root".to_owned(), json!(copy));
    details.remove("fork_turn");
    if let Some(Value::String(title)) = details.get_mut("title") {
        title.push_str(" (restored)");
    }
    serde_json::to_vec(&details).ok()
}

struct Restoring<'a> {
    snapshot: &'a Snapshot,
    parent: &'a Folder,
    /// The path of the log in the snapshot.
    path: &'a Path,
    session: SessionId,
}

impl Restoring<'_> {
    /// Restores the details before the log, because a conversation exists as soon as its log does.
    fn details(&self, packs: &mut Packs, is_copy: bool) -> Result<(), BackupError> {
        let path: PathBuf = self.path.with_extension("json");
        let found = self.snapshot.entries.iter().find(|entry| entry.path.0 == path);
        let Some(EntryKind::File(file)) = found.map(|entry| &entry.kind) else { return Ok(()) };
        let name = OsString::from(format!("{}.json", self.session));
        let snapshot = &self.snapshot.info.id;
        if !is_copy {
            // Details without a log are left from a deleted conversation.
            if self.parent.has(&name).map_err(BackupError::at_errno(&path))? {
                return Ok(());
            }
            let placing = FilePlacement { packs, snapshot, path: &path };
            return placing.put(file, self.parent, std::iter::once(name)).map(drop);
        }
        let content = content(packs, file, &path, snapshot)?;
        let Some(text) = details_of_copy(&content, self.session) else { return Ok(()) };
        let mut out = self.parent.create(&name).map_err(BackupError::at_errno(&path))?;
        std::io::Write::write_all(&mut out, &text)
            .and_then(|()| out.sync_all())
            .map_err(BackupError::at(&path))
    }

    fn log(&self, packs: &mut Packs, log: &FileEntry) -> Result<(), BackupError> {
        let name = OsString::from(format!("{}.jsonl", self.session));
        let snapshot = &self.snapshot.info.id;
        let placing = FilePlacement { packs, snapshot, path: self.path };
        placing.put(log, self.parent, std::iter::once(name)).map(drop)
    }
}
