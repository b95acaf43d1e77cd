//! The one message that grows while a run works. It is never the answer: if it cannot be shown, or
//! it is not known whether it was, the answer is sent as a separate message.

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

/// Which update it belongs to, and where it is shown.
pub(super) struct GrowingPlace {
    pub(super) update: i64,
    pub(super) peer: PeerKey,
    pub(super) thread: String,
    /// The message's id, where an earlier attempt has sent it.
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
        // This fails only when the task is gone, and then nothing is shown any more.
        let _ = self.text.send(text);
    }

    /// Waits for the send under way, and returns the message that can become the answer.
    pub(super) async fn finish(self) -> Option<String> {
        self.stop.cancel();
        self.task.await.ok().flatten()
    }
}

struct GrowingTask {
    context: Arc<AccountContext>,
    place: GrowingPlace,
    message: Option<String>,
    /// The life of this gateway in which it began.
    life: Option<i64>,
    /// It is not known whether the message arrived, or it cannot be changed.
    is_lost: bool,
}

impl GrowingTask {
    async fn run(mut self, mut shown: watch::Receiver<String>, stop: Cancel) -> Option<String> {
        let clock = Arc::clone(&self.context.clock);
        let mut typed_at = None;
        // A run that ends sooner is answered in one piece.
        let mut wait = self.context.connector.traits().pace.chat_gap * 4 / 5;
        let mut last = String::new();
        loop {
            let now = clock.now().mono;
            if typed_at.is_none_or(|at: Duration| now.saturating_sub(at) >= TYPING) {
                typed_at = Some(now);
                let typing =
                    self.context.connector.typing(&self.place.peer.peer, &self.place.thread);
                tokio::select! {
                    // It does not matter if one is lost.
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

    /// Shows the text if the network's limits allow it now. Returns how long to wait.
    async fn grow(&mut self, text: &str) -> Duration {
        let context = Arc::clone(&self.context);
        let traits = context.connector.traits();
        let Some(first) = traits.text_format.messages(text, traits.limits).into_iter().next()
        else {
            return traits.pace.chat_gap;
        };
        // Messages that wait for this peer are sent first, so that the order is kept.
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
        // Nothing is waited for between this and the send: another gateway may show the message by now.
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
            // It is tried again the next time; the answer itself is sent by the outbox.
            Err(_) => {}
        }
    }
}
