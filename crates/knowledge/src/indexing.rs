//! What the indexing of files and of conversations have in common: the table that they write, how
//! texts are cut, a lock, and the progress.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onyx_storage::ChunkStore;
use onyx_types::Clock;

use crate::status::Progress;
use crate::vectors::Embedders;
use crate::{Chunking, Ruler};

/// How much of what was indexed before is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RereadScope {
    /// Only what differs is read.
    Changes,
    /// Everything is read, and nothing that the index holds is trusted.
    Anew,
}

pub(crate) struct Indexing {
    pub(crate) chunks: Arc<dyn ChunkStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) chunking: Chunking,
    embedders: Arc<Embedders>,
    /// This lock is held while a text is read and written to the table, so that an older reading
    /// never replaces a newer one.
    one_at_a_time: tokio::sync::Mutex<()>,
    progress: Mutex<Option<Progress>>,
}

impl Indexing {
    pub(crate) fn new(
        chunks: Arc<dyn ChunkStore>,
        clock: Arc<dyn Clock>,
        chunking: Chunking,
        embedders: Arc<Embedders>,
    ) -> Self {
        Self {
            chunks,
            clock,
            chunking,
            embedders,
            one_at_a_time: tokio::sync::Mutex::default(),
            progress: Mutex::default(),
        }
    }

    pub(crate) async fn lock(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.one_at_a_time.lock().await
    }

    /// The ruler by which texts are measured now.
    pub(crate) fn ruler(&self) -> Ruler {
        self.embedders.ruler()
    }

    /// Shows progress until the guard is dropped, even if the work fails.
    pub(crate) fn show_progress(&self) -> ShownProgress<'_> {
        ShownProgress(self)
    }

    pub(crate) fn progress(&self) -> Option<Progress> {
        *self.lock_progress()
    }

    /// Adds to the number of items that have to be looked at.
    pub(crate) fn add_to_total(&self, count: usize) {
        self.lock_progress().get_or_insert_default().total += count as u64;
    }

    pub(crate) fn add_to_done(&self, count: u64) {
        self.lock_progress().iter_mut().for_each(|progress| progress.done += count);
    }

    fn lock_progress(&self) -> MutexGuard<'_, Option<Progress>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct ShownProgress<'a>(&'a Indexing);

impl Drop for ShownProgress<'_> {
    fn drop(&mut self) {
        *self.0.lock_progress() = None;
    }
}
