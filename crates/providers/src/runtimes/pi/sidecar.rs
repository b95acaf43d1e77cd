//! The sidecar's process. It is started when needed, serves all calls, and is ended when idle for a
//! while. After each failure in a row it is restarted later.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::protocol::{Reply, VERSION, cancel};
use crate::runtimes::child::{Child, Launch, NoMoreLines, Spawner};

/// How many orders may wait to be written to the process.
const ORDERS: usize = 64;
/// How many pieces of one answer may wait for their reader. A reader that falls further behind is
/// dropped, because it would hold up all others.
const REPLIES: usize = 16 * 1024;
const START_LIMIT: Duration = Duration::from_secs(30);
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// Starts, keeps and ends the process.
#[derive(Debug)]
pub(super) struct Supervisor {
    spawner: Spawner,
    idle: Duration,
    state: Arc<Mutex<State>>,
    /// Locked while a process starts, so that there is only one.
    starting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    process: Option<Arc<Process>>,
    at_work: usize,
    /// Counts uses, so that a timer knows whether the process was used since the timer started.
    uses: u64,
    failures: u32,
    rests_until: Option<Instant>,
}

#[derive(Debug)]
struct Process {
    orders: mpsc::Sender<Value>,
    open: Open,
    next: AtomicU64,
    id: Option<u32>,
}

/// The waiting callers, by id; after the process has ended, the reason.
type Open = Arc<Mutex<Result<HashMap<u64, mpsc::Sender<Reply>>, String>>>;

/// The replies to one request. Dropping it before the end cancels the request.
pub(super) struct Replies {
    id: u64,
    replies: mpsc::Receiver<Reply>,
    process: Arc<Process>,
    state: Arc<Mutex<State>>,
    idle: Duration,
    open: bool,
}

impl Supervisor {
    pub(super) fn new(idle: Duration) -> Self {
        Self {
            spawner: Spawner::new(),
            idle,
            state: Arc::default(),
            starting: tokio::sync::Mutex::default(),
        }
    }

    /// Sends a request to the process, which is started if necessary.
    pub(super) async fn ask(
        &self,
        launch: &Launch,
        order: impl FnOnce(u64) -> Value,
    ) -> Result<Replies, String> {
        let process = self.process(launch).await?;
        let id = process.next.fetch_add(1, Ordering::Relaxed);
        let (sender, replies) = mpsc::channel(REPLIES);
        let state = Arc::clone(&self.state);
        lock(&state).at_work += 1;
        let asked = Replies { id, replies, process, state, idle: self.idle, open: true };
        match &mut *lock(&asked.process.open) {
            Ok(open) => open.insert(id, sender),
            Err(ended) => return Err(ended.clone()),
        };
        if asked.process.orders.send(order(id)).await.is_err() {
            return Err(asked.process.why_ended());
        }
        Ok(asked)
    }

    pub(super) fn process_id(&self) -> Option<u32> {
        lock(&self.state).process.as_ref().filter(|process| process.is_there())?.id
    }

    async fn process(&self, launch: &Launch) -> Result<Arc<Process>, String> {
        let _starting = self.starting.lock().await;
        {
            let state = lock(&self.state);
            if let Some(process) = state.process.as_ref().filter(|process| process.is_there()) {
                return Ok(Arc::clone(process));
            }
            if let Some(until) = state.rests_until.filter(|until| *until > Instant::now()) {
                let seconds = (until - Instant::now()).as_secs() + 1;
                return Err(format!("the Pi sidecar failed and is started again in {seconds} s"));
            }
        }
        let started = Process::start(launch, &self.spawner).await;
        let mut state = lock(&self.state);
        match started {
            Ok(process) => {
                let process = Arc::new(process);
                state.failures = 0;
                state.rests_until = None;
                state.process = Some(Arc::clone(&process));
                Ok(process)
            }
            Err(why) => {
                let rest = FIRST_REST.saturating_mul(1 << state.failures.min(8)).min(LONGEST_REST);
                state.failures += 1;
                state.rests_until = Some(Instant::now() + rest);
                Err(why)
            }
        }
    }
}

impl Process {
    async fn start(launch: &Launch, spawner: &Spawner) -> Result<Self, String> {
        let cannot = |error: std::io::Error| format!("the Pi sidecar cannot be started: {error}");
        let mut child = Child::start(launch, spawner).await.map_err(cannot)?;
        let id = child.id();
        let first = tokio::time::timeout(START_LIMIT, child.next()).await;
        let first =
            first.map_err(|_| "the Pi sidecar does not respond after its start".to_owned())?;
        let first = first.map_err(|silence| why(&silence))?;
        match serde_json::from_value(first) {
            Ok(Reply::Ready { version: VERSION }) => {}
            Ok(_) | Err(_) => {
                return Err("the Pi sidecar is of another version than Onyx: build it again \
                            (make pi)"
                    .to_owned());
            }
        }
        let (orders, receiver) = mpsc::channel(ORDERS);
        let open: Open = Arc::new(Mutex::new(Ok(HashMap::new())));
        tokio::spawn(run(child, receiver, Arc::clone(&open)));
        Ok(Self { orders, open, next: AtomicU64::new(1), id })
    }

    fn is_there(&self) -> bool {
        lock(&self.open).is_ok()
    }

    fn why_ended(&self) -> String {
        let ended = lock(&self.open).as_ref().err().cloned();
        ended.unwrap_or_else(|| "the Pi sidecar stopped answering".to_owned())
    }
}

/// Carries orders in and replies out until the process ends or all senders are gone.
async fn run(mut child: Child, mut orders: mpsc::Receiver<Value>, open: Open) {
    let why = loop {
        tokio::select! {
            order = orders.recv() => match order {
                Some(order) => child.send(&order).await,
                None => break "the Pi sidecar was stopped".to_owned(),
            },
            line = child.next() => match line {
                Ok(line) => deliver(&open, line),
                Err(silence) => break why(&silence),
            },
        }
    };
    drop(child);
    // The waiting calls notice the end because their channels close.
    *lock(&open) = Err(why);
}

fn deliver(open: &Open, line: Value) {
    // A reply of an unknown kind is ignored.
    let Ok(reply) = serde_json::from_value::<Reply>(line) else { return };
    let Some(id) = reply.id() else { return };
    if let Ok(open) = &mut *lock(open) {
        let is_last = reply.is_last();
        let is_gone = open.get(&id).is_none_or(|waiting| waiting.try_send(reply).is_err());
        if is_gone || is_last {
            open.remove(&id);
        }
    }
}

fn why(silence: &NoMoreLines) -> String {
    match silence {
        NoMoreLines::Ended { how, stderr } if stderr.is_empty() => format!("the Pi sidecar {how}"),
        NoMoreLines::Ended { how, stderr } => format!("the Pi sidecar {how} and said: {stderr}"),
        NoMoreLines::TooLong => "the Pi sidecar wrote a line that is too long".to_owned(),
    }
}

impl Replies {
    pub(super) async fn next(&mut self) -> Result<Reply, String> {
        let reply = self.replies.recv().await;
        self.open = reply.as_ref().is_some_and(|reply| !reply.is_last());
        reply.ok_or_else(|| self.process.why_ended())
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        if self.open {
            if let Ok(open) = &mut *lock(&self.process.open) {
                open.remove(&self.id);
            }
            // If the queue of orders is full, the cancellation is dropped, and the sidecar finishes
            // an answer that nobody reads.
            let _ = self.process.orders.try_send(cancel(self.id));
        }
        let mut state = lock(&self.state);
        state.at_work -= 1;
        state.uses += 1;
        if state.at_work > 0 {
            return;
        }
        let (uses, idle, shared) = (state.uses, self.idle, Arc::downgrade(&self.state));
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            state.process = None;
            return;
        };
        runtime.spawn(async move {
            tokio::time::sleep(idle).await;
            let Some(shared) = shared.upgrade() else { return };
            let mut state = lock(&shared);
            if state.uses == uses && state.at_work == 0 {
                state.process = None;
            }
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
