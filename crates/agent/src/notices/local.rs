use tokio::sync::broadcast;

use super::{Notice, Notifier};

/// A listener that is this many notices behind gets an error that says so.
const MOST_UNHEARD: usize = 256;

/// Notices within one process.
pub(crate) struct LocalNotifier {
    all: broadcast::Sender<Notice>,
    /// Only notices of this gateway, for the task that passes them on to other gateways.
    own: broadcast::Sender<Notice>,
}

impl Default for LocalNotifier {
    fn default() -> Self {
        Self {
            all: broadcast::Sender::new(MOST_UNHEARD),
            own: broadcast::Sender::new(MOST_UNHEARD),
        }
    }
}

// Sending fails only when there is no listener.
impl Notifier for LocalNotifier {
    fn notify(&self, notice: Notice) {
        if self.own.receiver_count() > 0 {
            let _ = self.own.send(notice.clone());
        }
        let _ = self.all.send(notice);
    }

    fn hear(&self, notice: Notice) {
        let _ = self.all.send(notice);
    }

    fn listen(&self) -> broadcast::Receiver<Notice> {
        self.all.subscribe()
    }

    fn listen_to_own(&self) -> broadcast::Receiver<Notice> {
        self.own.subscribe()
    }
}
