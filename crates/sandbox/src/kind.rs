use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use crate::bubblewrap;
use crate::child::{CONNECT, confine};
use crate::sandboxed_command::ChildInstructions;
use crate::{Bounds, CommandInput, Network, Running, SandboxError, SandboxedCommand};

/// How long the smallest command may take before a kind of sandbox counts as broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// A way to confine a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SandboxKind {
    Bubblewrap,
    Landlock,
}

/// How to start the child: a program that calls [`crate::child`] with the arguments after these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<String>,
}

/// Why no command can run on this machine, and how to fix that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "commands cannot be run safely on this machine: bubblewrap: {bubblewrap}; Landlock: {landlock}. \
     Install the package `bubblewrap`, or a kernel of 6.12 or newer with Landlock"
)]
pub struct NoSandbox {
    pub bubblewrap: String,
    pub landlock: String,
}

/// Runs commands with the best kind of sandbox that works. Cheap to clone; clones share the result
/// of the check.
#[derive(Clone, Debug)]
pub struct Sandbox {
    program: Program,
    kind: Arc<OnceCell<SandboxKind>>,
    /// Set once a kind was found that may work, so that it is not looked up at every run.
    likely: Arc<OnceLock<()>>,
}

impl Sandbox {
    /// A sandbox whose first command finds out which kind works.
    pub fn new(program: Program) -> Self {
        Self { program, kind: Arc::default(), likely: Arc::default() }
    }

    /// Uses only this kind; if it does not work, no command runs.
    pub fn on(kind: SandboxKind, program: Program) -> Self {
        let kind = Arc::new(OnceCell::new_with(Some(kind)));
        Self { program, kind, likely: Arc::default() }
    }

    /// Whether a kind may work. Starts nothing.
    pub fn is_likely(&self) -> bool {
        if self.kind.initialized() || self.likely.get().is_some() {
            return true;
        }
        let likely = bubblewrap::program().is_some() || confine::is_supported();
        if likely {
            self.likely.get_or_init(|| ());
        }
        likely
    }

    /// The best kind of sandbox in which a command ran successfully.
    pub async fn kind(&self) -> Result<SandboxKind, NoSandbox> {
        self.kind.get_or_try_init(|| self.find()).await.copied()
    }

    /// The `ProxyCommand` for ssh in a command with a proxied network.
    pub fn proxy_command(&self) -> String {
        let arguments = self.program.arguments.iter().map(String::as_str);
        let words = [bubblewrap::CHILD].into_iter().chain(arguments);
        words.chain([CONNECT, "%h", "%p"]).collect::<Vec<_>>().join(" ")
    }

    /// Starts a command. Its processes end when the returned value is dropped. A command with a
    /// proxied network gets no input.
    pub async fn start(
        &self,
        sandboxed: SandboxedCommand,
        stdin: Stdio,
    ) -> Result<Running, SandboxError> {
        let kind = self.kind().await?;
        if sandboxed.network == Network::Proxied && kind != SandboxKind::Bubblewrap {
            return Err(SandboxError::NoNetwork);
        }
        Running::start(&self.instructions(kind, sandboxed), stdin)
    }

    async fn find(&self) -> Result<SandboxKind, NoSandbox> {
        let bubblewrap = match self.try_kind(SandboxKind::Bubblewrap).await {
            Ok(()) => return Ok(SandboxKind::Bubblewrap),
            Err(why) => why,
        };
        match self.try_kind(SandboxKind::Landlock).await {
            Ok(()) => Ok(SandboxKind::Landlock),
            Err(landlock) => Err(NoSandbox { bubblewrap, landlock }),
        }
    }

    /// Runs the smallest command in this kind of sandbox.
    async fn try_kind(&self, kind: SandboxKind) -> Result<(), String> {
        match kind {
            SandboxKind::Bubblewrap if bubblewrap::program().is_none() => {
                return Err("it is not installed".to_owned());
            }
            SandboxKind::Landlock if !confine::is_supported() => {
                return Err("this kernel has none, or an old one".to_owned());
            }
            SandboxKind::Bubblewrap | SandboxKind::Landlock => {}
        }
        // The command writes nothing, so any folder that always exists is good enough.
        let folder = Path::new("/usr").to_owned();
        let sandboxed = SandboxedCommand {
            argv: vec!["true".to_owned()],
            folder: folder.clone(),
            readable: Vec::new(),
            writable: Vec::new(),
            scratch: folder,
            network: Network::None,
            input: CommandInput::Given,
            bounds: Bounds::default(),
        };
        let running = Running::start(&self.instructions(kind, sandboxed), Stdio::null());
        let running = running.map_err(|error| error.to_string())?;
        match tokio::time::timeout(PATIENCE, running.finish()).await {
            Ok(Ok((status, _))) if status.success() => Ok(()),
            Ok(Ok((status, output))) => {
                let words = String::from_utf8_lossy(&output);
                Err(format!("{status}: {}", words.trim()))
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("the smallest command takes over {} s", PATIENCE.as_secs())),
        }
    }

    fn instructions(&self, kind: SandboxKind, sandboxed: SandboxedCommand) -> ChildInstructions {
        let parent = rustix::process::getpid().as_raw_nonzero().get();
        ChildInstructions { kind, sandboxed, parent, program: self.program.clone() }
    }
}
