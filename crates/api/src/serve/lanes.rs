//! Lanes that answer connections. Each lane is a runtime with one thread, and a connection stays in
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
    /// The number of open connections.
    open: AtomicUsize,
}

impl Lanes {
    /// The current runtime, and others.
    pub fn here_and(others: impl IntoIterator<Item = Handle>) -> Self {
        let runtimes = std::iter::once(Handle::current()).chain(others);
        let lane = |runtime| Arc::new(Lane { runtime, open: AtomicUsize::new(0) });
        Self(runtimes.map(lane).collect())
    }

    /// A place in the lane with the fewest connections.
    pub(crate) fn quietest(&self) -> LanePermit {
        let fewest = self.0.iter().min_by_key(|lane| lane.open.load(Ordering::Relaxed));
        // There is at least one lane.
        let lane = Arc::clone(fewest.unwrap_or(&self.0[0]));
        lane.open.fetch_add(1, Ordering::Relaxed);
        LanePermit(lane)
    }
}

/// The lane's permit of one connection.
pub(crate) struct LanePermit(Arc<Lane>);

impl LanePermit {
    /// Runs a task in this lane. The permit is given back when the task ends.
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

impl Drop for LanePermit {
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

    /// Connections of a test. They record their lane and stay open until the test ends them.
    struct Visitors {
        lanes: Lanes,
        tasks: TaskTracker,
        threads: (mpsc::Sender<ThreadId>, mpsc::Receiver<ThreadId>),
    }

    impl Visitors {
        async fn one(&mut self) -> (ThreadId, oneshot::Sender<()>) {
            let (go, ended) = oneshot::channel();
            let threads = self.threads.0.clone();
            self.lanes.quietest().spawn(&self.tasks, async move {
                threads.send(std::thread::current().id()).await.unwrap();
                ended.await.ok();
            });
            (self.threads.1.recv().await.unwrap(), go)
        }
    }

    #[test]
    fn connections_spread_over_all_lanes_and_a_free_place_is_taken_again() {
        let (here, others) = (one_thread(), [one_thread(), one_thread()]);
        let handles: Vec<_> = others.iter().map(|other| other.handle().clone()).collect();
        here.block_on(async move {
            let lanes = Lanes::here_and(handles);
            let (tasks, threads) = (TaskTracker::new(), mpsc::channel(1));
            let mut visitors = Visitors { lanes, tasks: tasks.clone(), threads };
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
