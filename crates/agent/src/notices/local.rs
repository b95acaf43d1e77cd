use tokio::sync::broadcast;

use super::{Notice, Notifier};

/// A listener that has not heard this many notices is told that it fell behind.
const MOST_UNHEARD: usize = 256;

/// Notices within one process.
pub(crate) struct LocalNotifier(broadcast::Sender<Notice>);

impl Default for LocalNotifier {
    fn default() -> Self {
        Self(broadcast::Sender::new(MOST_UNHEARD))
    }
}

impl Notifier for LocalNotifier {
    fn notify(&self, notice: Notice) {
        // Sending fails only when nobody listens.
        let _ = self.0.send(notice);
    }

    fn listen(&self) -> broadcast::Receiver<Notice> {
        self.0.subscribe()
    }
}
