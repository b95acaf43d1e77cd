use std::collections::BTreeMap;

use async_trait::async_trait;
use onyx_storage::{ChunkRow, ChunkStore, SourceKey, SourceRow, StoreError};
use onyx_types::PersonId;

use super::MemoryDisk;

#[derive(Default)]
pub(super) struct Sources {
    rows: Vec<(SourceRow, Vec<ChunkRow>)>,
    /// The newest change of each source.
    changes: BTreeMap<u64, SourceKey>,
    last_change: u64,
}

impl Sources {
    fn change(&mut self, key: &SourceKey) -> u64 {
        self.changes.retain(|_, changed| changed != key);
        self.last_change += 1;
        self.changes.insert(self.last_change, key.clone());
        self.last_change
    }

    fn find(&self, key: &SourceKey) -> Option<&(SourceRow, Vec<ChunkRow>)> {
        self.rows.iter().find(|(row, _)| row.key == *key)
    }
}

pub(super) struct MemoryChunks {
    disk: MemoryDisk,
}

impl MemoryChunks {
    pub(super) fn new(disk: MemoryDisk) -> Self {
        Self { disk }
    }
}

#[async_trait]
impl ChunkStore for MemoryChunks {
    async fn replace(&self, source: &SourceRow, chunks: &[ChunkRow]) -> Result<u64, StoreError> {
        let sources = &mut self.disk.lock().chunks;
        sources.rows.retain(|(row, _)| row.key != source.key);
        sources.rows.push((source.clone(), chunks.to_vec()));
        Ok(sources.change(&source.key))
    }

    async fn remove(&self, key: &SourceKey) -> Result<u64, StoreError> {
        let sources = &mut self.disk.lock().chunks;
        sources.rows.retain(|(row, _)| row.key != *key);
        Ok(sources.change(key))
    }

    async fn source(&self, key: &SourceKey) -> Result<Option<SourceRow>, StoreError> {
        Ok(self.disk.lock().chunks.find(key).map(|(row, _)| row.clone()))
    }

    async fn sources(&self, person: Option<&PersonId>) -> Result<Vec<SourceRow>, StoreError> {
        let disk = self.disk.lock();
        let rows = disk.chunks.rows.iter().map(|(row, _)| row);
        let mut rows: Vec<_> =
            rows.filter(|row| row.key.person.as_ref() == person).cloned().collect();
        rows.sort_by(|a, b| a.key.path.cmp(&b.key.path));
        Ok(rows)
    }

    async fn chunks(&self, key: &SourceKey) -> Result<Vec<ChunkRow>, StoreError> {
        Ok(self.disk.lock().chunks.find(key).map(|(_, chunks)| chunks.clone()).unwrap_or_default())
    }

    async fn epoch(&self) -> Result<u64, StoreError> {
        Ok(1)
    }

    async fn changes(&self, after: u64, limit: u32) -> Result<Vec<(u64, SourceKey)>, StoreError> {
        let disk = self.disk.lock();
        let newer = disk.chunks.changes.range(after + 1..);
        Ok(newer.take(limit as usize).map(|(seq, key)| (*seq, key.clone())).collect())
    }
}
