//! The index at work: who embeds for it, and what it hears of sessions.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use onyx_agent::{Notice, NoticeKind};
use onyx_api::Change;
use onyx_knowledge::{Embedding, MemorySettings, Touched};
use onyx_types::{Cancel, Embedder};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};

use super::live::Live;

/// What makes vectors where the config says nothing and its weights are there.
const EMBEDDED: &str = "local/minilm";
/// How long writes are gathered before clients are told of them again.
const GATHER: Duration = Duration::from_millis(200);
/// `memory.embedder` of somebody who wants none.
const OFF: &str = "off";
/// An embedder that cannot be had is asked for again after this long, then after twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// One that takes a connection and says nothing is given up after this, until the next time.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn tend(live: &Live, stop: Cancel) {
    let mut notices = live.agent.notices();
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
            sleep(GATHER).await;
        }
    };
    tokio::select! {
        // First, so that an embedder that is here already measures the first text too; one that
        // must be asked keeps nobody waiting.
        biased;
        () = live.keep_embedder() => {}
        () = live.index.tend(stop) => {}
        () = hear => {}
        () = tell => {}
    }
}

fn hear(live: &Live, Notice { person, session, kind }: Notice) {
    match kind {
        NoticeKind::RunStarted(_) | NoticeKind::MessageWithdrawn(_) | NoticeKind::Draft(_) => {}
        NoticeKind::RunEnded(_) | NoticeKind::SessionChanged | NoticeKind::SessionDeleted => {
            live.index.session_changed(person, session);
        }
    }
}

/// What became of an attempt to take up the embedder of the config.
enum Attempt {
    /// There is one, or none is wanted.
    Settled,
    Failed,
}

impl Live {
    /// Takes up the embedder of the config, and that of every config that comes. One that cannot be
    /// had is asked for again: nobody else would see that it is back.
    async fn keep_embedder(&self) {
        let mut wait = FIRST_WAIT;
        loop {
            let attempt = tokio::select! {
                attempt = self.use_embedder() => attempt,
                () = self.other_embedder.notified() => {
                    wait = FIRST_WAIT;
                    continue;
                }
            };
            let rest = async {
                match attempt {
                    Attempt::Settled => std::future::pending().await,
                    Attempt::Failed => sleep(wait).await,
                }
            };
            tokio::select! {
                () = rest => wait = (wait * 2).min(LONGEST_WAIT),
                () = self.other_embedder.notified() => wait = FIRST_WAIT,
            }
        }
    }

    async fn use_embedder(&self) -> Attempt {
        let settings = self.memory.read().unwrap_or_else(PoisonError::into_inner).clone();
        let finder = settings.graph.model.clone().map(|model| self.agent.fact_finder(model));
        self.index.set_fact_finder(finder, settings.graph.daily_tokens());
        let wanted = settings.embedder.as_deref();
        let attempt = match wanted {
            Some(OFF) => {
                self.index.set_embedder(None);
                Attempt::Settled
            }
            Some(id) => self.ask_for(id).await,
            None => {
                self.index.set_embedder(self.embedded().await);
                Attempt::Settled
            }
        };
        self.find_retired_embedder(wanted).await;
        attempt
    }

    async fn ask_for(&self, id: &str) -> Attempt {
        if self.index.embedding() == Embedding::Off {
            // Until it answers, searches must not say that nobody wants one.
            self.index.set_failing_embedder(id, "it has not answered yet");
        }
        match self.embedder(id).await {
            Ok(embedder) => {
                self.index.set_embedder(Some(embedder));
                Attempt::Settled
            }
            Err(why) => {
                self.index.set_failing_embedder(id, &why);
                Attempt::Failed
            }
        }
    }

    async fn embedder(&self, id: &str) -> Result<Arc<dyn Embedder>, String> {
        match timeout(PATIENCE, self.models.get().registry.embedder(id)).await {
            Ok(answer) => answer.map_err(|fault| fault.message),
            Err(_) => Err(format!("it did not answer within {} s", PATIENCE.as_secs())),
        }
    }

    /// Who made the vectors that are there, while those of another are made.
    async fn find_retired_embedder(&self, wanted: Option<&str>) {
        match self.index.missing_embedder().await {
            // It is the one that cannot be had now.
            Ok(Some(id)) if wanted == Some(&id) => {}
            Ok(Some(id)) => match self.embedder(&id).await {
                Ok(embedder) => self.index.add_retired_embedder(embedder),
                // Searches say so until the new vectors are there.
                Err(why) => tracing::info!(id, why, "old vectors cannot serve"),
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
