//! Work that is stopped when nobody waits for it any more.

use tokio::task::JoinHandle;

pub(super) struct Task(pub(super) JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
