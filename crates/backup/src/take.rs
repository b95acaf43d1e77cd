//! Takes a snapshot of a home, or of the data that gateways share (`server.rs`). For a home, the
//! ledger's database is copied first, as it is at one moment, and then the files. This order is
//! safe: the files are the truth, so ledgers may be a little older than they are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use onyx_storage::ServerCopy;
use onyx_types::{Cancel, Clock, Timestamp};
use serde::Serialize;

use crate::error::BackupError;
use crate::folder::Folder;
use crate::home::{
    DATABASE, DatabaseCopy, Extent, Failed, WalkEntry, is_left_out, is_log, kept_mode, read_file,
    seen, walk,
};
use crate::keep::keep_newest;
use crate::last::{self, LastBackup};
use crate::named_path::NamedPath;
use crate::repository::{
    BackupPlace, CHUNK, Encryption, Entry, EntryKind, FileEntry, FileStamp, Packs, Passphrase,
    Repository, Snapshot, SnapshotInfo,
};
use crate::server::{StoredItem, walk_server};

/// A file that changed this shortly before it was read may change again within the same tick of the
/// file system's clock, so the next backup reads it once more.
const SETTLED_NANOS: i64 = 2_000_000_000;
const NANOS_OF_MILLI: i64 = 1_000_000;

#[derive(Debug)]
pub struct BackupRequest<'a> {
    /// In server mode the home holds only this gateway's own files: the copy of the database while
    /// it is read, and the note of the last backup.
    pub home: &'a Path,
    /// The data of the server in server mode.
    pub server: Option<&'a ServerCopy>,
    /// The place of the repository, which is created if it does not exist.
    pub to: &'a BackupPlace,
    pub passphrase: Option<&'a Passphrase>,
    pub encryption: Encryption,
    /// How many of the newest snapshots stay; `None` keeps all.
    pub keep: Option<usize>,
    pub clock: &'a dyn Clock,
    pub stop: &'a Cancel,
}

/// The result of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackupReport {
    pub snapshot: String,
    pub to: PathBuf,
    pub files: u64,
    pub bytes: u64,
    /// The number of files that were read, because they were new or may have changed.
    pub read_files: u64,
    /// How many bytes of chunks were added to the repository.
    pub new_bytes: u64,
    /// Files that could not be read, with the reason; they are not in the snapshot.
    pub unreadable: Vec<String>,
    /// Files that were written to during every try: they are stored, but may mix several states.
    pub torn: Vec<String>,
    /// Sockets, fifos and devices, which are not backed up.
    pub special: Vec<String>,
    pub removed_snapshots: usize,
}

/// Backs up a home, whether or not a server works on it.
pub fn back_up(request: &BackupRequest<'_>) -> Result<BackupReport, BackupError> {
    let to = checked_place(request)?;
    let home = Folder::open(request.home).map_err(BackupError::at_errno(request.home))?;
    let repository = Repository::open_or_make(&to, request.passphrase, request.encryption)?;
    let mut packs = repository.packs()?;
    packs.add_missing_lists()?;
    let before = newest(&repository)?;
    let started = request.clock.wall();
    let mut taking = BackupRun {
        packs,
        before: before.as_ref().map(PreviousFiles::of).unwrap_or_default(),
        entries: Vec::new(),
        report: BackupReport {
            snapshot: Repository::fresh_id(started)?,
            to: to.shown(),
            files: 0,
            bytes: 0,
            read_files: 0,
            new_bytes: 0,
            unreadable: Vec::new(),
            torn: Vec::new(),
            special: Vec::new(),
            removed_snapshots: 0,
        },
    };
    match request.server {
        Some(copy) => {
            taking.database(&DatabaseCopy::of_server(request.home, copy)?, started)?;
            walk_server(copy, started, request.stop, &mut |stored| taking.take_stored(stored))?;
        }
        None => {
            taking.database(&DatabaseCopy::make(request.home)?, started)?;
            walk(&home, &is_left_out, &mut |found| {
                if request.stop.is_cancelled() {
                    return Err(BackupError::Stopped);
                }
                taking.take(found)
            })?;
        }
    }
    taking.finish(request, &repository, started)
}

/// The place of the repository; a folder gets its real path, which must not be inside the home.
fn checked_place(request: &BackupRequest<'_>) -> Result<BackupPlace, BackupError> {
    match request.to {
        BackupPlace::Folder(path) => refuse_inside(request.home, path).map(BackupPlace::Folder),
        bucket @ BackupPlace::Bucket { .. } => Ok(bucket.clone()),
    }
}

/// The folder by its real path; fails if it is inside the home.
pub(crate) fn refuse_inside(home: &Path, folder: &Path) -> Result<PathBuf, BackupError> {
    let home = home.canonicalize().map_err(BackupError::at(home))?;
    let folder = std::path::absolute(folder).map_err(BackupError::at(folder))?;
    // Only the part of the path that exists can be resolved; the rest will be created.
    let known = folder.ancestors().find(|part| part.exists()).unwrap_or(Path::new("/"));
    let real = known.canonicalize().map_err(BackupError::at(known))?;
    let rest = folder.strip_prefix(known).unwrap_or(Path::new(""));
    let real = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
    if real.starts_with(&home) {
        return Err(BackupError::InsideHome { path: folder });
    }
    Ok(real)
}

/// The newest snapshot that can be read. `verify` reports damage; here it only means that files are
/// read again.
fn newest(repository: &Repository) -> Result<Option<Snapshot>, BackupError> {
    for id in repository.snapshot_ids()?.iter().rev() {
        match repository.read(id) {
            Ok(snapshot) => return Ok(Some(snapshot)),
            Err(BackupError::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The files of the previous snapshot, by their paths.
#[derive(Default)]
struct PreviousFiles<'a> {
    files: HashMap<&'a Path, &'a FileEntry>,
    /// Times of change before this moment are reliable.
    settled_before: i64,
}

impl<'a> PreviousFiles<'a> {
    fn of(snapshot: &'a Snapshot) -> Self {
        let files = snapshot.entries.iter().filter_map(|entry| match &entry.kind {
            EntryKind::File(file) => Some((entry.path.as_ref(), file)),
            EntryKind::Folder { .. } | EntryKind::Link { .. } => None,
        });
        let started = snapshot.info.made_at.as_millis().saturating_mul(NANOS_OF_MILLI);
        Self { files: files.collect(), settled_before: started - SETTLED_NANOS }
    }

    /// The entry of a file that is certainly unchanged.
    fn unchanged(&self, path: &Path, now: FileStamp) -> Option<&'a FileEntry> {
        let known = self.files.get(path)?;
        let is_settled = now.changed < self.settled_before && now.modified < self.settled_before;
        (known.seen == Some(now) && is_settled).then_some(known)
    }
}

struct BackupRun<'a> {
    packs: Packs,
    before: PreviousFiles<'a>,
    entries: Vec<Entry>,
    report: BackupReport,
}

impl BackupRun<'_> {
    fn database(&mut self, copy: &DatabaseCopy, started: Timestamp) -> Result<(), BackupError> {
        let Some(file) = copy.file()? else { return Ok(()) };
        let packs = &mut self.packs;
        let read = read_file(&file, Extent::Whole, &mut |chunk| packs.add(chunk));
        let read = read.map_err(|failed| match failed {
            Failed::Reading(error) => BackupError::at(&copy.path())(error),
            Failed::Keeping(error) => error,
        })?;
        let modified = started.as_millis().saturating_mul(NANOS_OF_MILLI);
        let (size, chunks) = (read.size, read.chunks);
        let file = FileEntry { mode: 0o600, modified, size, chunks, seen: None, state: None };
        self.note_file(PathBuf::from(DATABASE), file);
        Ok(())
    }

    fn take(&mut self, found: WalkEntry) -> Result<(), BackupError> {
        match found {
            WalkEntry::Folder { path, handle } => {
                let metadata = handle.as_file().metadata().map_err(BackupError::at(&path))?;
                let kind = EntryKind::Folder { mode: kept_mode(&metadata) };
                self.entries.push(Entry { path: NamedPath(path), kind });
            }
            WalkEntry::Link { path, target } => {
                let kind = EntryKind::Link { target: NamedPath(target) };
                self.entries.push(Entry { path: NamedPath(path), kind });
            }
            WalkEntry::Special { path } => self.report.special.push(path.display().to_string()),
            WalkEntry::Unreadable { path, why } => self.unreadable(&path, &why),
            WalkEntry::File { path, file } => self.file(path, &file)?,
        }
        Ok(())
    }

    fn unreadable(&mut self, path: &Path, why: &std::io::Error) {
        self.report.unreadable.push(format!("{}: {why}", path.display()));
    }

    fn file(&mut self, path: PathBuf, file: &std::fs::File) -> Result<(), BackupError> {
        let metadata = match file.metadata() {
            Ok(metadata) => metadata,
            Err(error) => {
                self.unreadable(&path, &error);
                return Ok(());
            }
        };
        let (mode, now) = (kept_mode(&metadata), seen(&metadata));
        let known = self.before.unchanged(&path, now);
        // In a damaged repository some chunks may be missing; the file is then read again.
        if let Some(known) =
            known.filter(|file| file.chunks.iter().all(|name| self.packs.has(name)))
        {
            let file = FileEntry { mode, ..known.clone() };
            self.note_file(path, file);
            return Ok(());
        }
        let extent = if is_log(&path) { Extent::WholeLines } else { Extent::Whole };
        let packs = &mut self.packs;
        let read = match read_file(file, extent, &mut |chunk| packs.add(chunk)) {
            Ok(read) => read,
            Err(Failed::Reading(error)) => {
                self.unreadable(&path, &error);
                return Ok(());
            }
            Err(Failed::Keeping(error)) => return Err(error),
        };
        self.report.read_files += 1;
        if read.is_torn {
            self.report.torn.push(path.display().to_string());
        }
        let seen = (!read.is_torn).then_some(read.seen);
        let (size, chunks, modified) = (read.size, read.chunks, read.seen.modified);
        self.note_file(path, FileEntry { mode, modified, size, chunks, seen, state: None });
        Ok(())
    }

    /// Adds an item. One with the same name as in the previous snapshot is not read.
    fn take_stored(&mut self, stored: StoredItem<'_>) -> Result<(), BackupError> {
        let (path, modified, state, content) = match stored {
            StoredItem::File { path, modified, state, content } => (path, modified, state, content),
            StoredItem::Folder { path } => {
                let kind = EntryKind::Folder { mode: 0o700 };
                self.entries.push(Entry { path: NamedPath(path), kind });
                return Ok(());
            }
        };
        let known = self.before.files.get(path.as_path()).copied();
        let is_same = |file: &&FileEntry| state.is_some() && file.state == state;
        let is_kept = |file: &&FileEntry| file.chunks.iter().all(|name| self.packs.has(name));
        if let Some(known) = known.filter(is_same).filter(is_kept) {
            self.note_file(path, FileEntry { modified, ..known.clone() });
            return Ok(());
        }
        let bytes = match content.read()? {
            Ok(bytes) => bytes,
            Err(why) => {
                self.report.unreadable.push(format!("{}: {why}", path.display()));
                return Ok(());
            }
        };
        let mut chunks = Vec::new();
        for piece in bytes.chunks(CHUNK) {
            chunks.push(self.packs.add(piece)?);
        }
        self.report.read_files += 1;
        let size = bytes.len() as u64;
        let file = FileEntry { mode: 0o600, modified, size, chunks, seen: None, state };
        self.note_file(path, file);
        Ok(())
    }

    fn note_file(&mut self, path: PathBuf, file: FileEntry) {
        self.report.files += 1;
        self.report.bytes += file.size;
        self.entries.push(Entry { path: NamedPath(path), kind: EntryKind::File(file) });
    }

    fn finish(
        mut self,
        request: &BackupRequest<'_>,
        repository: &Repository,
        started: Timestamp,
    ) -> Result<BackupReport, BackupError> {
        self.packs.finish()?;
        self.report.new_bytes = self.packs.written;
        let mut report = self.report;
        let info = SnapshotInfo {
            id: report.snapshot.clone(),
            made_at: started,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            home: request.home.to_owned(),
            files: report.files,
            bytes: report.bytes,
            unreadable: report.unreadable.clone(),
        };
        repository.write(&Snapshot { info, entries: self.entries })?;
        let noted = LastBackup {
            made_at: started,
            to: report.to.clone(),
            snapshot: report.snapshot.clone(),
            files: report.files,
            bytes: report.bytes,
            unreadable: report.unreadable.len() as u64,
        };
        last::note(request.home, &noted)?;
        if let Some(keep) = request.keep {
            report.removed_snapshots = keep_newest(repository, &mut self.packs, keep)?;
        }
        Ok(report)
    }
}
