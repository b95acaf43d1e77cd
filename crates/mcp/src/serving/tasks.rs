//! Calls that continue after their request was answered: the client gets a handle and asks for the
//! result later. With a handshake the client requests a task. Without one the client declares that
//! it supports tasks, and every call that takes longer than `SOON` becomes one.
//!
//! Tasks are kept in memory, each for a limited time: a client whose task is gone calls again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use onyx_types::{Clock as _, SystemClock, Timestamp};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::era::Era;
use super::message::Refusal;
use super::running::Task;

/// The name of the extension in the era without a handshake.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// A client that supports tasks waits no longer than this for an answer.
pub(super) const SOON: Duration = Duration::from_secs(3);
const USUAL_LIFE: Duration = Duration::from_secs(10 * 60);
const LONGEST_LIFE: Duration = Duration::from_secs(60 * 60);
const POLL_MILLIS: u64 = 1_000;
/// The most tasks of one caller at a time.
const MOST: usize = 64;

#[derive(Clone, Debug, PartialEq)]
enum State {
    Working,
    /// The result or the error of JSON-RPC that the request would have had.
    Over(Result<Value, Value>),
    Cancelled,
}

impl State {
    const fn word(&self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Over(Ok(_)) => "completed",
            Self::Over(Err(_)) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

struct StoredTask {
    caller: String,
    created: Timestamp,
    began: Instant,
    life: Duration,
    state: watch::Sender<(State, Timestamp)>,
    /// The task's work, which is ended when the task is cancelled or forgotten.
    work: Mutex<Vec<Task>>,
}

impl StoredTask {
    fn is_over_age(&self) -> bool {
        self.began.elapsed() > self.life
    }

    fn shown(&self, id: &str, era: Era) -> Value {
        let (state, updated) = self.state.borrow().clone();
        let (life, poll) = match era {
            Era::Handshake => ("ttl", "pollInterval"),
            Era::Stateless => ("ttlMs", "pollIntervalMs"),
        };
        let life_millis = u64::try_from(self.life.as_millis()).unwrap_or(u64::MAX);
        json!({
            "taskId": id,
            "status": state.word(),
            "createdAt": self.created.to_string(),
            "lastUpdatedAt": updated.to_string(),
            life: life_millis,
            poll: POLL_MILLIS,
        })
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
}

#[derive(Default)]
pub(super) struct Tasks(Mutex<BTreeMap<String, Arc<StoredTask>>>);

/// A running call: the channel of its answer, and the means to stop it.
pub(super) struct AtWork {
    pub(super) answers: mpsc::Receiver<Value>,
    pub(super) work: Task,
}

impl Tasks {
    /// Stores a call as a task and returns the client's handle. `Err` returns the call if the
    /// caller already has too many tasks.
    pub(super) fn keep(
        &self,
        id: String,
        caller: &str,
        life: Option<Duration>,
        era: Era,
        call: AtWork,
    ) -> Result<Value, AtWork> {
        let mut all = lock(&self.0);
        all.retain(|_, kept| !kept.is_over_age());
        if all.values().filter(|kept| kept.caller == caller).count() >= MOST {
            return Err(call);
        }
        let now = SystemClock::new().wall();
        let kept = Arc::new(StoredTask {
            caller: caller.to_owned(),
            created: now,
            began: Instant::now(),
            life: life.unwrap_or(USUAL_LIFE).min(LONGEST_LIFE),
            state: watch::Sender::new((State::Working, now)),
            work: Mutex::default(),
        });
        let AtWork { mut answers, work } = call;
        let ends = Arc::downgrade(&kept);
        let waits = tokio::spawn(async move {
            let over = loop {
                match answers.recv().await {
                    // Messages before the answer have no reader.
                    Some(message) if message.get("method").is_some() => {}
                    Some(mut message) => {
                        let error = message.get_mut("error").map(Value::take);
                        break error.map_or_else(|| Ok(message["result"].take()), Err);
                    }
                    None => {
                        let message = "the call came to no end";
                        break Err(json!({"code": -32_603, "message": message}));
                    }
                }
            };
            if let Some(kept) = ends.upgrade() {
                kept.set(State::Over(over));
            }
        });
        lock(&kept.work).extend([work, Task(waits)]);
        let shown = kept.shown(&id, era);
        all.insert(id, kept);
        Ok(shown)
    }

    /// Answers a method about tasks; `None` for any other method.
    pub(super) async fn answer(
        &self,
        method: &str,
        params: &Value,
        caller: &str,
        era: Era,
    ) -> Option<Result<Value, Refusal>> {
        let id = params["taskId"].as_str().unwrap_or_default();
        Some(match (method, era) {
            ("tasks/get", _) => self.find(id, caller).map(|kept| got(&kept, id, era)),
            ("tasks/cancel", _) => self.cancel(id, caller, era),
            ("tasks/result", Era::Handshake) => match self.find(id, caller) {
                Ok(kept) => ended(&kept, id).await,
                Err(refusal) => Err(refusal),
            },
            ("tasks/list", Era::Handshake) => Ok(self.list(caller)),
            // A task asks the client no questions, so an update contains no answer.
            ("tasks/update", Era::Stateless) => self.find(id, caller).map(|_| json!({})),
            _ => return None,
        })
    }

    fn find(&self, id: &str, caller: &str) -> Result<Arc<StoredTask>, Refusal> {
        let mut all = lock(&self.0);
        all.retain(|_, kept| !kept.is_over_age());
        let found = all.get(id).filter(|kept| kept.caller == caller);
        found.cloned().ok_or_else(|| Refusal::params("there is no such task"))
    }

    fn list(&self, caller: &str) -> Value {
        let mut all = lock(&self.0);
        all.retain(|_, kept| !kept.is_over_age());
        let own = all.iter().filter(|(_, kept)| kept.caller == caller);
        let tasks: Vec<Value> = own.map(|(id, kept)| kept.shown(id, Era::Handshake)).collect();
        json!({"tasks": tasks})
    }

    fn cancel(&self, id: &str, caller: &str, era: Era) -> Result<Value, Refusal> {
        let kept = self.find(id, caller)?;
        kept.set(State::Cancelled);
        lock(&kept.work).clear();
        match era {
            Era::Stateless => Ok(json!({})),
            Era::Handshake if kept.state.borrow().0 != State::Cancelled => {
                Err(Refusal::params("the task is over already"))
            }
            Era::Handshake => Ok(kept.shown(id, era)),
        }
    }
}

/// The task in the form of `tasks/get`; in the era without a handshake, its result is included.
fn got(kept: &StoredTask, id: &str, era: Era) -> Value {
    let mut shown = kept.shown(id, era);
    if era == Era::Stateless
        && let State::Over(over) = &kept.state.borrow().0
    {
        match over {
            Ok(result) => shown["result"] = result.clone(),
            Err(error) => shown["error"] = error.clone(),
        }
    }
    shown
}

/// Waits until the task is over, and returns what the request itself would have returned.
async fn ended(kept: &StoredTask, id: &str) -> Result<Value, Refusal> {
    let mut state = kept.state.subscribe();
    let over = state.wait_for(|(state, _)| *state != State::Working).await;
    let over = over.map_or(State::Cancelled, |over| over.0.clone());
    match over {
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
