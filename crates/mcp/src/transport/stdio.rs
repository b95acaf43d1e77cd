//! A program in the sandbox that speaks JSON-RPC, one message a line.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_sandbox::{Running, Scratch};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Outgoing;
use crate::McpError;
use crate::program::{Line, ProgramLog, next_line};
use crate::wire::{Elicitations, Incoming, MOST_BYTES, incoming, notification, reply, request};

/// The most messages in a row that answer no request; a server that sends more is broken.
const MOST_UNASKED: usize = 2_000;
/// How long the program may take until it reads a message of ours.
const WRITE_LIMIT: Duration = Duration::from_secs(10);
/// How long a program whose output has ended may take to write the reason to its error stream.
const LAST_WORDS: Duration = Duration::from_secs(1);

type Input = Box<dyn AsyncWrite + Send + Unpin>;
type Answers = BTreeMap<u64, oneshot::Sender<Result<Value, McpError>>>;

pub(crate) struct StdioTransport {
    shared: Arc<Shared>,
    next: AtomicU64,
    /// The process and its tasks, which end with this value.
    _running: Running,
    _scratch: Scratch,
    _tasks: [Task; 2],
    _proxy: Option<Task>,
}

struct Shared {
    input: tokio::sync::Mutex<Input>,
    answers: Mutex<Answers>,
    broken: Mutex<Option<String>>,
    tools_changed: AtomicBool,
    log: ProgramLog,
}

/// A task that is aborted when this is dropped.
pub(crate) struct Task(pub(crate) JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl StdioTransport {
    pub(crate) fn over(
        mut running: Running,
        scratch: Scratch,
        proxy: Option<Task>,
        log: ProgramLog,
    ) -> Result<Self, McpError> {
        let no_pipes = || McpError::Unreachable("the program has no input or output".to_owned());
        let input = running.take_input().ok_or_else(no_pipes)?;
        let (stdout, stderr) = running.take_voices();
        let (stdout, stderr) = stdout.zip(stderr).ok_or_else(no_pipes)?;
        let shared = Arc::new(Shared {
            input: tokio::sync::Mutex::new(input),
            answers: Mutex::default(),
            broken: Mutex::default(),
            tools_changed: AtomicBool::new(false),
            log,
        });
        let noting = shared.log.clone();
        let (noted, last_words) = oneshot::channel::<()>();
        let note = tokio::spawn(async move {
            note_errors(stderr, &noting).await;
            drop(noted);
        });
        let listening = Arc::clone(&shared);
        let listen = tokio::spawn(async move {
            let why = listening.listen(stdout, last_words).await;
            listening.break_off(&why);
        });
        Ok(Self {
            shared,
            next: AtomicU64::new(1),
            _running: running,
            _scratch: scratch,
            _tasks: [Task(listen), Task(note)],
            _proxy: proxy,
        })
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Value, McpError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = request(id, outgoing.method, &outgoing.params);
        let (sender, receiver) = oneshot::channel();
        self.shared.answers().insert(id, sender);
        if let Some(why) = self.broken() {
            self.shared.answers().remove(&id);
            return Err(McpError::Gone(why));
        }
        let written = self.shared.write(&message).await;
        // A program that has ended reads nothing more, and the reader will notice its end soon.
        let patience = if written.is_ok() { outgoing.limit } else { 2 * LAST_WORDS };
        let answer = tokio::time::timeout(patience, receiver).await;
        // An answer that comes later is ignored.
        self.shared.answers().remove(&id);
        match (answer, written) {
            (Ok(Ok(result)), _) => result,
            (Ok(Err(_)), _) => Err(McpError::Gone(self.broken().unwrap_or_default())),
            (Err(_), Err(error)) => Err(error),
            (Err(_), Ok(())) => Err(McpError::Timeout(outgoing.limit.as_secs())),
        }
    }

    pub(crate) async fn notify(&self, method: &str) -> Result<(), McpError> {
        self.shared.write(&notification(method)).await
    }

    pub(crate) fn broken(&self) -> Option<String> {
        self.shared.broken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn tools_changed(&self) -> bool {
        self.shared.tools_changed.swap(false, Ordering::Relaxed)
    }
}

impl Shared {
    /// Reads until the program ends or breaks a rule, and returns the reason. The other end of
    /// `last_words` closes when the error stream has been read.
    async fn listen(
        &self,
        stdout: impl AsyncRead + Unpin,
        last_words: oneshot::Receiver<()>,
    ) -> String {
        let mut lines = BufReader::new(stdout);
        let mut line = Vec::new();
        let mut unasked = 0;
        loop {
            match next_line(&mut lines, &mut line, MOST_BYTES).await {
                Ok(Line::Whole) => {}
                Ok(Line::TooLong) => return format!("a message is longer than {MOST_BYTES} bytes"),
                Ok(Line::End) => {
                    // Only the end of the error stream gives the reason. A program that this one
                    // started may keep the stream open, so the wait is limited.
                    let _ = tokio::time::timeout(LAST_WORDS, last_words).await;
                    return "the program ended".to_owned();
                }
                Err(error) => return format!("the program's output cannot be read: {error}"),
            }
            // Some programs print other text where only messages may be. A line that is not a
            // message counts as an unrequested one.
            let message: Option<Value> = serde_json::from_slice(&line).ok();
            match message.and_then(incoming) {
                Some(Incoming::Response { id, result }) => {
                    unasked = 0;
                    if let Some(waiting) = self.answers().remove(&id) {
                        // The call that waits for the answer may be gone.
                        let _ = waiting.send(result);
                    }
                    continue;
                }
                Some(Incoming::Request { id, method, params }) => {
                    let reply = reply(Elicitations::Decline, &id, &method, &params);
                    if let Err(error) = self.write(&reply).await {
                        return error.to_string();
                    }
                }
                Some(Incoming::Notification { method })
                    if method == "notifications/tools/list_changed" =>
                {
                    self.tools_changed.store(true, Ordering::Relaxed);
                }
                Some(Incoming::Notification { .. }) | None => {}
            }
            unasked += 1;
            if unasked > MOST_UNASKED {
                return "it sends too many unrequested messages".to_owned();
            }
        }
    }

    async fn write(&self, message: &Value) -> Result<(), McpError> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let write = async {
            let mut input = self.input.lock().await;
            input.write_all(&line).await?;
            input.flush().await
        };
        match tokio::time::timeout(WRITE_LIMIT, write).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(McpError::Gone(format!("it no longer reads its input: {error}"))),
            Err(_) => Err(McpError::Timeout(WRITE_LIMIT.as_secs())),
        }
    }

    fn break_off(&self, why: &str) {
        self.log.note(why);
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
        // Waiting calls notice the end because their channels close.
        self.answers().clear();
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn note_errors(stderr: impl AsyncRead + Unpin, log: &ProgramLog) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(Line::Whole) = next_line(&mut lines, &mut line, MOST_BYTES).await {
        log.add(&String::from_utf8_lossy(&line));
    }
}
