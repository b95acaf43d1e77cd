//! Reads what the tables need from the chunk table: all chunks of one person, or what has changed.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::try_join;
use onyx_storage::{
    ChunkStore, Contents, GroupId, OutlinedChunk, SourceChange, SourceId, StoredVector,
};
use onyx_types::Clock;

use super::groups::KnownGroups;
use super::outline::Outline;
use super::person::{FollowedOutline, FollowedVectors, PersonTables, TablesKey, Update};
use super::tables::SearchTables;
use crate::KnowledgeError;
use crate::chunk::zone_of;
use crate::vectors::VectorSet;

pub(super) struct TablesLoader {
    chunks: Arc<dyn ChunkStore>,
    groups: Arc<KnownGroups>,
    clock: Arc<dyn Clock>,
}

/// How many sources are read at once, so that only a part of the vectors is held twice.
const SOURCES_AT_ONCE: usize = 100;

impl TablesLoader {
    pub(super) fn new(
        chunks: Arc<dyn ChunkStore>,
        groups: Arc<KnownGroups>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { chunks, groups, clock }
    }

    pub(super) async fn load(
        &self,
        key: &TablesKey,
        epoch: u64,
        model: Option<&str>,
    ) -> Result<PersonTables, KnowledgeError> {
        // Both are read at the same time: one is taken in while the store reads for the other.
        let both = try_join(self.outline(key), self.vectors(key, model)).await;
        let (outline, vectors) = both?;
        Ok(PersonTables { epoch, outline, vectors })
    }

    /// The vectors of a model; `None` if there is no model.
    pub(super) async fn vectors(
        &self,
        key: &TablesKey,
        model: Option<&str>,
    ) -> Result<Option<FollowedVectors>, KnowledgeError> {
        let Some(model) = model else { return Ok(None) };
        // The position is read first, so that changes made meanwhile are applied afterwards.
        let seq = self.chunks.last_change().await?;
        let mut set = VectorSet::default();
        let sources = self.chunks.source_ids(key.person()).await?;
        for sources in sources.chunks(SOURCES_AT_ONCE) {
            let vectors = self.chunks.vectors_of(model, sources).await?;
            vectors.iter().for_each(|vector| set.add(vector));
        }
        Ok(Some(FollowedVectors { seq, model: model.to_owned(), set }))
    }

    async fn outline(&self, key: &TablesKey) -> Result<FollowedOutline, KnowledgeError> {
        let seq = self.chunks.last_change().await?;
        let mut outline = Outline::default();
        let sources = self.chunks.source_ids(key.person()).await?;
        for sources in sources.chunks(SOURCES_AT_ONCE) {
            let chunks = self.chunks.outline_of(sources).await?;
            chunks.iter().for_each(|chunk| outline.add(chunk));
        }
        Ok(FollowedOutline { seq, outline })
    }

    /// What the tables need of the sources that have changed.
    pub(super) async fn updates(
        &self,
        tables: &SearchTables,
        changes: Vec<SourceChange>,
        epoch: u64,
    ) -> Result<Vec<Update>, KnowledgeError> {
        let chunks = &self.chunks;
        let of = |wanted: &dyn Fn(&SourceChange) -> bool| -> Vec<SourceId> {
            changes.iter().filter(|change| wanted(change)).map(|change| change.source).collect()
        };
        let texts = of(&|change| tables.wants_text(change));
        let mut contents: HashMap<SourceId, Contents> = HashMap::with_capacity(texts.len());
        for (source, held) in texts.iter().zip(chunks.contents(&texts).await?) {
            contents.extend(held.map(|held| (*source, held)));
        }
        let mut vectors: HashMap<SourceId, Vec<StoredVector>> = HashMap::new();
        if let Some((model, seen)) = tables.people.vectors_seen() {
            let wanted = of(&|change| change.seq > seen);
            for vector in chunks.vectors_of(model, &wanted).await? {
                vectors.entry(vector.source).or_default().push(vector);
            }
        }
        let mut outlined: HashMap<SourceId, Vec<OutlinedChunk>> = HashMap::new();
        if let Some(seen) = tables.people.outlines_seen() {
            let wanted = of(&|change| change.text_seq > seen);
            for chunk in chunks.outline_of(&wanted).await? {
                outlined.entry(chunk.source).or_default().push(chunk);
            }
        }
        let group_of = |source: SourceId| -> Option<GroupId> {
            let group = contents.get(&source).map(|contents| contents.group);
            let group = group.or_else(|| Some(vectors.get(&source)?.first()?.group));
            group.or_else(|| Some(outlined.get(&source)?.first()?.group))
        };
        let groups: Vec<Option<GroupId>> =
            changes.iter().map(|change| group_of(change.source)).collect();
        // New groups are read last, so that the group of everything above is among them.
        let used: Vec<GroupId> = groups.iter().copied().flatten().collect();
        self.groups.make_known(&used, epoch).await?;
        let update = |(change, group): (SourceChange, Option<GroupId>)| {
            let contents = contents.remove(&change.source);
            let vectors = vectors.remove(&change.source).unwrap_or_default();
            let outline = outlined.remove(&change.source).unwrap_or_default();
            let key = group.and_then(|group| self.groups.owner_of(group));
            let zone = key.as_ref().map(|key| zone_of(&*self.clock, key.person()));
            Update { key, zone: zone.unwrap_or_default(), contents, vectors, outline, change }
        };
        Ok(changes.into_iter().zip(groups).map(update).collect())
    }
}
