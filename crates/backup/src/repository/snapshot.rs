//! The manifest of one snapshot: what was backed up when, and for each file the names of its chunks.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use onyx_types::{Hash, Timestamp};
use serde::{Deserialize, Serialize};

use super::SNAPSHOTS;
use super::place::PlaceFiles;
use super::seal::{Cipher, Unreadable};
use crate::error::BackupError;
use crate::named_path::NamedPath;

const MAGIC: &[u8; 8] = b"ONYXSNP1";
const CHECK: usize = 32;
const LARGEST_HEAD: usize = 16 * 1024 * 1024;
/// The largest manifest. One of ten million files has this size.
const LARGEST_BODY: usize = 2_000_000_000;
pub(super) const EXTENSION: &str = "snapshot";

/// A snapshot's description of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct SnapshotInfo {
    pub id: String,
    pub made_at: Timestamp,
    /// The version of Onyx that made the snapshot.
    pub version: String,
    pub home: PathBuf,
    pub files: u64,
    pub bytes: u64,
    /// Files that could not be read and are therefore not in the snapshot.
    pub unreadable: Vec<String>,
}

/// One file, folder or link of a home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) path: NamedPath,
    #[serde(flatten)]
    pub(crate) kind: EntryKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum EntryKind {
    Folder { mode: u32 },
    File(FileEntry),
    Link { target: NamedPath },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(crate) mode: u32,
    /// The time of modification, in nanoseconds since 1970.
    pub(crate) modified: i64,
    pub(crate) size: u64,
    pub(crate) chunks: Vec<Hash>,
    /// The properties of the file when it was read; `None` if every backup must read it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seen: Option<FileStamp>,
    /// The name that the server gave the content: content with the same name is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<String>,
}

/// The properties by which an unchanged file is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileStamp {
    pub(crate) size: u64,
    pub(crate) inode: u64,
    pub(crate) modified: i64,
    /// The time of the last change of the file's metadata, which programs cannot set back.
    pub(crate) changed: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) info: SnapshotInfo,
    pub(crate) entries: Vec<Entry>,
}

impl Snapshot {
    /// Writes the manifest so that it is invisible until it is durable.
    pub(super) fn write(&self, files: &dyn PlaceFiles, cipher: &Cipher) -> Result<(), BackupError> {
        let name = file_name(&self.info.id);
        let bytes = self.encoded(cipher).map_err(BackupError::at(&files.shown(&name)))?;
        files.put(&name, bytes)
    }

    fn encoded(&self, cipher: &Cipher) -> io::Result<Vec<u8>> {
        let head = serde_json::to_vec(&self.info)?;
        let head = cipher.seal(&bound(&self.info.id, Part::Head), &head)?;
        let mut body = Vec::new();
        for entry in &self.entries {
            serde_json::to_writer(&mut body, entry)?;
            body.push(b'\n');
        }
        let body = cipher.seal(&bound(&self.info.id, Part::Body), &body)?;
        let length = u32::try_from(head.len()).map_err(io::Error::other)?;
        let mut bytes = [MAGIC.as_slice(), &length.to_le_bytes(), &head, &body].concat();
        let check = Hash::of(&bytes);
        bytes.extend_from_slice(check.as_bytes());
        Ok(bytes)
    }

    pub(super) fn read(
        files: &dyn PlaceFiles,
        id: &str,
        cipher: &Cipher,
    ) -> Result<Self, BackupError> {
        let bytes = bytes_of(files, id)?;
        let damaged = |_| damaged(id);
        let (head, body) = parts(&bytes).map_err(damaged)?;
        let info = read_head(id, head, cipher).map_err(damaged)?;
        let body = cipher.open(&bound(id, Part::Body), body, LARGEST_BODY).map_err(damaged)?;
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let entries = lines.map(serde_json::from_slice::<Entry>);
        let entries: Vec<Entry> =
            entries.collect::<Result<_, _>>().map_err(|_| self::damaged(id))?;
        // A manifest may be forged, so its paths must not lead out of the folder that is restored
        // to.
        if let Some(entry) = entries.iter().find(|entry| !entry.path.is_beneath()) {
            let path = entry.path.0.display();
            return Err(BackupError::Damaged(format!("snapshot {id} names the path {path}")));
        }
        Ok(Self { info, entries })
    }

    pub(super) fn read_info(
        files: &dyn PlaceFiles,
        id: &str,
        cipher: &Cipher,
    ) -> Result<SnapshotInfo, BackupError> {
        let bytes = bytes_of(files, id)?;
        let info = parts(&bytes).and_then(|(head, _)| read_head(id, head, cipher));
        info.map_err(|_| damaged(id))
    }
}

pub(super) fn file_name(id: &str) -> String {
    format!("{SNAPSHOTS}/{id}.{EXTENSION}")
}

fn bytes_of(files: &dyn PlaceFiles, id: &str) -> Result<Vec<u8>, BackupError> {
    let name = file_name(id);
    let missing = || BackupError::at(&files.shown(&name))(io::ErrorKind::NotFound.into());
    files.read(&name)?.ok_or_else(missing)
}

fn damaged(id: &str) -> BackupError {
    BackupError::Damaged(format!("the manifest of snapshot {id} is damaged"))
}

fn parts(bytes: &[u8]) -> Result<(&[u8], &[u8]), Unreadable> {
    let at = bytes.len().checked_sub(CHECK).ok_or(Unreadable)?;
    let (content, check) = bytes.split_at(at);
    if Hash::of(content).as_bytes().as_slice() != check {
        return Err(Unreadable);
    }
    let content = content.strip_prefix(MAGIC.as_slice()).ok_or(Unreadable)?;
    let (length, rest) = content.split_first_chunk::<4>().ok_or(Unreadable)?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(Unreadable)
}

fn read_head(id: &str, head: &[u8], cipher: &Cipher) -> Result<SnapshotInfo, Unreadable> {
    let head = cipher.open(&bound(id, Part::Head), head, LARGEST_HEAD)?;
    let info: SnapshotInfo = serde_json::from_slice(&head).map_err(|_| Unreadable)?;
    // A manifest that has another snapshot's name is not accepted.
    if info.id == id { Ok(info) } else { Err(Unreadable) }
}

#[derive(Clone, Copy)]
enum Part {
    Head,
    Body,
}

fn bound(id: &str, part: Part) -> Vec<u8> {
    let part: &[u8] = match part {
        Part::Head => b"head",
        Part::Body => b"body",
    };
    let bound = Hash::of_parts([b"onyx snapshot 1".as_slice(), id.as_bytes(), part]);
    bound.as_bytes().to_vec()
}

/// Writes a new file, replacing one that a killed process left.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
