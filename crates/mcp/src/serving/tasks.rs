//! Calls that continue after their request was answered: the client gets a handle and asks for the
//! result later. With a handshake the client requests a task. Without one the client declares that
//! it supports tasks, and every call that takes longer than `SOON` becomes one.
//!
//! A task works where its call began. Other gateways know its row (`task_rows.rs`), so a client may
//! ask any of them for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use onyx_storage::{ShortLived, StoreError};
use onyx_types::{Clock as _, PersonId, SystemClock, Timestamp};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use super::era::Era;
use super::message::{INTERNAL_ERROR, Refusal};
use super::running::Task;
use super::task_rows::{BEAT, State, TaskRow, TaskRows};

/// The name of the extension in the era without a handshake.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// A client that supports tasks waits no longer than this for an answer.
pub(super) const SOON: Duration = Duration::from_secs(3);
const USUAL_LIFE: Duration = Duration::from_secs(10 * 60);
const LONGEST_LIFE: Duration = Duration::from_secs(60 * 60);
/// The most tasks of one caller at a time.
const MOST: usize = 64;

/// A task whose call works or worked in this process.
struct LocalTask {
    id: String,
    caller: PersonId,
    created: Timestamp,
    began: Instant,
    life: Duration,
    state: watch::Sender<(State, Timestamp)>,
    /// The task's work, which is ended when the task is cancelled or forgotten.
    work: Mutex<Vec<Task>>,
}

impl LocalTask {
    fn is_over_age(&self) -> bool {
        self.began.elapsed() > self.life
    }

    fn row(&self) -> TaskRow {
        let (state, updated) = self.state.borrow().clone();
        TaskRow { id: self.id.clone(), created: self.created, updated, life: self.life, state }
    }

    /// Sets the state, unless the task has already ended.
    fn set(&self, state: State) {
        let now = SystemClock::new().wall();
        self.state.send_if_modified(|(before, at)| {
            let is_at_work = *before == State::Working;
            if is_at_work {
                (*before, *at) = (state, now);
            }
            is_at_work
        });
    }

    /// Writes the row for the other gateways.
    async fn write(&self, rows: &TaskRows) {
        let left = self.life.saturating_sub(self.began.elapsed());
        rows.write(&self.caller, &self.row(), left).await;
    }
}

pub(super) struct Tasks {
    here: Mutex<BTreeMap<String, Arc<LocalTask>>>,
    rows: TaskRows,
}

/// A running call: the channel of its answer, and the means to stop it.
pub(super) struct AtWork {
    pub(super) answers: mpsc::Receiver<Value>,
    pub(super) work: Task,
}

impl Tasks {
    pub(super) fn new(store: Arc<dyn ShortLived>) -> Self {
        Self { here: Mutex::default(), rows: TaskRows::new(store) }
    }

    /// Stores a call as a task and returns the client's handle. `Err` returns the call if the
    /// caller already has too many tasks.
    pub(super) async fn keep(
        &self,
        id: String,
        caller: &PersonId,
        life: Option<Duration>,
        era: Era,
        call: AtWork,
    ) -> Result<Value, AtWork> {
        let now = SystemClock::new().wall();
        let kept = Arc::new(LocalTask {
            id,
            caller: caller.clone(),
            created: now,
            began: Instant::now(),
            life: life.unwrap_or(USUAL_LIFE).min(LONGEST_LIFE),
            state: watch::Sender::new((State::Working, now)),
            work: Mutex::default(),
        });
        if !self.insert(&kept) {
            return Err(call);
        }
        let AtWork { answers, work } = call;
        let (written, is_written) = oneshot::channel();
        let tended = tend(Arc::downgrade(&kept), self.rows.clone(), answers, written);
        lock(&kept.work).extend([work, Task(tokio::spawn(tended))]);
        // The row is there before the client has the handle, which it may show to any gateway. It is
        // never written only if the task is cancelled before.
        let _ = is_written.await;
        Ok(kept.row().shown(era))
    }

    /// Makes a task known here. `false`: its caller already has too many.
    fn insert(&self, task: &Arc<LocalTask>) -> bool {
        let mut all = lock(&self.here);
        all.retain(|_, kept| !kept.is_over_age());
        if all.values().filter(|kept| kept.caller == task.caller).count() >= MOST {
            return false;
        }
        all.insert(task.id.clone(), Arc::clone(task));
        true
    }

    /// Answers a method about tasks; `None` for any other method.
    pub(super) async fn answer(
        &self,
        method: &str,
        params: &Value,
        caller: &PersonId,
        era: Era,
    ) -> Option<Result<Value, Refusal>> {
        let id = params["taskId"].as_str().unwrap_or_default();
        Some(match (method, era) {
            ("tasks/get", _) => self.row(id, caller).await.map(|row| got(row, era)),
            ("tasks/cancel", _) => self.cancel(id, caller, era).await,
            ("tasks/result", Era::Handshake) => self.ended(id, caller).await,
            ("tasks/list", Era::Handshake) => self.list(caller).await,
            // A task asks the client no questions, so an update contains no answer.
            ("tasks/update", Era::Stateless) => self.row(id, caller).await.map(|_| json!({})),
            _ => return None,
        })
    }

    fn find_here(&self, id: &str, caller: &PersonId) -> Option<Arc<LocalTask>> {
        let mut all = lock(&self.here);
        all.retain(|_, kept| !kept.is_over_age());
        all.get(id).filter(|kept| kept.caller == *caller).cloned()
    }

    async fn row(&self, id: &str, caller: &PersonId) -> Result<TaskRow, Refusal> {
        if let Some(kept) = self.find_here(id, caller) {
            return Ok(kept.row());
        }
        found(self.rows.find(caller, id).await)
    }

    async fn list(&self, caller: &PersonId) -> Result<Value, Refusal> {
        let rows = self.rows.list(caller).await.map_err(|error| failed(&error))?;
        let tasks: Vec<Value> = rows.iter().map(|row| row.shown(Era::Handshake)).collect();
        Ok(json!({"tasks": tasks}))
    }

    async fn cancel(&self, id: &str, caller: &PersonId, era: Era) -> Result<Value, Refusal> {
        let row = match self.find_here(id, caller) {
            Some(kept) => {
                kept.set(State::Cancelled);
                lock(&kept.work).clear();
                kept.write(&self.rows).await;
                kept.row()
            }
            None => match found(self.rows.find(caller, id).await)? {
                row if row.state == State::Working => found(self.rows.cancel(caller, id).await)?,
                row => row,
            },
        };
        match era {
            Era::Stateless => Ok(json!({})),
            Era::Handshake if row.state != State::Cancelled => {
                Err(Refusal::params("the task is over already"))
            }
            Era::Handshake => Ok(row.shown(era)),
        }
    }

    /// Waits until the task is over, and returns what the request itself would have returned.
    async fn ended(&self, id: &str, caller: &PersonId) -> Result<Value, Refusal> {
        let state = match self.find_here(id, caller) {
            Some(kept) => {
                let mut state = kept.state.subscribe();
                let over = state.wait_for(|(state, _)| *state != State::Working).await;
                over.map_or(State::Cancelled, |over| over.0.clone())
            }
            None => found(self.rows.ended(caller, id).await)?.state,
        };
        match state {
            State::Over(Ok(mut result)) => {
                if let Some(fields) = result.as_object_mut() {
                    let meta = fields.entry("_meta").or_insert_with(|| json!({}));
                    meta["io.modelcontextprotocol/related-task"] = json!({"taskId": id});
                }
                Ok(result)
            }
            State::Over(Err(error)) => Err(Refusal::of(&error)),
            State::Working | State::Cancelled => Err(Refusal::params("the task was cancelled")),
        }
    }
}

/// Follows a call to its end, or until another gateway wants it to end.
async fn tend(
    task: Weak<LocalTask>,
    rows: TaskRows,
    mut answers: mpsc::Receiver<Value>,
    written: oneshot::Sender<()>,
) {
    if let Some(task) = task.upgrade() {
        task.write(&rows).await;
    }
    // The request that made the task may be gone.
    let _ = written.send(());
    let over = answer_of(&mut answers);
    tokio::pin!(over);
    loop {
        let over = tokio::select! {
            over = &mut over => Some(over),
            () = tokio::time::sleep(BEAT) => None,
        };
        let Some(task) = task.upgrade() else { return };
        if let Some(over) = over {
            task.set(State::Over(over));
            return task.write(&rows).await;
        }
        let is_cancelled = rows.is_to_end(&task.caller, &task.id).await;
        if is_cancelled {
            task.set(State::Cancelled);
        }
        task.write(&rows).await;
        if is_cancelled {
            // This ends the call, and this function with it.
            return lock(&task.work).clear();
        }
    }
}

/// The result or the error of a call. Messages before it have no reader.
async fn answer_of(answers: &mut mpsc::Receiver<Value>) -> Result<Value, Value> {
    loop {
        match answers.recv().await {
            Some(message) if message.get("method").is_some() => {}
            Some(mut message) => {
                let error = message.get_mut("error").map(Value::take);
                return error.map_or_else(|| Ok(message["result"].take()), Err);
            }
            None => {
                let message = "the call came to no end";
                return Err(json!({"code": INTERNAL_ERROR, "message": message}));
            }
        }
    }
}

/// The task in the form of `tasks/get`; in the era without a handshake, its result is included.
fn got(row: TaskRow, era: Era) -> Value {
    let mut shown = row.shown(era);
    if era == Era::Stateless
        && let State::Over(over) = row.state
    {
        match over {
            Ok(result) => shown["result"] = result,
            Err(error) => shown["error"] = error,
        }
    }
    shown
}

fn found(row: Result<Option<TaskRow>, StoreError>) -> Result<TaskRow, Refusal> {
    let row = row.map_err(|error| failed(&error))?;
    row.ok_or_else(|| Refusal::params("there is no such task"))
}

fn failed(error: &StoreError) -> Refusal {
    Refusal::new(INTERNAL_ERROR, error.to_string())
}

/// How long a client wants its task stored, if it wants a task.
pub(super) fn wanted(params: &Value) -> Option<Option<Duration>> {
    let task = params.get("task").filter(|task| task.is_object())?;
    Some(task["ttl"].as_u64().map(Duration::from_millis))
}

/// Whether a client of the era without a handshake supports tasks.
pub(super) fn understood(capabilities: &Value) -> bool {
    capabilities["extensions"].get(EXTENSION).is_some_and(Value::is_object)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
