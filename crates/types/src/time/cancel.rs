use std::pin::Pin;

use tokio_util::sync::{CancellationToken, DropGuard};

/// A request to stop, shared by all code that works for one run.
///
/// Cloning shares the signal; `child` makes a signal that stops with its parent but not the
/// reverse.
#[derive(Clone, Debug, Default)]
pub struct Cancel(CancellationToken);

impl Cancel {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Cancels when the guard is dropped, unless it is disarmed.
    pub fn when_dropped(&self) -> DropGuard {
        self.0.clone().drop_guard()
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }

    /// A future for repeated waiting. Each new wait would be added to a list and removed from it
    /// again.
    pub fn into_cancelled(self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.0.cancelled_owned())
    }
}
