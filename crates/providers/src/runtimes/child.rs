//! Another program as a child process: a short environment, a process group of its own, and one
//! JSON object a line in both directions. Dropping the child ends the whole group.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};

use super::exec::ChildWrapper;

/// A line may hold a picture; one that is longer than this is no message.
const LONGEST_LINE: usize = 32 * 1024 * 1024;
/// How much of the error stream's end is kept for people.
const KEPT_ERRORS: usize = 4 * 1024;
/// How many lines may wait to be written to the program.
const LINES_OUT: usize = 64;

/// How a program is started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// All environment variables that the program sees.
    pub(crate) environment: Vec<(String, OsString)>,
    pub(crate) folder: PathBuf,
    pub(crate) wrapper: Option<ChildWrapper>,
}

#[derive(Debug)]
pub(crate) struct Child {
    process: tokio::process::Child,
    lines: BufReader<ChildStdout>,
    line: Vec<u8>,
    outgoing: mpsc::Sender<Vec<u8>>,
    errors: Arc<Mutex<Vec<u8>>>,
    /// The task that reads the error stream; it ends with the stream.
    listening: tokio::task::JoinHandle<()>,
}

/// Why no further line comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoMoreLines {
    /// How the process ended, and the last text on its error stream.
    Ended {
        how: String,
        stderr: String,
    },
    TooLong,
}

impl Child {
    pub(crate) async fn start(launch: &Launch, spawner: &Spawner) -> std::io::Result<Self> {
        let mut process = spawner.spawn(command(launch)).await?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(std::io::Error::other("the process has no pipes"));
        };
        let (outgoing, lines_out) = mpsc::channel(LINES_OUT);
        tokio::spawn(write_lines(stdin, lines_out));
        let errors = Arc::<Mutex<Vec<u8>>>::default();
        let listening = tokio::spawn(keep_errors(stderr, Arc::clone(&errors)));
        let lines = BufReader::new(stdout);
        Ok(Self { process, lines, line: Vec::new(), outgoing, errors, listening })
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Writes a line. If the process has ended, this is not reported here, but by the next read.
    pub(crate) async fn send(&self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let _ = self.outgoing.send(line).await;
    }

    /// The next line that is JSON; other lines are output that programs print beside their
    /// messages. The future may be dropped and called again: a partly read line is kept.
    pub(crate) async fn next(&mut self) -> Result<Value, NoMoreLines> {
        loop {
            let room = (LONGEST_LINE + 1).saturating_sub(self.line.len()) as u64;
            let read = (&mut self.lines).take(room).read_until(b'\n', &mut self.line).await;
            if self.line.len() > LONGEST_LINE {
                return Err(NoMoreLines::TooLong);
            }
            if !self.line.ends_with(b"\n") && !matches!(read, Ok(1..)) {
                return Err(self.ended().await);
            }
            if !self.line.ends_with(b"\n") {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            match serde_json::from_slice(&line) {
                Ok(message @ Value::Object(_)) => return Ok(message),
                Ok(_) | Err(_) => tracing::debug!(
                    bytes = line.len(),
                    "a program wrote a line that is not a message"
                ),
            }
        }
    }

    async fn ended(&mut self) -> NoMoreLines {
        // The program closed its output, so it is ending or can no longer be used.
        let grace = std::time::Duration::from_millis(500);
        let how = match tokio::time::timeout(grace, self.process.wait()).await {
            Ok(Ok(status)) => how_it_ended(status),
            Ok(Err(error)) => format!("was lost: {error}"),
            Err(_) => "closed its output".to_owned(),
        };
        // The last lines of the error stream may not have been read yet.
        let _ = tokio::time::timeout(grace, &mut self.listening).await;
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        NoMoreLines::Ended { how, stderr: String::from_utf8_lossy(&errors).trim().to_owned() }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.process.id().and_then(|id| i32::try_from(id).ok())
            && let Some(group) = rustix::process::Pid::from_raw(group)
        {
            // Everything that the program started ends with it. The group may be gone already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

fn command(launch: &Launch) -> Command {
    let mut command = match &launch.wrapper {
        Some(wrapper) => {
            let mut command = Command::new(&wrapper.program);
            command.args(&wrapper.arguments).arg(std::process::id().to_string());
            command.arg(&launch.program);
            command
        }
        None => Command::new(&launch.program),
    };
    command
        .args(&launch.arguments)
        .env_clear()
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command
}

fn how_it_ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, code) => format!("ended with exit code {}", code.unwrap_or_default()),
    }
}

async fn write_lines(mut stdin: ChildStdin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn keep_errors(mut stderr: ChildStderr, kept: Arc<Mutex<Vec<u8>>>) {
    let mut piece = [0; 1024];
    while let Ok(read @ 1..) = stderr.read(&mut piece).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&piece[..read]);
        let surplus = kept.len().saturating_sub(KEPT_ERRORS);
        kept.drain(..surplus);
    }
}

/// The thread that children are started by. The kernel ends a wrapped child when the *thread* that
/// started it ends, and threads of a runtime may end long before the process does.
#[derive(Debug)]
pub(crate) struct Spawner(std::sync::OnceLock<mpsc::Sender<SpawnRequest>>);

struct SpawnRequest {
    command: Command,
    runtime: tokio::runtime::Handle,
    done: oneshot::Sender<std::io::Result<tokio::process::Child>>,
}

impl Spawner {
    pub(crate) const fn new() -> Self {
        Self(std::sync::OnceLock::new())
    }

    async fn spawn(&self, command: Command) -> std::io::Result<tokio::process::Child> {
        let gone = || std::io::Error::other("the thread that starts programs is gone");
        let (done, spawned) = oneshot::channel();
        let request = SpawnRequest { command, runtime: tokio::runtime::Handle::current(), done };
        self.0.get_or_init(start_thread).send(request).await.map_err(|_| gone())?;
        spawned.await.map_err(|_| gone())?
    }
}

fn start_thread() -> mpsc::Sender<SpawnRequest> {
    let (sender, mut requests) = mpsc::channel::<SpawnRequest>(8);
    let work = move || {
        while let Some(SpawnRequest { mut command, runtime, done }) = requests.blocking_recv() {
            let _entered = runtime.enter();
            // The caller may be gone; the child is then dropped with the answer.
            let _ = done.send(command.spawn());
        }
    };
    // Without the thread the channel is closed, so senders get an error.
    let started = std::thread::Builder::new().name("runtimes".to_owned()).spawn(work);
    if let Err(error) = started {
        tracing::error!(%error, "the thread that starts programs cannot be started");
    }
    sender
}
