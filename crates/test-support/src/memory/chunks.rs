use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onyx_storage::{ChunkStore, open_chunks};
use onyx_types::Clock;

/// The folder of the derived store of a disk in memory. The store may be lost at any time, so a
/// file that is created at its first use serves as well as memory.
pub(super) struct ChunkFolder(PathBuf);

impl Default for ChunkFolder {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("onyx-memory-disk-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl ChunkFolder {
    pub(super) fn open(&self, clock: Arc<dyn Clock>) -> Arc<dyn ChunkStore> {
        open_chunks(&self.0.join("index.db"), clock)
    }
}

impl Drop for ChunkFolder {
    fn drop(&mut self) {
        // Nearly always the folder does not exist, so a failure is ignored.
        std::fs::remove_dir_all(&self.0).ok();
    }
}
