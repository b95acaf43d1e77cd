//! Does the work in the background until the index is stopped: indexes changes, brings the search
//! tables up to date, and makes vectors and facts.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::Duties;
use onyx_types::Cancel;
use tokio::sync::Notify;

use crate::KnowledgeError;
use crate::backlog::Backlog;
use crate::files::indexer::SyncReport;
use crate::follow::ChangeFollower;
use crate::graph::FactReader;
use crate::indexing::RereadScope;
use crate::sync::TableSync;
use crate::vectors::{Embedders, VectorMaker};

pub(super) struct Maintenance {
    pub(super) backlog: Arc<Backlog>,
    pub(super) sync: Arc<TableSync>,
    pub(super) follower: Arc<ChangeFollower>,
    pub(super) embedders: Arc<Embedders>,
    pub(super) vectors: Arc<VectorMaker>,
    pub(super) facts: Arc<FactReader>,
    pub(super) duties: Arc<dyn Duties>,
    /// Signals that there may be chunks without vectors.
    pub(super) wake_vectors: Notify,
    /// Signals that there may be chunks that were not read for facts.
    pub(super) wake_facts: Notify,
}

/// After how long without a write the memory for writing is released.
const REST_AFTER: Duration = Duration::from_secs(20);
/// For how long edits by other programs are collected before they are read.
const GATHER: Duration = Duration::from_millis(300);
/// How long an embedder is not called after it failed.
const TRY_AGAIN: Duration = Duration::from_secs(30);
/// The name of the duty of the gateway that makes vectors.
const VECTORS: &str = "vectors";

impl Maintenance {
    /// Keeps the index up to date until it is stopped. At most one such task may run at a time.
    pub(super) async fn run(&self, stop: Cancel) {
        tokio::select! {
            ((), (), ()) = async { tokio::join!(self.keep_in_step(), self.make_vectors(), self.find_facts()) } => {}
            () = stop.cancelled() => {}
        }
        self.sync.stop_watching();
        self.follower.rest().await;
    }

    async fn keep_in_step(&self) {
        loop {
            self.sync.watch_more().await;
            let outcome = self.catch_up_with_files().await;
            if let Err(error) = &outcome {
                tracing::warn!(%error, "the index could not be kept in step");
            }
            self.sync.note_error(outcome.err().map(|error| error.to_string()));
            self.wake_slow_work();
            tokio::select! {
                // One edit is usually followed by others, so the task waits for them.
                () = self.backlog.added() => tokio::time::sleep(GATHER).await,
                () = tokio::time::sleep(REST_AFTER) => {
                    if let Err(error) = self.sync.index_waiting_sessions().await {
                        tracing::warn!(%error, "conversations could not be indexed");
                    }
                    if self.backlog.is_empty() {
                        self.follower.rest().await;
                    }
                }
            }
        }
    }

    /// Makes vectors in a loop of its own, because this may take hours and files must not wait for
    /// it.
    async fn make_vectors(&self) {
        loop {
            self.wake_vectors.notified().await;
            if let Err(error) = self.make_missing_vectors().await {
                tracing::warn!(%error, "vectors could not be kept");
            }
            if self.embedders.is_failing() {
                tokio::time::sleep(TRY_AGAIN).await;
                self.wake_vectors.notify_one();
            }
        }
    }

    /// Makes vectors, which only one gateway does at a time. The duty is given back after each
    /// round, because another gateway may reach an embedder that this one does not.
    async fn make_missing_vectors(&self) -> Result<(), KnowledgeError> {
        if self.embedders.current().is_none() {
            return Ok(());
        }
        let Some(owned) = self.duties.own(VECTORS).await? else { return Ok(()) };
        let made = self.vectors.embed_missing().await;
        self.duties.give_back(&owned).await;
        made
    }

    /// Finds facts in a loop of its own. A model may take minutes for a text, and new texts must
    /// get their vectors before that.
    async fn find_facts(&self) {
        loop {
            self.wake_facts.notified().await;
            if let Err(error) = self.facts.find_facts().await {
                tracing::warn!(%error, "facts could not be kept");
            }
        }
    }

    pub(super) fn wake_slow_work(&self) {
        self.wake_vectors.notify_one();
        self.wake_facts.notify_one();
    }

    /// Does all work that is known to be left.
    pub(super) async fn catch_up(&self) -> Result<(), KnowledgeError> {
        self.sync.index_waiting_sessions().await?;
        self.catch_up_with_files().await?;
        self.vectors.embed_missing().await?;
        self.facts.find_facts().await?;
        self.follower.follow_to_the_end().await
    }

    async fn catch_up_with_files(&self) -> Result<(), KnowledgeError> {
        self.sync.index_waiting_files().await?;
        self.follower.follow_to_the_end().await
    }

    /// Looks through all files and sessions for changes.
    pub(super) async fn sync(&self) -> Result<SyncReport, KnowledgeError> {
        let report = self.sync.look_through(RereadScope::Changes).await?;
        self.follower.follow_to_the_end().await?;
        Ok(report)
    }

    /// Reads and cuts every file and conversation again, a few at a time, even those that are up to
    /// date. The old chunks serve searches until then, and vectors of unchanged texts are kept.
    pub(super) async fn rebuild(&self) -> Result<SyncReport, KnowledgeError> {
        let report = self.sync.look_through(RereadScope::Anew).await?;
        if let Err(error) = self.follower.follow_to_the_end().await {
            tracing::warn!(%error, "the text index cannot be repaired and is rebuilt");
            self.follower.forget_text().await?;
            self.follower.follow_to_the_end().await?;
        }
        Ok(report)
    }
}
