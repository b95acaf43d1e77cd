//! A repository of backups, in a folder or in a bucket.
//!
//! ```text
//! onyx-backup.json         the format, and of an encrypted repository how its key is opened
//! lock, or locks/          one writer at a time
//! packs/<random>.pack      chunks of files
//! snapshots/<id>.snapshot  one manifest for each snapshot
//! ```
//!
//! Any file but a snapshot's manifest may exist unreferenced: a killed backup leaves such files,
//! and the next backup uses or removes them.

mod pack;
mod packs;
mod place;
mod seal;
mod snapshot;

use std::path::Path;
use std::sync::Arc;

use onyx_types::{Hash, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::BackupError;
use seal::{Cipher, KeyBox};

pub(crate) use packs::{CHUNK, ChunkState, PackFlaw, Packs, UnusedChunks, sync};
pub use place::BackupPlace;
use place::PlaceFiles;
pub use seal::Passphrase;
pub use snapshot::SnapshotInfo;
pub(crate) use snapshot::{Entry, EntryKind, FileEntry, FileStamp, Snapshot, write_durably};

const FORMAT: u32 = 1;
const FORMAT_FILE: &str = "onyx-backup.json";
const LOCK: &str = "lock";
const PACKS: &str = "packs";
const SNAPSHOTS: &str = "snapshots";

/// Whether a folder of backups must be encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// The repository must be encrypted; an existing folder that is not encrypted is refused.
    Wanted,
    /// An existing folder keeps its encryption; a new one is not encrypted.
    AsItIs,
}

/// The content of the format file, which is followed by a line with its checksum.
#[derive(Debug, Serialize, Deserialize)]
struct Format {
    format: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encryption: Option<KeyBox>,
}

/// What a process uses the folder for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Write,
}

pub(crate) struct Repository {
    files: Arc<dyn PlaceFiles>,
    cipher: Arc<Cipher>,
    _lock: Option<Box<dyn Send>>,
}

/// The snapshots of a folder, oldest first, and the unreadable ones.
#[derive(Debug, Default)]
pub struct SnapshotListing {
    pub snapshots: Vec<SnapshotInfo>,
    pub damaged: Vec<String>,
}

/// Whether the repository needs a passphrase; `None` if there is none yet.
pub fn is_encrypted(place: &BackupPlace) -> Result<Option<bool>, BackupError> {
    match read_format(&*place.open(Purpose::Read)?) {
        Ok(format) => Ok(Some(format.encryption.is_some())),
        Err(BackupError::NotABackup { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The snapshots of a repository.
pub fn list(
    place: &BackupPlace,
    passphrase: Option<&Passphrase>,
) -> Result<SnapshotListing, BackupError> {
    let repository = Repository::open(place, passphrase, Purpose::Read)?;
    let mut listing = SnapshotListing::default();
    for id in repository.snapshot_ids()? {
        match Snapshot::read_info(&*repository.files, &id, &repository.cipher) {
            Ok(info) => listing.snapshots.push(info),
            Err(BackupError::Damaged(why)) => listing.damaged.push(why),
            Err(error) => return Err(error),
        }
    }
    Ok(listing)
}

impl Repository {
    pub(crate) fn open(
        place: &BackupPlace,
        passphrase: Option<&Passphrase>,
        purpose: Purpose,
    ) -> Result<Self, BackupError> {
        let files = place.open(purpose)?;
        let format = read_format(&*files)?;
        let lock = files.lock(purpose)?;
        Self::unlocked(files, format, passphrase, lock)
    }

    fn unlocked(
        files: Arc<dyn PlaceFiles>,
        format: Format,
        passphrase: Option<&Passphrase>,
        lock: Option<Box<dyn Send>>,
    ) -> Result<Self, BackupError> {
        let path = || files.shown("");
        let cipher = match (format.encryption, passphrase) {
            (None, _) => Cipher::plain(),
            (Some(_), None) => return Err(BackupError::PassphraseNeeded { path: path() }),
            (Some(key_box), Some(passphrase)) => key_box
                .open(passphrase)
                .ok_or_else(|| BackupError::WrongPassphrase { path: path() })?,
        };
        Ok(Self { files, cipher: Arc::new(cipher), _lock: lock })
    }

    /// Opens the repository, or creates it.
    pub(crate) fn open_or_make(
        place: &BackupPlace,
        passphrase: Option<&Passphrase>,
        encryption: Encryption,
    ) -> Result<Self, BackupError> {
        let files = place.open(Purpose::Write)?;
        match read_format(&*files) {
            Err(BackupError::NotABackup { .. }) => make(&*files, passphrase, encryption)?,
            Err(error) => return Err(error),
            Ok(format) if encryption == Encryption::Wanted && format.encryption.is_none() => {
                return Err(BackupError::NotEncrypted { path: files.shown("") });
            }
            Ok(_) => {}
        }
        let lock = files.lock(Purpose::Write)?;
        let format = read_format(&*files)?;
        let repository = Self::unlocked(files, format, passphrase, lock)?;
        // These manifests were begun by a backup that was killed.
        for name in repository.files.list(SNAPSHOTS, "new")? {
            repository.files.remove(&name)?;
        }
        Ok(repository)
    }

    pub(crate) fn packs(&self) -> Result<Packs, BackupError> {
        Packs::open(&self.files, &self.cipher)
    }

    /// The snapshot whose id begins with `wanted`; the newest one if `wanted` is not set.
    pub(crate) fn choose(&self, wanted: Option<&str>) -> Result<Snapshot, BackupError> {
        let ids = self.snapshot_ids()?;
        let wanted = wanted.unwrap_or_default();
        let none = || BackupError::NoSnapshot { wanted: wanted.to_owned() };
        if wanted.is_empty() || wanted == "latest" {
            return self.read(ids.last().ok_or_else(none)?);
        }
        let fitting: Vec<&String> = ids.iter().filter(|id| id.starts_with(wanted)).collect();
        match fitting.as_slice() {
            [id] => self.read(id),
            [] => Err(none()),
            _ => Err(BackupError::Refused(format!(
                "{} snapshots begin with {wanted:?}; write more of the id",
                fitting.len()
            ))),
        }
    }

    /// The ids of the snapshots, oldest first: an id begins with its time.
    pub(crate) fn snapshot_ids(&self) -> Result<Vec<String>, BackupError> {
        let names = self.files.list(SNAPSHOTS, snapshot::EXTENSION)?;
        let stems = names.iter().filter_map(|name| Path::new(name).file_stem()?.to_str());
        Ok(stems.map(str::to_owned).collect())
    }

    pub(crate) fn read(&self, id: &str) -> Result<Snapshot, BackupError> {
        Snapshot::read(&*self.files, id, &self.cipher)
    }

    pub(crate) fn write(&self, snapshot: &Snapshot) -> Result<(), BackupError> {
        snapshot.write(&*self.files, &self.cipher)
    }

    pub(crate) fn remove(&self, id: &str) -> Result<(), BackupError> {
        self.files.remove(&snapshot::file_name(id))
    }

    /// Removes a damaged manifest from the list; its bytes are kept for inspection.
    pub(crate) fn set_aside(&self, id: &str) -> Result<(), BackupError> {
        let aside = format!("{SNAPSHOTS}/{id}.damaged");
        self.files.rename(&snapshot::file_name(id), &aside)?;
        self.files.sync(SNAPSHOTS)
    }

    /// Makes removals durable.
    pub(crate) fn sync_snapshots(&self) -> Result<(), BackupError> {
        self.files.sync(SNAPSHOTS)
    }

    /// A new id such as `20261117T081500Z-3f9a`, which sorts by time and differs from others of the
    /// same second.
    pub(crate) fn fresh_id(at: Timestamp) -> Result<String, BackupError> {
        let random = seal::random::<2>().map_err(BackupError::at(Path::new(SNAPSHOTS)))?;
        let text = at.to_string();
        let stamp: String = text[..19].chars().filter(|mark| !matches!(mark, '-' | ':')).collect();
        Ok(format!("{stamp}Z-{:04x}", u16::from_le_bytes(random)))
    }
}

fn read_format(files: &dyn PlaceFiles) -> Result<Format, BackupError> {
    let path = files.shown(FORMAT_FILE);
    let Some(bytes) = files.read(FORMAT_FILE)? else {
        return Err(BackupError::NotABackup { path: files.shown("") });
    };
    let text = String::from_utf8(bytes).map_err(|_| damaged_format(&path))?;
    let (content, check) =
        text.trim_end().rsplit_once('\n').ok_or_else(|| damaged_format(&path))?;
    if Hash::from_hex(check) != Some(Hash::of(content.as_bytes())) {
        return Err(damaged_format(&path));
    }
    let format: Format = serde_json::from_str(content).map_err(|_| damaged_format(&path))?;
    if format.format > FORMAT {
        return Err(BackupError::Newer { path: files.shown("") });
    }
    Ok(format)
}

fn damaged_format(path: &Path) -> BackupError {
    BackupError::Damaged(format!("{} is damaged", path.display()))
}

/// Creates a repository in an empty or missing place. The format file is written last.
fn make(
    files: &dyn PlaceFiles,
    passphrase: Option<&Passphrase>,
    encryption: Encryption,
) -> Result<(), BackupError> {
    let path = || files.shown("");
    files.prepare(&[FORMAT_FILE, PACKS, SNAPSHOTS])?;
    let encryption = match encryption {
        Encryption::AsItIs => None,
        Encryption::Wanted => {
            let passphrase = passphrase.filter(|passphrase| !passphrase.is_empty());
            let passphrase =
                passphrase.ok_or_else(|| BackupError::PassphraseNeeded { path: path() })?;
            Some(KeyBox::make(passphrase).map_err(BackupError::at(&path()))?.0)
        }
    };
    let content = serde_json::to_string_pretty(&Format { format: FORMAT, encryption });
    let content = content.map_err(|error| BackupError::at(&path())(error.into()))?;
    let text = format!("{content}\n{}\n", Hash::of(content.as_bytes()));
    files.put(FORMAT_FILE, text.into_bytes())
}
