//! A prefix of a bucket for callers that wait for it as they would for a disk; backups are kept in
//! one. The requests run on a thread of their own, so that this works outside of an async runtime.
//! It must not be used on a thread that runs async tasks.

use std::ops::Range;
use std::time::Duration;

use onyx_types::Timestamp;
use tokio::runtime::Runtime;

use super::{Bucket, ObjectsUrl, S3Settings};
use crate::{ServerError, StoreError};

/// How long a request may take. A whole pack of a backup is one request, also on a slow line.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub struct BlockingBucket {
    bucket: Bucket,
    runtime: Runtime,
}

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// The object's name, relative to the prefix.
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

    /// Checks that the bucket can be read; the error says why not. An empty bucket is fine.
    pub fn look(&self) -> Result<(), ServerError> {
        self.runtime.block_on(self.bucket.look())
    }

    /// Tries each operation that writing needs once.
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

    /// Lists the objects directly in a folder of the prefix (`""`: in the prefix itself), ordered
    /// by name. Folders appear only by their names.
    pub fn list(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.runtime.block_on(self.bucket.list(folder))
    }

    /// Deletes an object. Deleting one that does not exist is no error.
    pub fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.runtime.block_on(self.bucket.delete(name))
    }
}
