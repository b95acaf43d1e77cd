use std::io;
use std::path::{Path, PathBuf};

use onyx_storage::{MoveError, ServerError, StoreError};
use onyx_types::{ErrorCode, Fault};
use rustix::io::Errno;

/// Why a backup, a restore or an export failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the ledger's database cannot be copied: {0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Server(#[from] MoveError),
    #[error("{place}: {source}")]
    Bucket { place: String, source: ServerError },
    #[error("{} holds no backups", path.display())]
    NotABackup { path: PathBuf },
    #[error("{} was written by a newer version of Onyx", path.display())]
    Newer { path: PathBuf },
    #[error("{} is not empty", path.display())]
    NotEmpty { path: PathBuf },
    #[error("{} is inside the home", path.display())]
    InsideHome { path: PathBuf },
    #[error("the backups in {} are encrypted, and no passphrase was given", path.display())]
    PassphraseNeeded { path: PathBuf },
    #[error("the passphrase does not open the backups in {}", path.display())]
    WrongPassphrase { path: PathBuf },
    #[error("the backups in {} are not encrypted", path.display())]
    NotEncrypted { path: PathBuf },
    #[error("another process is using {}", path.display())]
    Busy { path: PathBuf },
    #[error("there is no snapshot {wanted:?}")]
    NoSnapshot { wanted: String },
    #[error("{wanted} is not in the snapshot {snapshot}")]
    NotInSnapshot { wanted: String, snapshot: String },
    #[error("{0}")]
    Damaged(String),
    #[error("{0}")]
    Refused(String),
    #[error("stopped before it was done")]
    Stopped,
}

impl BackupError {
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn at_errno(path: &Path) -> impl FnOnce(Errno) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path, source: error.into() }
    }

    fn code(&self) -> ErrorCode {
        match self {
            Self::Io { source, .. } => match (source.kind(), of_store(source)) {
                (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => {
                    ErrorCode::StorageFull
                }
                (_, Some(error)) => error.code(),
                (_, None) => ErrorCode::StorageFailed,
            },
            Self::Bucket { source: ServerError::Objects(_), .. } => ErrorCode::StorageUnavailable,
            Self::Bucket { .. } => ErrorCode::InvalidRequest,
            Self::Store(error) => error.code(),
            Self::Server(MoveError::Store(error)) => error.code(),
            Self::Server(_) => ErrorCode::StorageFailed,
            Self::NoSnapshot { .. } | Self::NotInSnapshot { .. } => ErrorCode::NotFound,
            Self::Damaged(_) => ErrorCode::StorageFailed,
            Self::Stopped => ErrorCode::Cancelled,
            Self::NotABackup { .. }
            | Self::Newer { .. }
            | Self::NotEmpty { .. }
            | Self::InsideHome { .. }
            | Self::PassphraseNeeded { .. }
            | Self::WrongPassphrase { .. }
            | Self::NotEncrypted { .. }
            | Self::Busy { .. }
            | Self::Refused(_) => ErrorCode::InvalidRequest,
        }
    }

    fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Io { .. } if self.code() == ErrorCode::StorageFull => {
                "Free some space and run it again; earlier backups are intact."
            }
            Self::Io { source, .. } if of_store(source).is_some() => {
                "Run it again when the store can be reached; earlier backups are intact."
            }
            Self::Io { .. } => "Check that the folder exists and that you may write to it.",
            Self::Bucket { source: ServerError::NoBucket { .. }, .. } => {
                "Create the bucket, or name another; with some stores `pathStyle` must be true in \
                 `jobs.backup.s3`."
            }
            Self::Bucket { source: ServerError::NoBucketRights { .. }, .. } => {
                "Give the key in `jobs.backup.s3` the rights to put, get, list and delete objects \
                 there; for restoring, get and list are enough."
            }
            Self::Bucket { .. } => "Check `jobs.backup.s3`: endpoint, region and keys.",
            Self::Server(MoveError::Server(error)) => error.hint(),
            Self::Server(_) | Self::Store(_) | Self::Stopped => {
                "Run it again; earlier backups are intact."
            }
            Self::NotABackup { .. } => "Name a place that `onyx backup --to` has written to.",
            Self::Newer { .. } => "Use the version of Onyx that wrote it, or a newer one.",
            Self::NotEmpty { .. } => {
                "Name a new or empty folder, or a prefix of its own in the bucket; to restore a whole home, move the old one away first."
            }
            Self::InsideHome { .. } => {
                "Name a folder outside the home, best on another disk, so that it is not lost with \
                 the home."
            }
            Self::PassphraseNeeded { .. } => {
                "Set ONYX_BACKUP_PASSPHRASE or run it in a terminal; for the job, set \
                 `jobs.backup.passphrase` to `secret:<name>`."
            }
            Self::WrongPassphrase { .. } => {
                "Try again. Without the passphrase no one can read them."
            }
            Self::NotEncrypted { .. } => "Use another place for encrypted backups.",
            Self::Busy { .. } => "Wait until it is done, then try again.",
            Self::NoSnapshot { .. } => "`onyx backup list` shows the snapshots.",
            Self::NotInSnapshot { .. } => {
                "Paths begin at the home, such as people/owner/vault/note.md. Another snapshot may \
                 have it: `onyx backup list`."
            }
            Self::Damaged(_) => {
                "`onyx backup verify` names everything that is damaged; `onyx restore \
                 --skip-damaged` restores the rest."
            }
            Self::Refused(_) => return None,
        })
    }
}

/// The store error inside an I/O error, if a bucket caused it.
fn of_store(error: &io::Error) -> Option<&StoreError> {
    error.get_ref()?.downcast_ref()
}

impl From<BackupError> for Fault {
    fn from(error: BackupError) -> Self {
        let fault = Self::new(error.code(), error.to_string());
        match error.hint() {
            Some(hint) => fault.with_hint(hint),
            None => fault,
        }
    }
}
