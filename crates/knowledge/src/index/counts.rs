//! Counts what the chunk table holds, for the status of the index.

use onyx_storage::{ChunkStore, SourceRow};
use onyx_types::{PersonId, Timestamp};

use crate::KnowledgeError;
use crate::status::{EmbeddingState, IndexStatus, IndexWork, UnindexedFile, Watching};

const MOST_PROBLEMS: u32 = 200;

/// The numbers of what the chunk table holds for one person.
pub(super) struct PersonCounts {
    sources: u64,
    chunks: u64,
    vectors: u64,
    problem_count: u64,
    problems: Vec<UnindexedFile>,
}

/// Counts the files of a person together with the shared ones, and the vectors of one model.
pub(super) async fn count(
    chunks: &dyn ChunkStore,
    person: &PersonId,
    model: Option<&str>,
) -> Result<PersonCounts, KnowledgeError> {
    let own = chunks.counts(Some(person), model).await?;
    let shared = chunks.counts(None, model).await?;
    let mut problems = chunks.problems(Some(person), MOST_PROBLEMS).await?;
    problems.extend(chunks.problems(None, MOST_PROBLEMS).await?);
    let problem = |source: SourceRow| UnindexedFile {
        path: source.key.rooted_path(),
        reason: source.problem.unwrap_or_default(),
    };
    Ok(PersonCounts {
        sources: own.sources + shared.sources,
        chunks: own.chunks + shared.chunks,
        vectors: own.vectors + shared.vectors,
        problem_count: own.problems + shared.problems,
        problems: problems.into_iter().map(problem).collect(),
    })
}

impl PersonCounts {
    pub(super) fn status(
        self,
        work: IndexWork,
        synced_at: Option<Timestamp>,
        embedding: EmbeddingState,
        watching: Watching,
    ) -> IndexStatus {
        IndexStatus {
            sources: self.sources,
            chunks: self.chunks,
            vectors: self.vectors,
            complete: work.is_complete,
            waiting: work.waiting,
            progress: work.progress,
            synced_at,
            embedding,
            watching,
            error: work.error,
            problem_count: self.problem_count,
            problems: self.problems,
        }
    }
}
