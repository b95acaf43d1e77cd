use tokio_util::sync::CancellationToken;

/// A request to stop, shared by everything that works for one run.
///
/// Cloning shares the signal; `child` makes one that stops with its parent but not the reverse.
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

    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }
}
