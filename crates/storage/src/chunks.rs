use async_trait::async_trait;
use onyx_types::{Hash, Origin, PersonId, Scope, Timestamp};

use crate::StoreError;

/// A document of a person (or of everybody, for shared ones) by its storage key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceKey {
    pub person: Option<PersonId>,
    pub path: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SourceRow {
    pub key: SourceKey,
    pub scope: Scope,
    pub origin: Origin,
    pub title: String,
    pub checksum: Hash,
    pub indexed_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ChunkRow {
    pub start_line: u32,
    pub end_line: u32,
    pub text: String,
    /// Filled in later while the embedder is down.
    pub embedding: Option<Vec<f32>>,
}

/// The derived store behind search: deleting it loses nothing.
#[async_trait]
pub trait ChunkStore: Send + Sync {
    /// Replaces everything of one source in one transaction and returns the change's sequence.
    async fn replace(&self, source: &SourceRow, chunks: &[ChunkRow]) -> Result<u64, StoreError>;

    async fn remove(&self, key: &SourceKey) -> Result<u64, StoreError>;

    async fn source(&self, key: &SourceKey) -> Result<Option<SourceRow>, StoreError>;

    /// Sources of one person (or the shared ones), sorted by path.
    async fn sources(&self, person: Option<&PersonId>) -> Result<Vec<SourceRow>, StoreError>;

    async fn chunks(&self, key: &SourceKey) -> Result<Vec<ChunkRow>, StoreError>;

    /// Changes when the store was made anew: sequences of another epoch mean nothing, and a
    /// follower starts from 0 with nothing.
    async fn epoch(&self) -> Result<u64, StoreError>;

    /// Sources changed or removed after a sequence, oldest first, each with its own; followers
    /// (text index, vector codes) keep up by this.
    async fn changes(&self, after: u64, limit: u32) -> Result<Vec<(u64, SourceKey)>, StoreError>;
}
