//! Exports a home as plain files: its files unchanged, every conversation as a readable page, the
//! ledgers as a SQLite file, and a README that explains all of it.

mod conversation;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use onyx_storage::{ServerCopy, copy_database};
use onyx_types::{Cancel, Clock as _, SystemClock};
use serde::Serialize;

use crate::aside::FolderAside;
use crate::error::BackupError;
use crate::folder::Folder;
use crate::home::{DATABASE, WalkEntry, is_left_out, is_log, walk};
use crate::server::{StoredItem, walk_server};
use crate::take::refuse_inside;

const README: &str = include_str!("readme.md");
/// The files with secrets, which an export leaves out.
const SECRETS: [&str; 2] = [".env", "token"];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExportReport {
    pub files: u64,
    pub bytes: u64,
    pub conversations: u64,
    /// Files that could not be read, with the reason.
    pub unreadable: Vec<String>,
}

/// Writes everything of a home, or of the data that gateways share, into a new or empty folder.
pub fn export_everything(
    home: &Path,
    server: Option<&ServerCopy>,
    to: &Path,
    stop: &Cancel,
) -> Result<ExportReport, BackupError> {
    let to = refuse_inside(home, to)?;
    if to.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(BackupError::NotEmpty { path: to });
    }
    let root = Folder::open(home).map_err(BackupError::at_errno(home))?;
    let aside = FolderAside::begin(&to, "exporting")?;
    let written = match server {
        Some(copy) => write_server(copy, &aside, stop),
        None => write_all(home, &root, &aside, stop),
    };
    match written {
        Ok(report) => {
            aside.put_in_place(|_| Ok(()))?;
            Ok(report)
        }
        Err(error) => {
            aside.give_up();
            Err(error)
        }
    }
}

fn write_all(
    home: &Path,
    root: &Folder,
    aside: &FolderAside,
    stop: &Cancel,
) -> Result<ExportReport, BackupError> {
    let mut report = ExportReport::default();
    write(aside.folder(), Path::new("README.md"), README.as_bytes())?;
    if home.join(DATABASE).is_file() {
        copy_database(&home.join(DATABASE), &aside.path().join(DATABASE))?;
        report.files += 1;
    }
    let is_out = |path: &Path| is_left_out(path) || SECRETS.iter().any(|name| path == *name);
    walk(root, &is_out, &mut |found| {
        if stop.is_cancelled() {
            return Err(BackupError::Stopped);
        }
        take(found, aside, &mut report)
    })?;
    Ok(report)
}

fn write_server(
    copy: &ServerCopy,
    aside: &FolderAside,
    stop: &Cancel,
) -> Result<ExportReport, BackupError> {
    let mut report = ExportReport { files: 1, ..ExportReport::default() };
    write(aside.folder(), Path::new("README.md"), README.as_bytes())?;
    copy.ledger_into(&aside.path().join(DATABASE))?;
    let now = SystemClock::new().wall();
    walk_server(copy, now, stop, &mut |stored| take_stored(stored, aside, &mut report))?;
    Ok(report)
}

fn take_stored(
    stored: StoredItem<'_>,
    aside: &FolderAside,
    report: &mut ExportReport,
) -> Result<(), BackupError> {
    let (path, content) = match stored {
        StoredItem::Folder { path } => {
            let path = Path::new("home").join(path);
            let name = path.file_name().unwrap_or_default();
            let parent = aside.folder().make_parent_of(&path);
            let made = parent.and_then(|parent| parent.make_folder(name));
            return made.map(drop).map_err(BackupError::at_errno(&path));
        }
        StoredItem::File { path, content, .. } => (path, content),
    };
    let bytes = match content.read()? {
        Ok(bytes) => bytes,
        Err(why) => {
            report.unreadable.push(format!("{}: {why}", path.display()));
            return Ok(());
        }
    };
    write(aside.folder(), &Path::new("home").join(&path), &bytes)?;
    report.files += 1;
    report.bytes += bytes.len() as u64;
    if is_log(&path) { page(&path, aside, report) } else { Ok(()) }
}

fn take(
    found: WalkEntry,
    aside: &FolderAside,
    report: &mut ExportReport,
) -> Result<(), BackupError> {
    let placed = |path: &Path| -> Result<(Folder, PathBuf), BackupError> {
        let path = Path::new("home").join(path);
        let parent = aside.folder().make_parent_of(&path);
        Ok((parent.map_err(BackupError::at_errno(&path))?, path))
    };
    match found {
        WalkEntry::Folder { path, .. } => {
            let (parent, path) = placed(&path)?;
            let name = path.file_name().unwrap_or_default();
            parent.make_folder(name).map_err(BackupError::at_errno(&path))?;
        }
        WalkEntry::Link { path, target } => {
            let (parent, path) = placed(&path)?;
            let name = path.file_name().unwrap_or_default();
            parent.make_link(name, &target).map_err(BackupError::at_errno(&path))?;
        }
        WalkEntry::Special { .. } => {}
        WalkEntry::Unreadable { path, why } => {
            report.unreadable.push(format!("{}: {why}", path.display()));
        }
        WalkEntry::File { path, mut file } => {
            let (parent, to) = placed(&path)?;
            copy(&mut file, &parent, &to, report)?;
            if is_log(&path) {
                page(&path, aside, report)?;
            }
        }
    }
    Ok(())
}

fn copy(
    from: &mut File,
    parent: &Folder,
    to: &Path,
    report: &mut ExportReport,
) -> Result<(), BackupError> {
    let name: &OsStr = to.file_name().unwrap_or_default();
    let mut out = parent.create(name).map_err(BackupError::at_errno(to))?;
    report.bytes += io::copy(from, &mut out).map_err(BackupError::at(to))?;
    report.files += 1;
    Ok(())
}

/// Writes the page of a conversation, from the copy of its log.
fn page(log: &Path, aside: &FolderAside, report: &mut ExportReport) -> Result<(), BackupError> {
    let copied = aside.path().join("home").join(log);
    let text = std::fs::read(&copied).map_err(BackupError::at(&copied))?;
    // The details were copied just before the log; a conversation may have none.
    let details = std::fs::read(copied.with_extension("json")).unwrap_or_default();
    let Some(page) = conversation::page(log, &text, &details) else { return Ok(()) };
    let path = Path::new("conversations").join(&page.person).join(&page.name);
    write(aside.folder(), &path, page.text.as_bytes())?;
    report.conversations += 1;
    Ok(())
}

fn write(folder: &Folder, path: &Path, bytes: &[u8]) -> Result<(), BackupError> {
    let parent = folder.make_parent_of(path).map_err(BackupError::at_errno(path))?;
    let name = path.file_name().unwrap_or_default();
    let mut file = parent.create(name).map_err(BackupError::at_errno(path))?;
    file.write_all(bytes).map_err(BackupError::at(path))
}
