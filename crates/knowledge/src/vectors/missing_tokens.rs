//! Makes token vectors for chunks that have only a whole vector, because they were indexed by an
//! older version or when there was less room. Which chunks were looked at is stored in the table,
//! so that a start does not look at them again.

use onyx_storage::ChunkId;
use onyx_types::Embedder;

use super::maker::{BATCH, VectorMaker};
use crate::KnowledgeError;

/// The name of the mark that stores which chunks were looked at.
const TOKENS_MADE: &str = "tokens made";
/// Older chunks get token vectors as long as this share of the bound is free. Otherwise new
/// messages would displace what was just made.
const FREE_SHARE: u64 = 8;

/// The range of chunks that all have token vectors, or have no words from which to make them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CoveredChunks {
    from: ChunkId,
    through: ChunkId,
}

impl VectorMaker {
    /// Looks at chunks that were added since the last time, and then at older chunks, the newest
    /// first, as long as there is room.
    pub(super) async fn embed_missing_tokens(
        &self,
        embedder: &dyn Embedder,
        model: &str,
    ) -> Result<(), KnowledgeError> {
        self.drop_surplus_tokens(model).await?;
        if !embedder.gives_tokens() || self.settings.get().most_token_bytes == 0 {
            return Ok(());
        }
        let settled = self.chunks.settled_through().await?;
        let Some(newest) = self.chunks.newest_vector(model).await? else { return Ok(()) };
        match self.covered(model).await? {
            Some(covered) => {
                let through = newest.min(settled);
                self.embed_newer(embedder, model, covered.through, through).await?;
            }
            // The next time is soon enough to choose where to begin.
            None if newest > settled => return Ok(()),
            None => {
                let nothing = CoveredChunks { from: ChunkId(newest.0 + 1), through: newest };
                self.note_covered(model, nothing).await?;
            }
        }
        self.embed_older(embedder, model).await
    }

    /// Makes token vectors for newer chunks. A chunk that took over the vector of one with the same
    /// text may lack token vectors.
    async fn embed_newer(
        &self,
        embedder: &dyn Embedder,
        model: &str,
        mut after: ChunkId,
        through: ChunkId,
    ) -> Result<(), KnowledgeError> {
        while after < through {
            let mut missing = self.chunks.without_tokens(model, after, BATCH).await?;
            missing.retain(|chunk| chunk.id <= through);
            after = missing.last().map_or(through, |last| last.id);
            if !missing.is_empty() && !self.embed_chunks(embedder, model, &missing).await? {
                return Ok(());
            }
            if let Some(covered) = self.covered(model).await? {
                self.note_covered(model, CoveredChunks { through: after, ..covered }).await?;
            }
        }
        Ok(())
    }

    async fn embed_older(
        &self,
        embedder: &dyn Embedder,
        model: &str,
    ) -> Result<(), KnowledgeError> {
        let most = self.settings.get().most_token_bytes;
        while let Some(covered) = self.covered(model).await?
            && covered.from > ChunkId::default()
            && self.chunks.token_bytes(model).await? < most - most / FREE_SHARE
        {
            let missing = self.chunks.without_tokens_before(model, covered.from, BATCH).await?;
            if !missing.is_empty() && !self.embed_chunks(embedder, model, &missing).await? {
                return Ok(());
            }
            if self.covered(model).await? != Some(covered) {
                // Some chunks have lost their token vectors meanwhile, so there is no more room.
                return Ok(());
            }
            let from = missing.last().map_or_else(ChunkId::default, |oldest| oldest.id);
            self.note_covered(model, CoveredChunks { from, ..covered }).await?;
        }
        Ok(())
    }

    /// Drops the token vectors of the oldest chunks if all of them together take more than the
    /// settings allow.
    pub(super) async fn drop_surplus_tokens(&self, model: &str) -> Result<(), KnowledgeError> {
        let most = self.settings.get().most_token_bytes;
        if self.chunks.token_bytes(model).await? <= most {
            return Ok(());
        }
        let Some(newest_gone) = self.chunks.drop_oldest_tokens(model, most).await? else {
            return Ok(());
        };
        match self.covered(model).await? {
            Some(covered) if covered.from <= newest_gone => {
                let from = ChunkId(newest_gone.0 + 1);
                let through = covered.through.max(newest_gone);
                self.note_covered(model, CoveredChunks { from, through }).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The covered range; `None` if nothing is known for this model and this bound.
    async fn covered(&self, model: &str) -> Result<Option<CoveredChunks>, KnowledgeError> {
        let marks = self.chunks.marks(TOKENS_MADE).await?;
        Ok(marks.first().and_then(|(_, mark)| {
            let mut parts = mark.splitn(4, ' ');
            let mut number = || parts.next()?.parse::<u64>().ok();
            let (from, through, most) = (number()?, number()?, number()?);
            let is_same =
                most == self.settings.get().most_token_bytes && parts.next() == Some(model);
            is_same.then_some(CoveredChunks { from: ChunkId(from), through: ChunkId(through) })
        }))
    }

    async fn note_covered(
        &self,
        model: &str,
        covered: CoveredChunks,
    ) -> Result<(), KnowledgeError> {
        let most = self.settings.get().most_token_bytes;
        let mark = format!("{} {} {most} {model}", covered.from.0, covered.through.0);
        Ok(self.chunks.set_mark(TOKENS_MADE, &mark).await?)
    }
}
