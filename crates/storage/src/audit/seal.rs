//! Protects the audit chains against an attacker who can write the database and forge whole chains.
//! A file outside the home holds a key and the newest row of each chain. Rows are hashed with the
//! key, so nobody can make one without it. A shortened chain, or an older copy of the database,
//! does not contain the recorded row.
//!
//! The file has a line with the key, then a line for each row that was added. A row is recorded
//! after it is durable, so after a crash the file may be behind the chain, but never ahead of it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use onyx_types::{Hash, PersonId};
use serde::{Deserialize, Serialize};

use crate::blocking::lock;
use crate::{AuditRow, StoreError};

/// The key of a home's audit chains, and the newest recorded row of each chain.
#[derive(Debug)]
pub struct AuditSeal {
    path: PathBuf,
    key: SealKey,
    name: String,
    noted: Mutex<SealFile>,
}

/// The secret key. Its debug output does not show it.
struct SealKey([u8; 32]);

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealKey(…)")
    }
}

#[derive(Debug)]
struct SealFile {
    file: File,
    heads: BTreeMap<PersonId, SealedHead>,
}

/// The newest recorded row of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealedHead {
    person: PersonId,
    /// The number of the first row that the key protects.
    pub(crate) first: u64,
    pub(crate) seq: u64,
    pub(crate) hash: Hash,
}

impl AuditSeal {
    /// Opens the file, or creates it with the fresh key. This blocks on the disk.
    pub fn open(path: &Path, fresh: [u8; 32]) -> Result<Self, StoreError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let text = format!("{}\n", Hash::from_bytes(fresh));
                write_new(path, &text).map_err(|error| unusable(path, &error))?;
                text
            }
            Err(error) => return Err(unusable(path, &error)),
        };
        let mut lines = text.lines();
        let key = lines.next().and_then(Hash::from_hex);
        let key = key.ok_or_else(|| unusable(path, &"its first line is no key"))?;
        // A line that a crash cut short is ignored, because the line before it still counts.
        let heads = lines.filter_map(|line| serde_json::from_str::<SealedHead>(line).ok());
        let heads: BTreeMap<_, _> = heads.map(|head| (head.person.clone(), head)).collect();
        let file = kept_short(path, key, &heads, &text).map_err(|error| unusable(path, &error))?;
        let name = Hash::of(key.as_bytes()).to_string()[..16].to_owned();
        let key = SealKey(*key.as_bytes());
        Ok(Self { path: path.to_owned(), key, name, noted: Mutex::new(SealFile { file, heads }) })
    }

    /// The name by which rows refer to the key; it reveals nothing about the key.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn sealed(&self, hash: Hash) -> Hash {
        hash.keyed(&self.key.0)
    }

    pub(crate) fn head(&self, person: &PersonId) -> Option<SealedHead> {
        lock(&self.noted).heads.get(person).cloned()
    }

    /// Records a durable row that was hashed with this key. The record never goes back, so a chain
    /// that was started again is noticed.
    pub(crate) fn note(&self, row: &AuditRow) {
        let mut noted = lock(&self.noted);
        let person = &row.entry.person;
        let before = noted.heads.get(person);
        if before.is_some_and(|head| head.seq >= row.seq) {
            return;
        }
        let first = before.map_or(row.seq, |head| head.first);
        let head = SealedHead { person: person.clone(), first, seq: row.seq, hash: row.hash };
        let line = serde_json::to_string(&head).map_err(io::Error::from);
        if let Err(error) =
            line.and_then(|line| noted.file.write_all(format!("{line}\n").as_bytes()))
        {
            let path = self.path.display();
            tracing::error!(%error, %path, "the head of an audit chain could not be saved");
        }
        noted.heads.insert(person.clone(), head);
    }
}

/// Shortens the file to one line for each chain and opens it at its end.
fn kept_short(
    path: &Path,
    key: Hash,
    heads: &BTreeMap<PersonId, SealedHead>,
    before: &str,
) -> io::Result<File> {
    let mut text = format!("{key}\n");
    for head in heads.values() {
        text.push_str(&format!("{}\n", serde_json::to_string(head)?));
    }
    if text != before {
        let other = path.with_extension("new");
        drop(fs::remove_file(&other));
        write_new(&other, &text)?;
        fs::rename(&other, path)?;
    }
    OpenOptions::new().append(true).open(path)
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::NotFound)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    File::open(folder)?.sync_all()
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> StoreError {
    let path = path.display();
    StoreError::Failed(format!("the key of the audit log, {path}: {why}"))
}
