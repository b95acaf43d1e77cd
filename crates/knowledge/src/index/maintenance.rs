//! The work in the background: what changed is indexed, followed and given vectors and facts, until
//! the index is stopped.

use std::sync::Arc;
use std::time::Duration;

use onyx_types::Cancel;
use tokio::sync::Notify;

use crate::KnowledgeError;
use crate::backlog::Backlog;
use crate::files::indexer::SyncReport;
use crate::follow::ChangeFollower;
use crate::graph::FactReader;
use crate::indexing::Look;
use crate::sync::TableSync;
use crate::vectors::{Embedders, VectorMaker};

pub(super) struct Maintenance {
    pub(super) backlog: Arc<Backlog>,
    pub(super) sync: Arc<TableSync>,
    pub(super) follower: Arc<ChangeFollower>,
    pub(super) embedders: Arc<Embedders>,
    pub(super) vectors: Arc<VectorMaker>,
    pub(super) facts: Arc<FactReader>,
    /// There may be chunks that no vectors were made of and no facts were found in.
    pub(super) wake_slow_work: Notify,
}

/// How long nothing must have been written before the memory for writing is given back.
const REST_AFTER: Duration = Duration::from_secs(20);
/// How long edits by other programs are gathered before they are read.
const GATHER: Duration = Duration::from_millis(300);
/// How long an embedder that failed is left alone.
const TRY_AGAIN: Duration = Duration::from_secs(30);

impl Maintenance {
    /// Keeps the index in step until it is stopped. At most one such task runs at a time.
    pub(super) async fn run(&self, stop: Cancel) {
        tokio::select! {
            ((), ()) = async { tokio::join!(self.keep_in_step(), self.do_slow_work()) } => {}
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
                // More is likely to come at once.
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

    /// Runs beside the rest, because it may take hours and files must not wait for it.
    async fn do_slow_work(&self) {
        loop {
            self.wake_slow_work.notified().await;
            if let Err(error) = self.facts.find_facts().await {
                tracing::warn!(%error, "facts could not be kept");
            }
            if let Err(error) = self.vectors.embed_missing().await {
                tracing::warn!(%error, "vectors could not be kept");
            }
            if self.embedders.is_failing() {
                tokio::time::sleep(TRY_AGAIN).await;
                self.wake_slow_work();
            }
        }
    }

    pub(super) fn wake_slow_work(&self) {
        self.wake_slow_work.notify_one();
    }

    /// Does everything that is known to be left to do.
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
        let report = self.sync.look_through(Look::Changes).await?;
        self.follower.follow_to_the_end().await?;
        Ok(report)
    }

    /// Reads and cuts every file and conversation again, even those that are up to date, a few at a
    /// time: what it held serves until then. Vectors of what says the same are kept.
    pub(super) async fn rebuild(&self) -> Result<SyncReport, KnowledgeError> {
        let report = self.sync.look_through(Look::Anew).await?;
        if let Err(error) = self.follower.follow_to_the_end().await {
            tracing::warn!(%error, "the text index cannot be repaired and is rebuilt");
            self.follower.forget_text().await?;
            self.follower.follow_to_the_end().await?;
        }
        Ok(report)
    }
}
