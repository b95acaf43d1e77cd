//! The work in the background: what changed is indexed, followed and given vectors and facts, until
//! the index is stopped.

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
    /// There may be chunks that no vectors were made of.
    pub(super) wake_vectors: Notify,
    /// There may be chunks that no facts were found in.
    pub(super) wake_facts: Notify,
}

/// How long nothing must have been written before the memory for writing is given back.
const REST_AFTER: Duration = Duration::from_secs(20);
/// How long edits by other programs are gathered before they are read.
const GATHER: Duration = Duration::from_millis(300);
/// How long an embedder that failed is left alone.
const TRY_AGAIN: Duration = Duration::from_secs(30);
/// The duty of the gateway that makes vectors.
const VECTORS: &str = "vectors";

impl Maintenance {
    /// Keeps the index in step until it is stopped. At most one such task runs at a time.
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

    /// Of several gateways one makes them at a time. It gives the duty back after each round, because
    /// another one may reach an embedder that this one does not.
    async fn make_missing_vectors(&self) -> Result<(), KnowledgeError> {
        if self.embedders.current().is_none() {
            return Ok(());
        }
        let Some(owned) = self.duties.own(VECTORS).await? else { return Ok(()) };
        let made = self.vectors.embed_missing().await;
        self.duties.disown(&owned).await?;
        made
    }

    /// Runs beside the making of vectors: a model may take minutes for a text, and new texts must be
    /// found by meaning before that.
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
        let report = self.sync.look_through(RereadScope::Changes).await?;
        self.follower.follow_to_the_end().await?;
        Ok(report)
    }

    /// Reads and cuts every file and conversation again, even those that are up to date, a few at a
    /// time: what it held serves until then. Vectors of what says the same are kept.
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
