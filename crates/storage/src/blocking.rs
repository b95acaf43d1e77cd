use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

use crate::StoreError;

/// How many file operations may wait for the disk at once. Enough for the file system to put
/// many syncs into one journal commit; few enough that a burst does not cost a thread a session.
const AT_ONCE: usize = 16;

/// Takes file and database work off the async threads.
#[derive(Clone, Debug)]
pub(crate) struct Blocking {
    permits: Arc<Semaphore>,
}

impl Blocking {
    pub(crate) fn new() -> Self {
        Self { permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Runs to its end even when the caller goes away: half a write is never left behind.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        task.await.map_err(|error| StoreError::Failed(error.to_string()))?
    }
}

/// The guard, also after another holder panicked: every state kept behind these locks is checked
/// against the file before it is used, or is whole after each statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
