use std::sync::Arc;

use futures::future::BoxFuture;
use onyx_types::SessionKey;
use tokio::sync::Mutex;

/// Lets a message that its sender may repeat be kept by one at a time: of two that come at once
/// under one name, the second must find the first.
///
/// Whether a message was sent before is read from the inbox and the log, so only the lock assumes
/// one process. With several processes over one store, another implementation would lock there.
pub(crate) trait SentMessages: Send + Sync {
    /// Waits until no other request stores a message under this name.
    fn lock<'a>(&'a self, session: &'a SessionKey, name: &'a str) -> BoxFuture<'a, SentLock>;
}

/// A lock that is held while the message is looked for and kept.
pub(crate) struct SentLock {
    _held: Box<dyn Send>,
}

/// One lock for all names of this process: it is held for two reads and a write.
#[derive(Default)]
pub(crate) struct LocalSentMessages(Arc<Mutex<()>>);

impl SentMessages for LocalSentMessages {
    fn lock<'a>(&'a self, _: &'a SessionKey, _: &'a str) -> BoxFuture<'a, SentLock> {
        let lock = Arc::clone(&self.0);
        Box::pin(async move { SentLock { _held: Box::new(lock.lock_owned().await) } })
    }
}
