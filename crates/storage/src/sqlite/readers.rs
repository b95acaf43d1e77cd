use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::StoreError;
use crate::blocking::{Blocking, lock};

use super::connection::open_reader;

/// The number of read-only connections. Two are enough for two cores, and one that waits for the
/// disk does not stop the other.
const READERS: usize = 2;

/// Read-only connections, each opened when it is first needed.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    places: Arc<Semaphore>,
    blocking: Blocking,
}

impl Readers {
    pub(crate) fn new(path: &Path, blocking: Blocking) -> Self {
        Self {
            path: path.to_owned(),
            idle: Arc::default(),
            places: Arc::new(Semaphore::new(READERS)),
            blocking,
        }
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = Arc::clone(&self.places)
            .acquire_owned()
            .await
            .map_err(|error| StoreError::Failed(error.to_string()))?;
        let (path, idle) = (self.path.clone(), Arc::clone(&self.idle));
        let work = move || {
            let _place = place;
            let taken = lock(&idle).pop();
            let connection = taken.map_or_else(|| open_reader(&path), Ok)?;
            let result = work(&connection);
            lock(&idle).push(connection);
            result
        };
        self.blocking.run(work).await
    }
}
