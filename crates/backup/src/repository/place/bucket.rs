//! A repository in a prefix of a bucket. An object exists completely or not at all, so a killed
//! backup leaves no partial one. The code does not rely on conditional requests, which some stores
//! ignore.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_storage::{BlockingBucket, ObjectsUrl, S3Settings, StoreError};

use super::super::{Purpose, seal};
use super::bucket_lock::{BucketLock, LOCKS, is_free};
use super::bucket_reader::BucketReader;
use super::{NewFile, PlaceFiles, ReadAt};
use crate::error::BackupError;

/// How many objects are open for reading; each holds some megabytes that were read ahead.
const MOST_OPEN: usize = 8;
/// The prefix of the objects that `BlockingBucket::probe` writes; a process that dies during a
/// probe leaves one.
const PROBES: &str = "probe";

pub(super) struct BucketFiles {
    bucket: Arc<BlockingBucket>,
    url: ObjectsUrl,
    /// The sizes of objects that were listed, so that opening one needs no further request.
    sizes: Mutex<HashMap<String, u64>>,
    held: Mutex<Option<Arc<BucketLock>>>,
}

impl BucketFiles {
    pub(super) fn open(
        url: ObjectsUrl,
        settings: &S3Settings,
        purpose: Purpose,
    ) -> Result<Self, BackupError> {
        let told = |source| BackupError::Bucket { place: url.to_string(), source };
        let bucket = BlockingBucket::new(url.clone(), settings).map_err(told)?;
        match purpose {
            Purpose::Read => bucket.look().map_err(told)?,
            Purpose::Write => {
                let random = seal::random::<8>().map_err(BackupError::at(&shown(&url, "")))?;
                let name = format!("{:016x}", u64::from_le_bytes(random));
                bucket.probe(&name).map_err(told)?;
            }
        }
        let bucket = Arc::new(bucket);
        Ok(Self { bucket, url, sizes: Mutex::default(), held: Mutex::default() })
    }

    fn at(&self, name: &str) -> impl FnOnce(StoreError) -> BackupError + use<> {
        let path = self.shown(name);
        move |error| BackupError::at(&path)(io::Error::other(error))
    }

    fn note_size(&self, name: &str, size: u64) {
        let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        sizes.insert(name.to_owned(), size);
    }

    /// Fails if another process has taken over the lock, which can happen when this one was frozen
    /// or cut off for long.
    fn still_ours(&self) -> Result<(), BackupError> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(lock) = held else { return Ok(()) };
        if lock.is_there().map_err(self.at(""))? {
            return Ok(());
        }
        Err(BackupError::Busy { path: self.shown("") })
    }
}

fn shown(url: &ObjectsUrl, name: &str) -> PathBuf {
    let place = url.to_string();
    if name.is_empty() { place.into() } else { format!("{place}/{name}").into() }
}

impl PlaceFiles for BucketFiles {
    fn shown(&self, name: &str) -> PathBuf {
        shown(&self.url, name)
    }

    fn prepare(&self, ours: &[&str]) -> Result<(), BackupError> {
        for found in self.bucket.list("").map_err(self.at(""))? {
            let is_ours = ours.contains(&&*found.name) || [LOCKS, PROBES].contains(&&*found.name);
            if !is_ours {
                return Err(BackupError::NotEmpty { path: self.shown("") });
            }
        }
        Ok(())
    }

    /// Locks the place for writing. A reader takes no lock, because it may have no right to write,
    /// but it is refused while another process writes.
    fn lock(&self, purpose: Purpose) -> Result<Option<Box<dyn Send>>, BackupError> {
        let busy = || BackupError::Busy { path: self.shown("") };
        if purpose == Purpose::Read {
            let is_free = is_free(&self.bucket).map_err(self.at(LOCKS))?;
            return if is_free { Ok(None) } else { Err(busy()) };
        }
        let lock = BucketLock::take(&self.bucket).map_err(self.at(LOCKS))?.ok_or_else(busy)?;
        let lock = Arc::new(lock);
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&lock));
        Ok(Some(Box::new(lock)))
    }

    fn list(&self, folder: &str, extension: &str) -> Result<Vec<String>, BackupError> {
        let mut names = Vec::new();
        for found in self.bucket.list(folder).map_err(self.at(folder))? {
            if found.name.rsplit_once('.').is_some_and(|(_, end)| end == extension) {
                self.note_size(&found.name, found.size);
                names.push(found.name);
            }
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, BackupError> {
        self.bucket.get(name).map_err(self.at(name))
    }

    fn open(&self, name: &str) -> Result<Box<dyn ReadAt>, BackupError> {
        let known = {
            let sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
            sizes.get(name).copied()
        };
        let length = match known {
            Some(length) => length,
            None => self.bucket.length(name).map_err(self.at(name))?.ok_or_else(|| {
                BackupError::at(&self.shown(name))(io::ErrorKind::NotFound.into())
            })?,
        };
        Ok(Box::new(BucketReader::new(Arc::clone(&self.bucket), name, length)))
    }

    fn most_open(&self) -> usize {
        MOST_OPEN
    }

    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), BackupError> {
        self.still_ours()?;
        self.note_size(name, bytes.len() as u64);
        self.bucket.put(name, bytes).map_err(self.at(name))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        let (bucket, name) = (Arc::clone(&self.bucket), name.to_owned());
        Ok(Box::new(NewObject { bucket, name, bytes: Vec::new() }))
    }

    fn replace_end(&self, name: &str, kept: u64, end: &[u8]) -> Result<(), BackupError> {
        let mut bytes = self.bucket.get_range(name, 0..kept).map_err(self.at(name))?;
        bytes.extend_from_slice(end);
        self.put(name, bytes)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), BackupError> {
        if let Some(bytes) = self.read(from)? {
            self.put(to, bytes)?;
        }
        self.remove(from)
    }

    fn remove(&self, name: &str) -> Result<(), BackupError> {
        self.still_ours()?;
        self.bucket.delete(name).map_err(self.at(name))
    }

    fn sync(&self, _folder: &str) -> Result<(), BackupError> {
        Ok(())
    }
}

/// An object that is kept in memory until it is complete, because a pack has at most some tens of
/// megabytes.
struct NewObject {
    bucket: Arc<BlockingBucket>,
    name: String,
    bytes: Vec<u8>,
}

impl NewFile for NewObject {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.bucket.put(&self.name, self.bytes).map_err(io::Error::other)
    }
}
