//! The place of a repository: a folder, or a prefix of a bucket in an S3 store. Both hold the same files under the same
//! names. When a write returns, the file is complete and durable, or it does not exist.

mod bucket;
mod bucket_lock;
mod bucket_reader;
mod folder;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onyx_storage::{ObjectsUrl, S3Settings};

use super::Purpose;
use crate::error::BackupError;
use bucket::BucketFiles;
use folder::FolderFiles;

/// Where backups are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackupPlace {
    Folder(PathBuf),
    Bucket { url: ObjectsUrl, settings: S3Settings },
}

impl BackupPlace {
    /// The place as messages and reports name it.
    pub fn shown(&self) -> PathBuf {
        match self {
            Self::Folder(path) => path.clone(),
            Self::Bucket { url, .. } => url.to_string().into(),
        }
    }

    /// Opens the place after checking that it can be read, or written if the purpose is writing.
    pub(super) fn open(&self, purpose: Purpose) -> Result<Arc<dyn PlaceFiles>, BackupError> {
        Ok(match self {
            Self::Folder(path) => Arc::new(FolderFiles::new(path)),
            Self::Bucket { url, settings } => {
                Arc::new(BucketFiles::open(url.clone(), settings, purpose)?)
            }
        })
    }
}

impl From<&Path> for BackupPlace {
    fn from(path: &Path) -> Self {
        Self::Folder(path.to_owned())
    }
}

/// The files of a repository, by names such as `packs/0a1b.pack`.
pub(crate) trait PlaceFiles: Send + Sync {
    /// The name of a file in messages; `""` is the place itself.
    fn shown(&self, name: &str) -> PathBuf;

    /// Prepares an empty or missing place. Fails with `NotEmpty` if it holds other files than
    /// `ours`.
    fn prepare(&self, ours: &[&str]) -> Result<(), BackupError>;

    /// Allows one writer at a time. The returned lock is held until it is dropped or the process
    /// ends.
    fn lock(&self, purpose: Purpose) -> Result<Option<Box<dyn Send>>, BackupError>;

    /// The names in a folder with this extension, in order.
    fn list(&self, folder: &str, extension: &str) -> Result<Vec<String>, BackupError>;

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, BackupError>;

    fn open(&self, name: &str) -> Result<Box<dyn ReadAt>, BackupError>;

    /// How many files are kept open for reading.
    fn most_open(&self) -> usize;

    /// Writes a file that is invisible until it is complete.
    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), BackupError>;

    /// Creates a file that is written from front to back.
    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>>;

    /// Replaces everything after the first `kept` bytes of a file by another end.
    fn replace_end(&self, name: &str, kept: u64, end: &[u8]) -> Result<(), BackupError>;

    fn rename(&self, from: &str, to: &str) -> Result<(), BackupError>;

    fn remove(&self, name: &str) -> Result<(), BackupError>;

    /// Makes the creation and removal of names in a folder durable.
    fn sync(&self, folder: &str) -> Result<(), BackupError>;
}

/// A file that is read at chosen positions.
pub(crate) trait ReadAt: Send {
    fn length(&self) -> io::Result<u64>;

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset)
    }
}

/// A file that is being written.
pub(crate) trait NewFile: Send {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Finishes the file and makes it durable.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
