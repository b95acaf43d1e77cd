//! The gateway's end of a model's process.

use std::collections::HashMap;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use onyx_types::ModelFailure;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

use super::protocol::{FailedClass, Reply, WorkerRequest, WorkerTask};
use super::{Launch, MemoryRelease};

/// How many requests may wait to be sent to the process.
const REQUESTS: usize = 64;

/// More replies than a model gives in one answer. A slower reader is dropped, because waiting for
/// it would hold up all others.
const REPLIES: usize = 16 * 1024;

/// A process with its model loaded. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct Worker {
    requests: mpsc::Sender<WorkerRequest>,
    open: Open,
    next: AtomicU64,
}

/// The waiting callers, by id; after the process has ended, the reason.
type Open = Arc<Mutex<Result<HashMap<u64, mpsc::Sender<Reply>>, ModelFailure>>>;

impl Worker {
    pub(super) async fn start(
        launch: &Launch,
        task: &WorkerTask,
        released: MemoryRelease,
    ) -> Result<Self, ModelFailure> {
        let cannot = |error: std::io::Error| {
            FailedClass::Unavailable.failure(format!("the model's process cannot start: {error}"))
        };
        let mut child = Command::new(&launch.program)
            .args(&launch.arguments)
            // The person's keys must not reach a process that runs third-party native code.
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(cannot)?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(FailedClass::Unavailable.failure("the model's process has no pipes"));
        };
        tokio::spawn(log(BufReader::new(stderr).lines()));
        // If the process has ended already, its status says more than this error.
        let _ = write(&mut stdin, task).await;
        let mut lines = BufReader::new(stdout).lines();
        match lines.next_line().await.ok().flatten().as_deref().map(serde_json::from_str) {
            Some(Ok(Reply::Ready)) => {}
            Some(Ok(Reply::Broken { class, message })) => return Err(class.failure(message)),
            Some(_) => return Err(FailedClass::Unavailable.failure(GARBLED)),
            None => return Err(ended(child.wait().await)),
        }
        let (requests, receiver) = mpsc::channel(REQUESTS);
        let open = Arc::new(Mutex::new(Ok(HashMap::new())));
        let running = run(child, stdin, lines, receiver, Arc::clone(&open));
        tokio::spawn(async move {
            running.await;
            released();
        });
        Ok(Self { requests, open, next: AtomicU64::new(0) })
    }

    pub(super) fn alive(&self) -> bool {
        locked(&self.open).is_ok()
    }

    /// Sends a request; its replies come through the channel, which closes when the process ends.
    pub(super) async fn ask(
        &self,
        request: impl FnOnce(u64) -> WorkerRequest,
    ) -> Result<(u64, mpsc::Receiver<Reply>), ModelFailure> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel(REPLIES);
        match &mut *locked(&self.open) {
            Ok(open) => open.insert(id, sender),
            Err(ended) => return Err(ended.clone()),
        };
        self.tell(request(id)).await?;
        Ok((id, receiver))
    }

    pub(super) async fn tell(&self, request: WorkerRequest) -> Result<(), ModelFailure> {
        self.requests.send(request).await.map_err(|_| self.why_ended())
    }

    /// Drops an answer that no caller waits for any more.
    pub(super) fn forget(&self, id: u64) {
        if let Ok(open) = &mut *locked(&self.open) {
            open.remove(&id);
        }
        // If the queue of requests is full, the cancellation is dropped and the process finishes
        // one unused answer.
        let _ = self.requests.try_send(WorkerRequest::Cancel { id });
    }

    pub(super) fn why_ended(&self) -> ModelFailure {
        let ended = locked(&self.open).as_ref().err().cloned();
        ended.unwrap_or_else(|| FailedClass::Unavailable.failure("the model stopped answering"))
    }
}

const GARBLED: &str =
    "the model's process gave an answer that could not be parsed; is it the same version of Onyx?";

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends requests and distributes replies until the process ends or all senders are gone.
async fn run(
    mut child: Child,
    mut stdin: ChildStdin,
    mut lines: Lines<BufReader<ChildStdout>>,
    mut requests: mpsc::Receiver<WorkerRequest>,
    open: Open,
) {
    let writing = async {
        while let Some(request) = requests.recv().await {
            if write(&mut stdin, &request).await.is_err() {
                // Reading the process's output will show why writing failed.
                std::future::pending::<()>().await;
            }
        }
    };
    let reading = async {
        while let Ok(Some(line)) = lines.next_line().await {
            match serde_json::from_str(&line) {
                Ok(reply) => deliver(&open, reply),
                Err(_) => return Some(FailedClass::Unavailable.failure(GARBLED)),
            }
        }
        None
    };
    let failure = tokio::select! {
        () = writing => Some(FailedClass::Unavailable.failure("the model was unloaded")),
        failure = reading => failure,
    };
    let failure = match failure {
        Some(failure) => {
            if let Err(error) = child.kill().await {
                tracing::warn!(%error, "a model's process could not be stopped");
            }
            failure
        }
        None => ended(child.wait().await),
    };
    *locked(&open) = Err(failure);
}

fn deliver(open: &Open, reply: Reply) {
    let Some(id) = reply.id() else { return };
    if let Ok(open) = &mut *locked(open) {
        let last = reply.is_last();
        let gone = open.get(&id).is_none_or(|waiting| waiting.try_send(reply).is_err());
        if gone || last {
            open.remove(&id);
        }
    }
}

async fn write(stdin: &mut ChildStdin, value: &impl serde::Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stdin.write_all(&line).await?;
    stdin.flush().await
}

const ILLEGAL_INSTRUCTION: i32 = 4;

fn ended(status: std::io::Result<ExitStatus>) -> ModelFailure {
    use std::os::unix::process::ExitStatusExt;
    let how = match status.map(|status| (status.signal(), status.code())) {
        Ok((Some(ILLEGAL_INSTRUCTION), _)) => {
            "ended by signal 4: it needs instructions that this processor lacks (AVX2)".to_owned()
        }
        // A native library aborts if it gets no memory, and the kernel kills the process if there
        // is none.
        Ok((Some(signal), _)) => {
            format!("ended by signal {signal}: out of memory, or it cannot work with this file")
        }
        Ok((None, code)) => format!("ended with exit code {}", code.unwrap_or_default()),
        Err(error) => format!("is lost: {error}"),
    };
    FailedClass::Unavailable.failure(format!("the model's process {how}"))
}

async fn log(mut lines: Lines<BufReader<tokio::process::ChildStderr>>) {
    while let Ok(Some(line)) = lines.next_line().await {
        tracing::debug!(target: "onyx_local::worker", "{line}");
    }
}
