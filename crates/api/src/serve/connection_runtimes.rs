//! The runtimes that answer connections. Each has one thread, and a connection stays in its runtime
//! with everything that it starts: threads that share their tasks wake each other at every step to
//! ask for work, which costs more than most steps do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

#[derive(Clone, Debug)]
pub struct ConnectionRuntimes(Arc<[Arc<ConnectionRuntime>]>);

#[derive(Debug)]
struct ConnectionRuntime {
    handle: Handle,
    /// The number of open connections.
    open: AtomicUsize,
}

impl ConnectionRuntimes {
    /// The current runtime, and others.
    pub fn current_and(others: impl IntoIterator<Item = Handle>) -> Self {
        let runtimes = std::iter::once(Handle::current()).chain(others);
        let idle = |handle| Arc::new(ConnectionRuntime { handle, open: AtomicUsize::new(0) });
        Self(runtimes.map(idle).collect())
    }

    /// A permit of the runtime with the fewest connections.
    pub(crate) fn least_busy(&self) -> RuntimePermit {
        let fewest = self.0.iter().min_by_key(|runtime| runtime.open.load(Ordering::Relaxed));
        // There is at least one runtime.
        let runtime = Arc::clone(fewest.unwrap_or(&self.0[0]));
        runtime.open.fetch_add(1, Ordering::Relaxed);
        RuntimePermit(runtime)
    }
}

/// The runtime's permit of one connection.
pub(crate) struct RuntimePermit(Arc<ConnectionRuntime>);

impl RuntimePermit {
    /// Runs a task in this runtime. The permit is given back when the task ends.
    pub(crate) fn spawn(
        self,
        tasks: &TaskTracker,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let handle = self.0.handle.clone();
        let task = async move {
            let _permit = self;
            task.await;
        };
        tasks.spawn_on(task, &handle);
    }
}

impl Drop for RuntimePermit {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::thread::ThreadId;

    use tokio::runtime::{Builder, Runtime};
    use tokio::sync::{mpsc, oneshot};

    use super::*;

    fn one_thread() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).build().unwrap()
    }

    /// Connections of a test. They record their thread and stay open until the test ends them.
    struct Visitors {
        runtimes: ConnectionRuntimes,
        tasks: TaskTracker,
        threads: (mpsc::Sender<ThreadId>, mpsc::Receiver<ThreadId>),
    }

    impl Visitors {
        async fn one(&mut self) -> (ThreadId, oneshot::Sender<()>) {
            let (go, ended) = oneshot::channel();
            let threads = self.threads.0.clone();
            self.runtimes.least_busy().spawn(&self.tasks, async move {
                threads.send(std::thread::current().id()).await.unwrap();
                ended.await.ok();
            });
            (self.threads.1.recv().await.unwrap(), go)
        }
    }

    #[test]
    fn connections_spread_over_all_runtimes_and_a_free_place_is_taken_again() {
        let (here, others) = (one_thread(), [one_thread(), one_thread()]);
        let handles: Vec<_> = others.iter().map(|other| other.handle().clone()).collect();
        here.block_on(async move {
            let runtimes = ConnectionRuntimes::current_and(handles);
            let (tasks, threads) = (TaskTracker::new(), mpsc::channel(1));
            let mut visitors = Visitors { runtimes, tasks: tasks.clone(), threads };
            let mut open = Vec::new();
            for _ in 0..6 {
                open.push(visitors.one().await);
            }
            let mut at: HashMap<_, usize> = HashMap::new();
            for (thread, _) in &open {
                *at.entry(*thread).or_default() += 1;
            }
            assert_eq!(at.into_values().collect::<Vec<_>>(), [2, 2, 2]);

            let (left, go) = open.remove(3);
            go.send(()).unwrap();
            while tasks.len() > 5 {
                tokio::task::yield_now().await;
            }
            assert_eq!(visitors.one().await.0, left);
        });
    }
}
