//! The runtimes of the process. Each has one thread, and there is one for each core. See
//! [`ConnectionRuntimes`].

use std::io;

use onyx_api::ConnectionRuntimes;
use tokio::runtime::{Builder, Runtime};

/// Makes the first runtime, which runs everything except most connections.
pub(crate) fn first() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// The runtimes other than the first.
pub(crate) struct Cores(Vec<Runtime>);

impl Cores {
    pub(crate) fn start() -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        (1..cores.max(2)).map(|_| first()).collect::<io::Result<_>>().map(Self)
    }

    pub(crate) fn connection_runtimes(&self) -> ConnectionRuntimes {
        ConnectionRuntimes::current_and(self.0.iter().map(|runtime| runtime.handle().clone()))
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        // This is dropped in the first runtime, where waiting for another runtime is not allowed.
        for runtime in self.0.drain(..) {
            runtime.shutdown_background();
        }
    }
}
