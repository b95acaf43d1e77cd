//! The index at work: who embeds for it, and what it hears of sessions.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use onyx_agent::{Happened, Notice};
use onyx_api::Change;
use onyx_knowledge::{MemorySettings, Touched};
use onyx_types::{Cancel, Embedder};
use tokio::sync::broadcast::error::RecvError;

use super::live::Live;

/// What makes vectors where the config says nothing and its weights are there.
const EMBEDDED: &str = "local/minilm";
/// How long writes are gathered before clients are told of them again.
const GATHER: Duration = Duration::from_millis(200);
/// `memory.embedder` of somebody who wants none.
const OFF: &str = "off";

pub(super) async fn tend(live: &Live, stop: Cancel) {
    let mut notices = live.runs.notices();
    let hear = async {
        loop {
            match notices.recv().await {
                Ok(notice) => hear(live, notice),
                // It looks through all sessions at the next start; nothing is lost for long.
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "sessions to be indexed later")
                }
                Err(RecvError::Closed) => return std::future::pending::<()>().await,
            }
        }
    };
    let tell = async {
        loop {
            for touched in live.index.touched().await {
                live.changes.tell(match touched {
                    Touched::Agents => Change::Agents,
                    Touched::Files(person) => Change::Memory(person),
                });
            }
            // An import writes many files; one word of it is enough.
            tokio::time::sleep(GATHER).await;
        }
    };
    live.use_embedder().await;
    tokio::select! {
        () = live.index.tend(stop) => {}
        () = hear => {}
        () = tell => {}
    }
}

fn hear(live: &Live, Notice { person, session, happened }: Notice) {
    match happened {
        Happened::RunStarted(_) | Happened::TakenBack(_) | Happened::Draft(_) => {}
        Happened::RunEnded(_) | Happened::Changed | Happened::Deleted => {
            live.index.session_changed(person, session);
        }
    }
}

impl Live {
    /// Takes up the embedder of the config that counts now.
    pub(super) async fn use_embedder(&self) {
        let settings = self.memory.read().unwrap_or_else(PoisonError::into_inner).clone();
        match settings.embedder.as_deref() {
            Some(OFF) => self.index.set_embedder(None),
            Some(id) => match self.models.get().registry.embedder(id).await {
                Ok(embedder) => self.index.set_embedder(Some(embedder)),
                Err(fault) => self.index.set_failing_embedder(id, &fault.message),
            },
            None => self.index.set_embedder(self.embedded().await),
        }
        self.find_retired_embedder().await;
    }

    /// Who made the vectors that are there, while those of another are made.
    async fn find_retired_embedder(&self) {
        match self.index.missing_embedder().await {
            Ok(Some(id)) => match self.models.get().registry.embedder(&id).await {
                Ok(embedder) => self.index.add_retired_embedder(embedder),
                // Searches say so until the new vectors are there.
                Err(fault) => tracing::info!(id, why = fault.message, "old vectors cannot serve"),
            },
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "whose vectors are there is unknown"),
        }
    }

    async fn embedded(&self) -> Option<Arc<dyn Embedder>> {
        // Not there is not an error: searches say that they go by words alone.
        self.models.get().registry.embedder(EMBEDDED).await.ok()
    }

    pub(super) fn set_memory(&self, settings: MemorySettings) {
        *self.memory.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }
}
