use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onyx_mcp::program::{Line, ProgramLog, next_line};
use onyx_sandbox::{Running, Scratch};
use onyx_types::{Cancel, Clock};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::flood::FloodLimit;
use super::wire::{Incoming, incoming, not_offered, notification, request, result};
use crate::PluginError;

/// The longest message of a program.
const MOST_BYTES: usize = 1024 * 1024;
/// How many messages for connectors may wait to be taken.
pub(crate) const INBOX: usize = 64;
/// The most unrequested messages within ten seconds.
const MOST_UNASKED: usize = 1_000;
/// The most lines of the error stream within ten seconds.
const MOST_ERROR_LINES: usize = 5_000;
/// How long the program may take until it reads a message of ours.
const WRITE_LIMIT: Duration = Duration::from_secs(5);
/// How long a program whose output has ended may take to write the reason to its error stream.
const LAST_WORDS: Duration = Duration::from_secs(1);

type Input = Box<dyn AsyncWrite + Send + Unpin>;
type Answers = BTreeMap<u64, oneshot::Sender<Result<Value, PluginError>>>;

/// A message from a plugin, with the id that our answer must carry.
#[derive(Debug)]
pub(crate) struct PluginRequest {
    pub(crate) id: Value,
    pub(crate) params: Value,
}

pub(crate) struct Connection {
    pipe: Arc<Pipe>,
    next: AtomicU64,
    /// The process and its tasks, which end with this value.
    running: Mutex<Option<Running>>,
    _scratch: Scratch,
    _tasks: Vec<Task>,
}

/// The part of a connection that it shares with the tasks that read the program's output.
struct Pipe {
    input: tokio::sync::Mutex<Input>,
    answers: Mutex<Answers>,
    broken: Mutex<Option<String>>,
    ended: Cancel,
    inbox: mpsc::Sender<PluginRequest>,
    clock: Arc<dyn Clock>,
    log: ProgramLog,
}

/// A task that is aborted when this value is dropped.
pub(super) struct Task(pub(super) JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The parts of which a connection is made.
pub(super) struct ConnectionParts {
    pub(super) running: Running,
    pub(super) scratch: Scratch,
    pub(super) proxy: Option<Task>,
}

impl Connection {
    /// Makes a connection. Messages from the program go to the inbox.
    pub(super) fn over(
        started: ConnectionParts,
        clock: Arc<dyn Clock>,
        log: ProgramLog,
        inbox: mpsc::Sender<PluginRequest>,
    ) -> Result<Self, PluginError> {
        let ConnectionParts { mut running, scratch, proxy } = started;
        let no_pipes = || PluginError::NotStarted("the program has no input or output".to_owned());
        let input = running.take_input().ok_or_else(no_pipes)?;
        let (stdout, stderr) = running.take_voices();
        let (stdout, stderr) = stdout.zip(stderr).ok_or_else(no_pipes)?;
        let pipe = Arc::new(Pipe {
            input: tokio::sync::Mutex::new(input),
            answers: Mutex::default(),
            broken: Mutex::default(),
            ended: Cancel::new(),
            inbox,
            clock,
            log,
        });
        let noting = Arc::clone(&pipe);
        let (noted, last_words) = oneshot::channel::<()>();
        let note = tokio::spawn(async move {
            if let Some(why) = noting.note_errors(stderr).await {
                noting.break_off(why);
            }
            drop(noted);
        });
        let listening = Arc::clone(&pipe);
        let listen = tokio::spawn(async move {
            let why = listening.listen(stdout, last_words).await;
            listening.break_off(&why);
        });
        let tasks = [Task(listen), Task(note)].into_iter().chain(proxy).collect();
        let running = Mutex::new(Some(running));
        Ok(Self { pipe, next: AtomicU64::new(1), running, _scratch: scratch, _tasks: tasks })
    }

    pub(crate) async fn request(
        &self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Value, PluginError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.pipe.answers().insert(id, sender);
        if let Some(why) = self.pipe.broken() {
            self.pipe.answers().remove(&id);
            return Err(PluginError::Gone(why));
        }
        let message = request(id, method, params);
        let asked = async {
            match self.pipe.write(&message).await {
                Ok(()) => {}
                // A program that has ended reads nothing more, and the reader will notice its end
                // soon.
                Err(PluginError::Gone(why)) => {
                    let _ = self.pipe.clock.within(2 * LAST_WORDS, receiver).await;
                    return Err(PluginError::Gone(self.pipe.broken().unwrap_or(why)));
                }
                Err(error) => return Err(error),
            }
            match receiver.await {
                Ok(result) => result,
                Err(_) => Err(PluginError::Gone(self.pipe.broken().unwrap_or_default())),
            }
        };
        let answer = self.pipe.clock.within(limit, asked).await;
        // An answer that comes later is ignored.
        self.pipe.answers().remove(&id);
        answer.unwrap_or(Err(PluginError::Timeout(limit.as_millis())))
    }

    pub(crate) async fn notify(&self, method: &str, params: &Value) -> Result<(), PluginError> {
        self.pipe.write(&notification(method, params)).await
    }

    /// Answers a request of the program.
    pub(crate) async fn answer(&self, id: &Value, answer: &Value) -> Result<(), PluginError> {
        self.pipe.write(&result(id, answer)).await
    }

    /// Waits until the program has ended or broken a rule, and returns the reason.
    pub(crate) async fn ended(&self) -> String {
        self.pipe.ended.cancelled().await;
        self.pipe.broken().unwrap_or_default()
    }

    /// Ends all processes of the program, even if other code still holds the connection.
    pub(crate) fn end(&self, why: &str) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.pipe.break_off(why);
    }
}

impl Pipe {
    /// Reads until the program ends or breaks a rule, and returns the reason. The other end of
    /// `last_words` closes when the error stream has been read.
    async fn listen(
        &self,
        stdout: impl AsyncRead + Unpin,
        last_words: oneshot::Receiver<()>,
    ) -> String {
        let mut lines = BufReader::new(stdout);
        let (mut line, mut flood) = (Vec::new(), FloodLimit::new(MOST_UNASKED));
        loop {
            match next_line(&mut lines, &mut line, MOST_BYTES).await {
                Ok(Line::Whole) => {}
                Ok(Line::TooLong) => return format!("a message is longer than {MOST_BYTES} bytes"),
                Ok(Line::End) => {
                    // Only the end of the error stream gives the reason. A program that this one
                    // started may keep the stream open, so the wait is limited.
                    let _ = self.clock.within(LAST_WORDS, last_words).await;
                    return "the program ended".to_owned();
                }
                Err(error) => return format!("the program's output cannot be read: {error}"),
            }
            // Some programs print other text where only messages may be. A line that is not a
            // message counts as an unrequested one.
            let message: Option<Value> = serde_json::from_slice(&line).ok();
            let reply = match message.and_then(incoming) {
                Some(Incoming::Response { id, result }) => {
                    // An answer without a request counts like any other unrequested message.
                    if let Some(waiting) = self.answers().remove(&id) {
                        // The caller may be gone.
                        let _ = waiting.send(result);
                        continue;
                    }
                    None
                }
                Some(Incoming::Request { id, method, params }) if method == "message.in" => {
                    // If the inbox is full, the message gets no answer, so the program sends it
                    // again.
                    let _ = self.inbox.try_send(PluginRequest { id, params });
                    None
                }
                Some(Incoming::Request { id, method, .. }) => Some(not_offered(&id, &method)),
                Some(Incoming::Notification) | None => None,
            };
            if flood.is_over(self.clock.now().mono) {
                return "it sends too many unrequested messages".to_owned();
            }
            if let Some(reply) = reply
                && let Err(error) = self.write(&reply).await
            {
                return error.to_string();
            }
        }
    }

    /// Logs the error stream until it ends, and returns the reason if the program must be ended.
    async fn note_errors(&self, stderr: impl AsyncRead + Unpin) -> Option<&'static str> {
        let mut lines = BufReader::new(stderr);
        let (mut line, mut flood) = (Vec::new(), FloodLimit::new(MOST_ERROR_LINES));
        loop {
            match next_line(&mut lines, &mut line, MOST_BYTES).await {
                Ok(Line::Whole) => self.log.add(&String::from_utf8_lossy(&line)),
                Ok(Line::TooLong) => {}
                Ok(Line::End) | Err(_) => return None,
            }
            if flood.is_over(self.clock.now().mono) {
                return Some("it writes too much to its error stream");
            }
        }
    }

    async fn write(&self, message: &Value) -> Result<(), PluginError> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let write = async {
            let mut input = self.input.lock().await;
            input.write_all(&line).await?;
            input.flush().await
        };
        match self.clock.within(WRITE_LIMIT, write).await {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => {
                Err(PluginError::Gone(format!("it no longer reads its input: {error}")))
            }
            None => {
                // The message may be half written, so the program could not understand anything
                // after it.
                self.break_off("it no longer reads its input");
                Err(PluginError::Timeout(WRITE_LIMIT.as_millis()))
            }
        }
    }

    fn break_off(&self, why: &str) {
        let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        if broken.is_some() {
            return;
        }
        *broken = Some(why.to_owned());
        drop(broken);
        self.log.note(why);
        // Waiting calls notice the end because their channels close.
        self.answers().clear();
        self.ended.cancel();
    }

    fn broken(&self) -> Option<String> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
