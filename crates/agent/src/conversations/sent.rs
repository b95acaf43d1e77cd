use std::sync::Arc;

use futures::future::BoxFuture;
use onyx_types::SessionKey;
use tokio::sync::Mutex;

/// Serialises requests that store a message under the same client id: when two come at once, the
/// second must find the message of the first.
///
/// Whether a message was sent before is read from the inbox and the log, so only the lock assumes
/// one process. Several processes over one store would need an implementation that locks in the
/// store.
pub(crate) trait SentMessages: Send + Sync {
    /// Waits until no other request stores a message under this name.
    fn lock<'a>(&'a self, session: &'a SessionKey, name: &'a str) -> BoxFuture<'a, SentLock>;
}

/// A lock that is held while the message is looked for and kept.
pub(crate) struct SentLock {
    _held: Box<dyn Send>,
}

/// One lock for all client ids of this process. It is held only for two reads and a write, so
/// requests rarely wait for it.
#[derive(Default)]
pub(crate) struct LocalSentMessages(Arc<Mutex<()>>);

impl SentMessages for LocalSentMessages {
    fn lock<'a>(&'a self, _: &'a SessionKey, _: &'a str) -> BoxFuture<'a, SentLock> {
        let lock = Arc::clone(&self.0);
        Box::pin(async move { SentLock { _held: Box::new(lock.lock_owned().await) } })
    }
}
