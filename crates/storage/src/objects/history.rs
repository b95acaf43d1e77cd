//! What a person's files held before agents changed them, and who wrote what they hold now.
//!
//! `history/files/<path>/.versions/` holds the contents by hash and `manifest.jsonl`, one line a
//! change; `history/runs/<run>.jsonl` names the changes of a run in order. Everything is durable
//! before the change itself may happen, so a crash can leave a kept version too many, never one
//! too few.

use std::sync::Arc;

use onyx_types::{Author, Hash, Origin, RunId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Expect, ObjectKey, Objects, StoreError};

const VERSIONS: &str = ".versions";
/// A manifest of this size is some hundred thousand changes of one file.
const LARGEST_MANIFEST: u64 = 64 * 1024 * 1024;

/// Who is about to change a file, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub ts: Timestamp,
    pub author: Author,
    /// What the new content is to be taken for when it is read again.
    pub origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    pub tool: String,
}

/// One change of one file: what it held before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// Within the person's folder.
    pub path: ObjectKey,
    /// Content before the change; `None` when there was no file.
    pub before: Option<Hash>,
    /// Content after it; `None` when it was deleted.
    pub after: Option<Hash>,
    pub change: Change,
}

/// A version's line in a manifest or in a run's list.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    path: String,
    before: Option<Hash>,
    after: Option<Hash>,
    #[serde(flatten)]
    change: Change,
}

/// Versions of one person's files.
#[derive(Clone)]
pub struct History {
    person: Arc<dyn Objects>,
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History").finish_non_exhaustive()
    }
}

impl History {
    /// `person` is the root of the person's folder; paths are within it (`vault/notes/a.md`).
    pub fn new(person: Arc<dyn Objects>) -> Self {
        Self { person }
    }

    /// Keeps what the file holds. To be called, and to have returned, before the change.
    pub async fn keep(
        &self,
        path: &ObjectKey,
        before: Option<&[u8]>,
        after: Option<Hash>,
        change: Change,
    ) -> Result<Version, StoreError> {
        let before = match before {
            Some(bytes) => Some(self.keep_content(path, bytes).await?),
            None => None,
        };
        let version = Version { path: path.clone(), before, after, change };
        let line = version.line()?;
        self.person.append(&manifest_key(path)?, &line).await?;
        if let Some(run) = version.change.run {
            self.person.append(&run_key(run)?, &line).await?;
        }
        Ok(version)
    }

    async fn keep_content(&self, path: &ObjectKey, bytes: &[u8]) -> Result<Hash, StoreError> {
        let hash = Hash::of(bytes);
        match self.person.put(&content_key(path, hash)?, bytes, Expect::Absent).await {
            // The same content was kept before: its name is its hash.
            Ok(_) | Err(StoreError::Conflict) => Ok(hash),
            Err(error) => Err(error),
        }
    }

    /// Every kept change of a file, newest first.
    pub async fn versions(&self, path: &ObjectKey) -> Result<Vec<Version>, StoreError> {
        let mut versions = self.read_list(&manifest_key(path)?).await?;
        versions.reverse();
        Ok(versions)
    }

    /// What the file held before that change; `None` when there was no file.
    pub async fn read(&self, version: &Version) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(hash) = version.before else { return Ok(None) };
        let object = self.person.get(&content_key(&version.path, hash)?, u64::MAX).await?;
        match object {
            Some(object) if object.hash == hash => Ok(Some(object.bytes)),
            Some(_) => Err(StoreError::Damaged(format!("the kept version of {}", version.path))),
            None => Err(StoreError::NotFound),
        }
    }

    /// Where the content a file holds now came from. What no agent wrote, a person did.
    pub async fn provenance(&self, path: &ObjectKey, current: Hash) -> Result<Origin, StoreError> {
        let versions = self.versions(path).await?;
        let written = versions.iter().find(|version| version.after == Some(current));
        Ok(written.map_or(Origin::Person, |version| version.change.origin))
    }

    /// What a run changed, in the order it did, so that it can be undone as one. A change that was
    /// kept may not have happened: compare the file with `after` before undoing it.
    pub async fn changes_of_run(&self, run: RunId) -> Result<Vec<Version>, StoreError> {
        self.read_list(&run_key(run)?).await
    }

    async fn read_list(&self, key: &ObjectKey) -> Result<Vec<Version>, StoreError> {
        let Some(list) = self.person.get(key, LARGEST_MANIFEST).await? else {
            return Ok(Vec::new());
        };
        let lines = list.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let versions = lines.filter_map(|line| {
            let version = Version::parse(line);
            if version.is_none() {
                // Cut off by a crash, before the change it announces could happen.
                tracing::warn!(list = %key, "a line of the history cannot be read");
            }
            version
        });
        Ok(versions.collect())
    }
}

impl Version {
    /// Begins with a newline too, so that what a crash cut off before it stays a line of its own.
    fn line(&self) -> Result<Vec<u8>, StoreError> {
        let record = Record {
            path: self.path.to_string(),
            before: self.before,
            after: self.after,
            change: self.change.clone(),
        };
        let json = serde_json::to_vec(&record)
            .map_err(|error| StoreError::Failed(format!("history: {error}")))?;
        Ok([b"\n", json.as_slice(), b"\n"].concat())
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let Record { path, before, after, change } = serde_json::from_slice(line).ok()?;
        Some(Self { path: path.parse().ok()?, before, after, change })
    }
}

fn folder_of(path: &ObjectKey) -> Result<ObjectKey, StoreError> {
    if path.parts().any(|part| part == VERSIONS) {
        return Err(StoreError::Refused(format!("{VERSIONS} is a reserved name")));
    }
    Ok(format!("history/files/{path}/{VERSIONS}").parse()?)
}

fn manifest_key(path: &ObjectKey) -> Result<ObjectKey, StoreError> {
    Ok(folder_of(path)?.join("manifest.jsonl")?)
}

fn content_key(path: &ObjectKey, hash: Hash) -> Result<ObjectKey, StoreError> {
    Ok(folder_of(path)?.join(&hash.to_string())?)
}

fn run_key(run: RunId) -> Result<ObjectKey, StoreError> {
    Ok(format!("history/runs/{run}.jsonl").parse()?)
}
