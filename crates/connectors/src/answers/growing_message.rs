//! Shows the growing answer in one message that is edited while the run works. This message is only
//! a preview: if it cannot be shown, or if it is unknown whether it arrived, the answer is sent as
//! a separate message.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::PeerKey;
use onyx_types::Cancel;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::connector::{NetworkError, Outgoing, OutgoingKind};
use crate::context::AccountContext;
use crate::outbox::kind_of;

const TYPING: Duration = Duration::from_secs(4);

pub(super) struct GrowingMessage {
    text: watch::Sender<String>,
    stop: Cancel,
    task: JoinHandle<Option<String>>,
}

/// The update that the growing message answers, and where the message is shown.
pub(super) struct GrowingPlace {
    pub(super) update: i64,
    pub(super) peer: PeerKey,
    pub(super) thread: String,
    /// The id of the growing message if an earlier attempt has sent it.
    pub(super) message: Option<String>,
}

impl GrowingMessage {
    pub(super) fn start(context: Arc<AccountContext>, place: GrowingPlace) -> Self {
        let (text, shown) = watch::channel(String::new());
        let stop = Cancel::new();
        let (message, life) = (place.message.clone(), context.ledger.incarnation().ok());
        let growing = GrowingTask { context, message, place, life, is_lost: false };
        let task = tokio::spawn(growing.run(shown, stop.clone()));
        Self { text, stop, task }
    }

    pub(super) fn show(&self, text: String) {
        // Sending fails only if the task has ended, and then nothing more is shown.
        let _ = self.text.send(text);
    }

    /// Waits until the current send has ended, and returns the id of the message that the answer
    /// can replace.
    pub(super) async fn finish(self) -> Option<String> {
        self.stop.cancel();
        self.task.await.ok().flatten()
    }
}

struct GrowingTask {
    context: Arc<AccountContext>,
    place: GrowingPlace,
    message: Option<String>,
    /// The incarnation of this gateway in which the growing message was begun.
    life: Option<i64>,
    /// Whether the message is given up, because it may not have arrived or cannot be edited.
    is_lost: bool,
}

impl GrowingTask {
    async fn run(mut self, mut shown: watch::Receiver<String>, stop: Cancel) -> Option<String> {
        let clock = Arc::clone(&self.context.clock);
        let mut typed_at = None;
        // The growing message is not shown at once, so that a quick answer is sent in one piece.
        let mut wait = self.context.connector.traits().pace.chat_gap * 4 / 5;
        let mut last = String::new();
        loop {
            let now = clock.now().mono;
            if typed_at.is_none_or(|at: Duration| now.saturating_sub(at) >= TYPING) {
                typed_at = Some(now);
                let typing =
                    self.context.connector.typing(&self.place.peer.peer, &self.place.thread);
                tokio::select! {
                    // A lost typing sign does no harm, so its result is ignored.
                    _ = typing => {}
                    () = stop.cancelled() => return self.message,
                }
            }
            tokio::select! {
                () = stop.cancelled() => return self.message,
                () = clock.sleep(wait) => {}
            }
            let text = shown.borrow_and_update().clone();
            if self.is_lost || !self.context.connector.traits().can_edit || text == last {
                wait = self.context.connector.traits().pace.chat_gap / 3;
                continue;
            }
            wait = self.grow(&text).await;
            last = text;
        }
    }

    /// Shows the text if the network's limits allow it now, and returns how long to wait for the
    /// next try.
    async fn grow(&mut self, text: &str) -> Duration {
        let context = Arc::clone(&self.context);
        let traits = context.connector.traits();
        let Some(first) = traits.text_format.messages(text, traits.limits).into_iter().next()
        else {
            return traits.pace.chat_gap;
        };
        // Messages that already wait for this peer are sent first, so that the order is kept.
        if !context.is_outbox_clear(&self.place.peer).await {
            return traits.pace.chat_gap;
        }
        let peer = &self.place.peer.peer;
        let now = context.clock.now().mono;
        if let Err(later) = context.pace.take(peer, now) {
            return later.saturating_sub(now).max(Duration::from_millis(20));
        }
        let what = match &self.message {
            Some(message) => OutgoingKind::Edit { message: message.clone(), text: first },
            None => OutgoingKind::Text { text: first, buttons: Vec::new() },
        };
        let key = format!("in:{}:growing", self.place.update);
        let thread = self.place.thread.clone();
        // There is no await between this check and the send. Otherwise another gateway could take
        // over the update in between, and the chat would show the message twice.
        if self.life.is_none() || context.ledger.incarnation().ok() != self.life {
            self.is_lost = true;
            context.pace.done(peer, kind_of(peer), now);
            return traits.pace.chat_gap;
        }
        let answer =
            context.connector.send(&Outgoing { peer: peer.clone(), thread, key, what }).await;
        let now = context.clock.now().mono;
        if let Err(NetworkError::TooFast(wait)) = &answer {
            context.pace.hold(peer, now, *wait);
        }
        context.pace.done(peer, kind_of(peer), now);
        self.note(answer).await;
        traits.pace.chat_gap
    }

    async fn note(&mut self, answer: Result<String, NetworkError>) {
        match answer {
            Ok(message) if self.message.is_none() => {
                let noted = self.context.ledger.set_growing(self.place.update, &message).await;
                if let Err(error) = noted {
                    tracing::warn!(%error, "a message that grows could not be saved in the outbox");
                }
                self.message = Some(message);
            }
            Ok(_) => {}
            Err(NetworkError::NoAnswer(_)) if self.message.is_none() => self.is_lost = true,
            Err(NetworkError::NotEditable(_)) => {
                self.is_lost = true;
                self.message = None;
            }
            // Other errors are ignored, because the next round tries again and the outbox sends the
            // final answer.
            Err(_) => {}
        }
    }
}
