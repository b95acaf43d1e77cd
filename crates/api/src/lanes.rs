//! Where connections are answered. Each lane is a runtime with one thread, and a connection stays in
//! its lane with everything that it starts: threads that share their tasks wake each other at every
//! step to ask for work, which costs more than most steps do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

#[derive(Clone, Debug)]
pub struct Lanes(Arc<[Arc<Lane>]>);

#[derive(Debug)]
struct Lane {
    runtime: Handle,
    /// Connections in it.
    open: AtomicUsize,
}

impl Lanes {
    /// The runtime this is called in, and others.
    pub fn here_and(others: impl IntoIterator<Item = Handle>) -> Self {
        let runtimes = std::iter::once(Handle::current()).chain(others);
        let lane = |runtime| Arc::new(Lane { runtime, open: AtomicUsize::new(0) });
        Self(runtimes.map(lane).collect())
    }

    /// A place in the lane with the fewest connections.
    pub(crate) fn quietest(&self) -> Place {
        let fewest = self.0.iter().min_by_key(|lane| lane.open.load(Ordering::Relaxed));
        // There is one at least.
        let lane = Arc::clone(fewest.unwrap_or(&self.0[0]));
        lane.open.fetch_add(1, Ordering::Relaxed);
        Place(lane)
    }
}

/// Of one connection.
pub(crate) struct Place(Arc<Lane>);

impl Place {
    /// The place is free again when the task ends.
    pub(crate) fn spawn(
        self,
        tasks: &TaskTracker,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let runtime = self.0.runtime.clone();
        let task = async move {
            let _place = self;
            task.await;
        };
        tasks.spawn_on(task, &runtime);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
