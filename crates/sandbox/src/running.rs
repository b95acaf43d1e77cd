use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::child::SUPERVISE;
use crate::sandboxed_command::ChildInstructions;
use crate::{CommandInput, Network, NoSandbox, proxied};

const CHUNK: usize = 8 * 1024;

/// How long a child may take until it listens.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(transparent)]
    NoSandbox(#[from] NoSandbox),
    /// Without namespaces, a command with a network would have all of this machine's.
    #[error(
        "commands have no network on this machine: only bubblewrap gives them one of their own. \
         Install the package `bubblewrap`, or allow user namespaces"
    )]
    NoNetwork,
    #[error("the command cannot be started: {0}")]
    Start(io::Error),
    #[error("what the command said cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// A running command. Dropping it ends all of its processes.
#[derive(Debug)]
pub struct Running {
    child: Child,
    group: Option<Pid>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// The socket through which a command with a proxied network sends its listener.
    handed: Option<UnixStream>,
    input: CommandInput,
}

impl Running {
    #[allow(clippy::disallowed_methods, reason = "the one place where commands are started")]
    pub(crate) fn start(
        instructions: &ChildInstructions,
        stdin: Stdio,
    ) -> Result<Self, SandboxError> {
        let json = serde_json::to_string(instructions).map_err(io::Error::other);
        let (stdin, handed) = match instructions.sandboxed.network {
            Network::None => (stdin, None),
            Network::Proxied => {
                let (ours, theirs) = UnixStream::pair().map_err(SandboxError::Start)?;
                let theirs = theirs.into_std().map_err(SandboxError::Start)?;
                theirs.set_nonblocking(false).map_err(SandboxError::Start)?;
                (Stdio::from(OwnedFd::from(theirs)), Some(ours))
            }
        };
        let child = Command::new(&instructions.program.path)
            .args(&instructions.program.arguments)
            .args([SUPERVISE, &json.map_err(SandboxError::Start)?])
            .env_clear()
            .current_dir("/")
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(SandboxError::Start)?;
        let mut running = Self::of(child);
        running.handed = handed;
        running.input = instructions.sandboxed.input;
        Ok(running)
    }

    fn of(mut child: Child) -> Self {
        // The child leads a group or makes itself the leader of one, so its id is the group's id.
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Self { child, group, stdout, stderr, handed: None, input: CommandInput::Given }
    }

    /// The listener of a command with a proxied network, available once: its owner answers the
    /// command's connections. `None` for any other command.
    pub async fn take_listener(&mut self) -> Option<io::Result<TcpListener>> {
        let handed = self.handed.as_ref()?;
        let taken = match tokio::time::timeout(PATIENCE, proxied::take(handed)).await {
            Ok(taken) => taken,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        if self.input == CommandInput::Given {
            self.handed = None;
        }
        Some(taken)
    }

    /// The writer for a command's input, available once; if the network is proxied, only after the
    /// listener was taken.
    pub fn take_input(&mut self) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
        if let Some(handed) = self.handed.take() {
            return Some(Box::new(handed));
        }
        let stdin = self.child.stdin.take()?;
        Some(Box::new(stdin))
    }

    /// The two output streams, available once, for reading them separately.
    /// [`Running::next_output`] then returns nothing.
    pub fn take_voices(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.stdout.take(), self.stderr.take())
    }

    /// The writer for the command's stdin, available once, if it was started with one.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The next piece of the command's output, from both streams; `None` when both have ended.
    pub async fn next_output(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let Self { stdout, stderr, .. } = self;
            let (is_out, piece) = tokio::select! {
                piece = read(stdout), if stdout.is_some() => (true, piece?),
                piece = read(stderr), if stderr.is_some() => (false, piece?),
                else => return Ok(None),
            };
            match (piece, is_out) {
                (Some(piece), _) => return Ok(Some(piece)),
                (None, true) => self.stdout = None,
                (None, false) => self.stderr = None,
            }
        }
    }

    /// Waits for the command, then ends its leftover processes.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.kill();
        Ok(status)
    }

    /// Ends all processes of the command now.
    pub fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            // The group may be gone or may not exist yet; the child itself is killed below in any
            // case.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.start_kill();
    }

    /// The exit status and the whole output; for commands that write little.
    pub(crate) async fn finish(mut self) -> io::Result<(ExitStatus, Vec<u8>)> {
        let mut output = Vec::new();
        while let Some(piece) = self.next_output().await? {
            output.extend(piece);
        }
        Ok((self.wait().await?, output))
    }
}

/// Starts a program of the owner outside of any sandbox, with a clean environment. Onyx must choose
/// the program and its options; a checked value from a model may be among the arguments.
#[allow(clippy::disallowed_methods, reason = "the one place where commands are started")]
pub fn trusted(program: &Path, arguments: &[&str]) -> Result<Running, SandboxError> {
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(SandboxError::Start)?;
    Ok(Running::of(child))
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn read(from: &mut Option<impl AsyncRead + Unpin>) -> io::Result<Option<Vec<u8>>> {
    let Some(from) = from else { return Ok(None) };
    let mut piece = Vec::with_capacity(CHUNK);
    let count = from.read_buf(&mut piece).await?;
    Ok((count > 0).then_some(piece))
}
