//! A prefix of a bucket for callers that wait for it as they would for a disk. Backups are kept in one. The requests run
//! on a thread of its own, so that it works where no runtime does; it must not be used on a thread that runs tasks.

use std::ops::Range;
use std::time::Duration;

use onyx_types::Timestamp;
use tokio::runtime::Runtime;

use super::{Bucket, ObjectsUrl, S3Settings};
use crate::{ServerError, StoreError};

/// A whole pack of a backup is one request, also on a slow line.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub struct BlockingBucket {
    bucket: Bucket,
    runtime: Runtime,
}

/// An object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Beneath the prefix.
    pub name: String,
    pub size: u64,
    /// The time of the last change, by the clock of the store.
    pub modified: Timestamp,
}

impl BlockingBucket {
    pub fn new(url: ObjectsUrl, settings: &S3Settings) -> Result<Self, ServerError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("bucket")
            .enable_all()
            .build()
            .map_err(|error| ServerError::Failed(error.to_string()))?;
        Ok(Self { bucket: Bucket::with_patience(url, settings, PATIENCE)?, runtime })
    }

    /// Tells why nothing can be read there; an empty bucket is fine.
    pub fn look(&self) -> Result<(), ServerError> {
        self.runtime.block_on(self.bucket.look())
    }

    /// Does everything once that is needed for writing.
    pub fn probe(&self, name: &str) -> Result<(), ServerError> {
        self.runtime.block_on(self.bucket.probe(name))
    }

    pub fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.runtime.block_on(self.bucket.put(name, bytes))
    }

    pub fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.runtime.block_on(self.bucket.get_if_any(name))
    }

    pub fn get_range(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        self.runtime.block_on(self.bucket.get_range(name, range))
    }

    pub fn length(&self, name: &str) -> Result<Option<u64>, StoreError> {
        self.runtime.block_on(self.bucket.length(name))
    }

    /// What lies directly in a folder of the prefix (`""`: in the prefix itself), in the order of the names; of folders
    /// only their names.
    pub fn list(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.runtime.block_on(self.bucket.list(folder))
    }

    /// Deleting what is not there is no error.
    pub fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.runtime.block_on(self.bucket.delete(name))
    }
}
