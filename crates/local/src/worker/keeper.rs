//! Starts a model's process when it is needed and ends it when it is idle for a while.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onyx_types::ModelFailure;
use tokio::sync::mpsc;

use super::host::Worker;
use super::protocol::{Reply, WorkerRequest, WorkerTask};
use super::{Launch, MemoryRelease};

#[derive(Debug)]
pub(crate) struct Keeper {
    launch: Launch,
    task: WorkerTask,
    idle: Duration,
    released: MemoryRelease,
    state: Arc<Mutex<State>>,
    /// Locked while a process starts, so that there is only one.
    starting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    worker: Option<Arc<Worker>>,
    at_work: usize,
    /// Counts uses, so that a timer knows whether the process was used since the timer started.
    uses: u64,
}

impl Keeper {
    pub(crate) fn new(
        launch: Launch,
        task: WorkerTask,
        idle: Duration,
        released: MemoryRelease,
    ) -> Self {
        let (state, starting) = (Arc::default(), tokio::sync::Mutex::default());
        Self { launch, task, idle, released, state, starting }
    }

    /// Sends a request to the process, which is started if necessary.
    pub(crate) async fn ask(
        &self,
        request: impl FnOnce(u64) -> WorkerRequest,
    ) -> Result<RequestReplies, ModelFailure> {
        let lease = self.lease().await?;
        let (id, replies) = lease.worker.ask(request).await?;
        Ok(RequestReplies { id, replies, lease, open: true })
    }

    /// Whether a process holds the model in memory.
    pub(crate) fn is_loaded(&self) -> bool {
        locked(&self.state).worker.as_ref().is_some_and(|worker| worker.alive())
    }

    async fn lease(&self) -> Result<Lease, ModelFailure> {
        if let Some(lease) = self.running() {
            return Ok(lease);
        }
        let _starting = self.starting.lock().await;
        if let Some(lease) = self.running() {
            return Ok(lease);
        }
        let worker = Arc::new(Worker::start(&self.launch, &self.task, self.released).await?);
        let mut state = locked(&self.state);
        state.worker = Some(Arc::clone(&worker));
        Ok(self.taken(&mut state, worker))
    }

    fn running(&self) -> Option<Lease> {
        let mut state = locked(&self.state);
        let worker = state.worker.clone().filter(|worker| worker.alive())?;
        Some(self.taken(&mut state, worker))
    }

    fn taken(&self, state: &mut State, worker: Arc<Worker>) -> Lease {
        state.at_work += 1;
        Lease { worker, state: Arc::clone(&self.state), idle: self.idle }
    }
}

fn locked(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A use of the process. The process is not ended while a lease exists.
struct Lease {
    worker: Arc<Worker>,
    state: Arc<Mutex<State>>,
    idle: Duration,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = locked(&self.state);
        state.at_work -= 1;
        state.uses += 1;
        if state.at_work > 0 {
            return;
        }
        let (uses, idle, shared) = (state.uses, self.idle, Arc::clone(&self.state));
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            state.worker = None;
            return;
        };
        runtime.spawn(async move {
            tokio::time::sleep(idle).await;
            let mut state = locked(&shared);
            if state.uses == uses && state.at_work == 0 {
                state.worker = None;
            }
        });
    }
}

/// The replies to one request.
pub(crate) struct RequestReplies {
    id: u64,
    replies: mpsc::Receiver<Reply>,
    lease: Lease,
    /// Whether the last reply is still to come.
    open: bool,
}

impl RequestReplies {
    pub(crate) async fn next(&mut self) -> Result<Reply, ModelFailure> {
        let reply = self.replies.recv().await;
        self.open = reply.as_ref().is_some_and(|reply| !reply.is_last());
        match reply {
            Some(Reply::Failed { class, message, .. }) => Err(class.failure(message)),
            Some(reply) => Ok(reply),
            None => Err(self.lease.worker.why_ended()),
        }
    }
}

/// Cancels the answer when its reader goes away.
impl Drop for RequestReplies {
    fn drop(&mut self) {
        if self.open {
            self.lease.worker.forget(self.id);
        }
    }
}
