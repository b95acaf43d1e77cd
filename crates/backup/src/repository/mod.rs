//! A folder of backups.
//!
//! ```text
//! onyx-backup.json         the format, and of an encrypted folder how its key is opened
//! lock                     one writer at a time
//! packs/<random>.pack      chunks of files
//! snapshots/<id>.snapshot  one manifest for each snapshot
//! ```
//!
//! Everything but the manifest of a snapshot may be there without being named by anybody: that is
//! what a killed backup leaves, and the next one uses or removes it.

mod pack;
mod packs;
mod seal;
mod snapshot;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onyx_types::{Hash, Timestamp};
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::BackupError;
use seal::{Cipher, KeyBox};

pub(crate) use packs::{CHUNK, ChunkState, PackFlaw, Packs, Thorough, sync};
pub use seal::Passphrase;
pub use snapshot::SnapshotInfo;
pub(crate) use snapshot::{Entry, EntryKind, FileEntry, FileStamp, Snapshot, write_durably};

const FORMAT: u32 = 1;
const FORMAT_FILE: &str = "onyx-backup.json";
const LOCK: &str = "lock";
const PACKS: &str = "packs";
const SNAPSHOTS: &str = "snapshots";

/// What a new folder of backups is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Encrypted; a folder that is there and is not is refused.
    Wanted,
    /// As the folder is; a new one is plain.
    AsItIs,
}

/// What the file of the format says, followed by a line with its checksum.
#[derive(Debug, Serialize, Deserialize)]
struct Format {
    format: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encryption: Option<KeyBox>,
}

/// What a process does with the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Write,
}

pub(crate) struct Repository {
    folder: PathBuf,
    cipher: Arc<Cipher>,
    /// Goes with the process, however that ends.
    _lock: Option<File>,
}

/// The snapshots of a folder, oldest first, and what could not be read.
#[derive(Debug, Default)]
pub struct SnapshotListing {
    pub snapshots: Vec<SnapshotInfo>,
    pub damaged: Vec<String>,
}

/// Needs the folder a passphrase? `None`: there is none yet.
pub fn is_encrypted(folder: &Path) -> Result<Option<bool>, BackupError> {
    match read_format(folder) {
        Ok(format) => Ok(Some(format.encryption.is_some())),
        Err(BackupError::NotABackup { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What is in a folder of backups.
pub fn list(
    folder: &Path,
    passphrase: Option<&Passphrase>,
) -> Result<SnapshotListing, BackupError> {
    let repository = Repository::open(folder, passphrase, Purpose::Read)?;
    let mut listing = SnapshotListing::default();
    for id in repository.snapshot_ids()? {
        match Snapshot::read_info(&repository.snapshot_path(&id), &id, &repository.cipher) {
            Ok(info) => listing.snapshots.push(info),
            Err(BackupError::Damaged(why)) => listing.damaged.push(why),
            Err(error) => return Err(error),
        }
    }
    Ok(listing)
}

impl Repository {
    pub(crate) fn open(
        folder: &Path,
        passphrase: Option<&Passphrase>,
        purpose: Purpose,
    ) -> Result<Self, BackupError> {
        let format = read_format(folder)?;
        let lock = lock(folder, purpose)?;
        let path = || folder.to_owned();
        let cipher = match (format.encryption, passphrase) {
            (None, _) => Cipher::plain(),
            (Some(_), None) => return Err(BackupError::PassphraseNeeded { path: path() }),
            (Some(key_box), Some(passphrase)) => key_box
                .open(passphrase)
                .ok_or_else(|| BackupError::WrongPassphrase { path: path() })?,
        };
        Ok(Self { folder: path(), cipher: Arc::new(cipher), _lock: lock })
    }

    /// The folder, made if there is none.
    pub(crate) fn open_or_make(
        folder: &Path,
        passphrase: Option<&Passphrase>,
        encryption: Encryption,
    ) -> Result<Self, BackupError> {
        match read_format(folder) {
            Err(BackupError::NotABackup { .. }) => make(folder, passphrase, encryption)?,
            Err(error) => return Err(error),
            Ok(format) if encryption == Encryption::Wanted && format.encryption.is_none() => {
                return Err(BackupError::NotEncrypted { path: folder.to_owned() });
            }
            Ok(_) => {}
        }
        let repository = Self::open(folder, passphrase, Purpose::Write)?;
        // Manifests that a killed backup had begun.
        for path in packs::files_in(&folder.join(SNAPSHOTS), "new")? {
            fs::remove_file(&path).map_err(BackupError::at(&path))?;
        }
        Ok(repository)
    }

    pub(crate) fn packs(&self) -> Result<Packs, BackupError> {
        Packs::open(&self.folder.join(PACKS), &self.cipher)
    }

    /// The one that is asked for by the beginning of its id, or else the newest.
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

    /// Oldest first: an id begins with its time.
    pub(crate) fn snapshot_ids(&self) -> Result<Vec<String>, BackupError> {
        let files = packs::files_in(&self.folder.join(SNAPSHOTS), snapshot::EXTENSION)?;
        let ids = files.iter().filter_map(|path| path.file_stem()?.to_str().map(str::to_owned));
        Ok(ids.collect())
    }

    pub(crate) fn read(&self, id: &str) -> Result<Snapshot, BackupError> {
        Snapshot::read(&self.snapshot_path(id), id, &self.cipher)
    }

    pub(crate) fn write(&self, snapshot: &Snapshot) -> Result<(), BackupError> {
        snapshot.write(&self.folder.join(SNAPSHOTS), &self.cipher)
    }

    pub(crate) fn remove(&self, id: &str) -> Result<(), BackupError> {
        let path = self.snapshot_path(id);
        fs::remove_file(&path).map_err(BackupError::at(&path))
    }

    /// Takes a damaged manifest out of the list; its bytes stay for whoever wants to look.
    pub(crate) fn set_aside(&self, id: &str) -> Result<(), BackupError> {
        let path = self.snapshot_path(id);
        fs::rename(&path, path.with_extension("damaged")).map_err(BackupError::at(&path))?;
        sync(&self.folder.join(SNAPSHOTS))
    }

    /// Removals are on the disk when this returns.
    pub(crate) fn sync_snapshots(&self) -> Result<(), BackupError> {
        sync(&self.folder.join(SNAPSHOTS))
    }

    fn snapshot_path(&self, id: &str) -> PathBuf {
        self.folder.join(SNAPSHOTS).join(format!("{id}.{}", snapshot::EXTENSION))
    }

    /// `20261117T081500Z-3f9a`: sorts by time, and two of one second differ.
    pub(crate) fn fresh_id(at: Timestamp) -> Result<String, BackupError> {
        let random = seal::random::<2>().map_err(BackupError::at(Path::new(SNAPSHOTS)))?;
        let text = at.to_string();
        let stamp: String = text[..19].chars().filter(|mark| !matches!(mark, '-' | ':')).collect();
        Ok(format!("{stamp}Z-{:04x}", u16::from_le_bytes(random)))
    }
}

fn read_format(folder: &Path) -> Result<Format, BackupError> {
    let path = folder.join(FORMAT_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Err(BackupError::NotABackup { path: folder.to_owned() });
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => return Err(damaged_format(&path)),
        Err(error) => return Err(BackupError::at(&path)(error)),
    };
    let (content, check) =
        text.trim_end().rsplit_once('\n').ok_or_else(|| damaged_format(&path))?;
    if Hash::from_hex(check) != Some(Hash::of(content.as_bytes())) {
        return Err(damaged_format(&path));
    }
    let format: Format = serde_json::from_str(content).map_err(|_| damaged_format(&path))?;
    if format.format > FORMAT {
        return Err(BackupError::Newer { path: folder.to_owned() });
    }
    Ok(format)
}

fn damaged_format(path: &Path) -> BackupError {
    BackupError::Damaged(format!("{} is damaged", path.display()))
}

/// Makes a folder of backups out of an empty or missing folder. Its format is written last.
fn make(
    folder: &Path,
    passphrase: Option<&Passphrase>,
    encryption: Encryption,
) -> Result<(), BackupError> {
    let make_folder = |path: &Path| {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(BackupError::at(path))
    };
    make_folder(folder)?;
    refuse_strangers(folder)?;
    let encryption = match encryption {
        Encryption::AsItIs => None,
        Encryption::Wanted => {
            let passphrase = passphrase.filter(|passphrase| !passphrase.is_empty());
            let passphrase = passphrase
                .ok_or_else(|| BackupError::PassphraseNeeded { path: folder.to_owned() })?;
            Some(KeyBox::make(passphrase).map_err(BackupError::at(folder))?.0)
        }
    };
    for name in [PACKS, SNAPSHOTS] {
        make_folder(&folder.join(name))?;
    }
    let (path, fresh) = (folder.join(FORMAT_FILE), folder.join("onyx-backup.json.new"));
    let content = serde_json::to_string_pretty(&Format { format: FORMAT, encryption });
    let content = content.map_err(|error| BackupError::at(&path)(error.into()))?;
    let text = format!("{content}\n{}\n", Hash::of(content.as_bytes()));
    snapshot::write_durably(&fresh, text.as_bytes()).map_err(BackupError::at(&fresh))?;
    fs::rename(&fresh, &path).map_err(BackupError::at(&path))?;
    sync(folder)
}

/// Backups go into a folder of their own. What a killed beginning left is ours.
fn refuse_strangers(folder: &Path) -> Result<(), BackupError> {
    const OURS: [&str; 4] = [LOCK, PACKS, SNAPSHOTS, "onyx-backup.json.new"];
    for entry in fs::read_dir(folder).map_err(BackupError::at(folder))? {
        let name = entry.map_err(BackupError::at(folder))?.file_name();
        if !OURS.iter().any(|ours| name == *ours) {
            return Err(BackupError::NotEmpty { path: folder.to_owned() });
        }
    }
    Ok(())
}

fn lock(folder: &Path, purpose: Purpose) -> Result<Option<File>, BackupError> {
    let path = folder.join(LOCK);
    let (opened, how) = match purpose {
        Purpose::Write => {
            let mut options = OpenOptions::new();
            let options = options.create(true).truncate(false).write(true).mode(0o600);
            (options.open(&path), FlockOperation::NonBlockingLockExclusive)
        }
        Purpose::Read => (File::open(&path), FlockOperation::NonBlockingLockShared),
    };
    let file = match opened {
        Ok(file) => file,
        // A copy on a medium that nobody writes to.
        Err(error) if purpose == Purpose::Read && error.kind() == ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(BackupError::at(&path)(error)),
    };
    match rustix::fs::flock(&file, how) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Err(BackupError::Busy { path: folder.to_owned() }),
        Err(error) => Err(BackupError::at_errno(&path)(error)),
    }
}
