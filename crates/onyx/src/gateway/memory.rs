//! Connects the index: its embedder, and the sessions it is informed about.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use onyx_agent::{Notice, NoticeKind};
use onyx_api::Change;
use onyx_knowledge::{EmbeddingState, MemorySettings, WrittenPlace};
use onyx_types::{Cancel, Embedder};
use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};

use super::live::Live;

/// The embedder that is used if the config names none and its weights are installed.
const EMBEDDED: &str = "local/minilm";
/// How long writes are collected before clients get the next notice.
const GATHER: Duration = Duration::from_millis(200);
/// The value of `memory.embedder` that switches embedding off.
const OFF: &str = "off";
/// An embedder that is not available is tried again after this time, then after twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// An embedder that connects but does not answer is given up after this time, until the next try.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn tend(live: &Live, stop: Cancel) {
    let mut notices = live.agent.notices();
    let hear = async {
        loop {
            match notices.recv().await {
                Ok(notice) => take_notice(live, notice),
                // The index reads all sessions at the next start, so nothing is lost for long.
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "some sessions will be indexed later")
                }
                Err(RecvError::Closed) => return std::future::pending::<()>().await,
            }
        }
    };
    let tell = async {
        loop {
            for touched in live.index.touched().await {
                live.changes.tell_everywhere(match touched {
                    WrittenPlace::Agents => Change::Agents,
                    WrittenPlace::Files(person) => Change::Memory(person),
                });
            }
            // An import writes many files, and one notice of it is enough.
            sleep(GATHER).await;
        }
    };
    tokio::select! {
        // This branch comes first, so that an embedder that is ready embeds the first text too. A
        // remote embedder does not delay the start.
        biased;
        () = live.keep_embedder() => {}
        () = live.index.tend(stop) => {}
        () = hear => {}
        () = tell => {}
    }
}

fn take_notice(live: &Live, Notice { person, session, kind }: Notice) {
    match kind {
        NoticeKind::RunStarted(_) | NoticeKind::MessageWithdrawn(_) | NoticeKind::Draft(_) => {}
        NoticeKind::RunEnded(_) | NoticeKind::SessionChanged | NoticeKind::SessionDeleted => {
            live.index.session_changed(person, session);
        }
    }
}

/// The settings of memory in use.
pub(super) struct LiveMemory {
    settings: RwLock<MemorySettings>,
    /// Signalled when the settings may have changed, for the task that keeps the embedder.
    changed: Notify,
}

impl LiveMemory {
    pub(super) fn new(settings: MemorySettings) -> Self {
        Self { settings: RwLock::new(settings), changed: Notify::new() }
    }

    pub(super) fn set(&self, settings: MemorySettings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
        self.changed.notify_one();
    }

    fn settings(&self) -> MemorySettings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The result of an attempt to use the embedder of the config.
enum Attempt {
    /// The embedder is in use, or none is wanted.
    Settled,
    Failed,
}

impl Live {
    /// Uses the embedder of the config and of every later config. One that is not available is tried
    /// again, because nothing else would notice that it is back.
    async fn keep_embedder(&self) {
        let mut wait = FIRST_WAIT;
        loop {
            let attempt = tokio::select! {
                attempt = self.use_embedder() => attempt,
                () = self.memory.changed.notified() => {
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
                () = self.memory.changed.notified() => wait = FIRST_WAIT,
            }
        }
    }

    async fn use_embedder(&self) -> Attempt {
        let settings = self.memory.settings();
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
        if self.index.embedding() == EmbeddingState::Off {
            // Until it answers, searches must not report that no embedder is configured.
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

    /// Finds the embedder that made the present vectors, so that searches can use them until the
    /// new ones are made.
    async fn find_retired_embedder(&self, wanted: Option<&str>) {
        match self.index.missing_embedder().await {
            // The present vectors are from the wanted embedder, which is not available now.
            Ok(Some(id)) if wanted == Some(&id) => {}
            Ok(Some(id)) => match self.embedder(&id).await {
                Ok(embedder) => self.index.add_retired_embedder(embedder),
                // Searches report that the vectors cannot be used, until the new ones exist.
                Err(why) => tracing::info!(id, why, "old vectors cannot serve"),
            },
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "it is not known which model made the vectors"),
        }
    }

    async fn embedded(&self) -> Option<Arc<dyn Embedder>> {
        // A missing embedder is no error: searches then report that they use words only.
        self.models.get().registry.embedder(EMBEDDED).await.ok()
    }
}
