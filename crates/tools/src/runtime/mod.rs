//! Runs commands: where they work, how long they may take, and which part of their output is kept.

mod executed;
mod for_jobs;
mod isolated;
mod output;
mod processes;
mod repositories;
#[cfg(test)]
mod tests;
mod workspace;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use onyx_egress::HostPort;
use onyx_sandbox::{
    Bounds, CommandInput, Running, Sandbox, SandboxError, SandboxedCommand, Scratch,
};
use onyx_storage::Area;
use onyx_types::Origin;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use for_jobs::{CommandAccess, CommandEnd, HttpAnswer, JobOutside};

pub(crate) use isolated::IsolatedCommand;
pub(crate) use output::OutputBuffer;
pub(crate) use processes::{ProcessNumber, Processes};
pub(crate) use workspace::{CommandChanges, Steering, Workspace};

use repositories::KnownRepositories;
use workspace::{Authorship, Watch};

use crate::{ToolCx, ToolError, Web};

/// Runs the commands of tools.
#[derive(Clone)]
pub struct CommandRunner {
    sandbox: Sandbox,
    /// The home on this machine's disk.
    home: PathBuf,
    /// The egress client for commands with network access.
    web: Option<Web>,
    vaults: Vaults,
    repositories: Arc<KnownRepositories>,
}

/// Where people's vaults are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vaults {
    /// The vaults are on this machine's disk, under the home.
    Here,
    /// The vaults are in a store that several gateways share: commands work on copies.
    Elsewhere,
}

/// A command that a tool wants to run.
pub(crate) struct CommandRequest<'a> {
    pub(crate) argv: Vec<String>,
    pub(crate) workspace: Arc<Workspace>,
    /// The folder in the vault; `None` is the top of the vault.
    pub(crate) folder: Option<&'a str>,
    pub(crate) access: VaultAccess,
    pub(crate) network: Network,
    /// A folder of Onyx that the command may use in addition to the vault.
    pub(crate) beside: Option<PathBuf>,
    /// The name of the tool that runs the command.
    pub(crate) tool: String,
}

/// The servers that a command may reach. It never gets this machine's own network; it uses a proxy
/// of ours, which resolves names and checks every address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    None,
    /// Exactly these servers, as the plan named them.
    Servers(Vec<HostPort>),
}

/// Whether a command may change files of the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VaultAccess {
    Look,
    /// The command may change files. The values are the origin of its changes, and whether files
    /// that steer agents are put back.
    Change(Origin, Steering),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(i32),
    /// A signal ended the command. The sandbox also ends commands in this way when they exceed its
    /// limits.
    Killed,
    Cancelled,
    TimedOut,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "[exit code {code}]"),
            Self::Killed => f.write_str("[it was killed]"),
            Self::Cancelled => f.write_str("[cancelled; all its processes were ended]"),
            Self::TimedOut => f.write_str("[over its time limit; all its processes were ended]"),
        }
    }
}

pub(crate) struct CommandResult {
    pub(crate) output: String,
    pub(crate) ending: Ending,
    pub(crate) left: CommandChanges,
}

/// A running command with everything that must live as long as it does.
pub(crate) struct RunningCommand {
    pub(crate) running: Running,
    _scratch: Option<Scratch>,
    /// The workspace in which it works.
    workspace: Option<Arc<Workspace>>,
    /// What is needed to examine its changes, if it may change files.
    watch: Option<Watch>,
    /// The proxy of a command with network access, which ends with it.
    _proxy: Option<AbortOnDrop>,
}

impl CommandRunner {
    pub fn new(sandbox: Sandbox, home: PathBuf) -> Self {
        let repositories = Arc::default();
        Self { sandbox, home, web: None, vaults: Vaults::Here, repositories }
    }

    /// Makes commands work on copies, for vaults that are not on this machine's disk.
    #[must_use]
    pub fn with_copies(self) -> Self {
        Self { vaults: Vaults::Elsewhere, ..self }
    }

    /// Removes copies and other folders of commands that a crash left behind.
    pub fn clean(&self) {
        Scratch::clean(&self.scratch_folder());
    }

    /// Adds the egress client. Without it, commands reach no server.
    #[must_use]
    pub fn with_web(self, web: Web) -> Self {
        Self { web: Some(web), ..self }
    }

    /// The `ProxyCommand` of ssh for commands with network access.
    pub(crate) fn proxy_command(&self) -> String {
        self.sandbox.proxy_command()
    }

    /// Whether commands can run here. This starts nothing.
    pub(crate) fn is_likely(&self) -> bool {
        self.sandbox.is_likely()
    }

    /// The workspace for a command in this folder.
    pub(crate) async fn workspace(
        &self,
        folder: Option<&str>,
        cx: &ToolCx,
    ) -> Result<Arc<Workspace>, ToolError> {
        let folder = folder.map(|folder| cx.paths.check(folder)).transpose()?;
        let workspace = match self.vaults {
            Vaults::Here => Workspace::here(self.vault(&cx.key.person), cx).await?,
            Vaults::Elsewhere => {
                Workspace::copied(self.scratch_folder(), folder.as_ref(), cx).await?
            }
        };
        Ok(Arc::new(workspace))
    }

    /// The path of a person's vault on this disk.
    fn vault(&self, person: &onyx_types::PersonId) -> PathBuf {
        self.home.join(Area::Vault(person.clone()).path())
    }

    /// The folder for temporary folders of commands.
    pub(crate) fn scratch_folder(&self) -> PathBuf {
        self.home.join("cache/scratch")
    }

    /// Whether there is a repository at the top of the vault or in one of its folders. If the vault
    /// is in a store the answer is always yes, because finding out would ask the database with
    /// every turn.
    pub(crate) fn has_repository(&self, person: &onyx_types::PersonId) -> bool {
        self.vaults == Vaults::Elsewhere || self.repositories.are_in(&self.vault(person), person)
    }

    pub(crate) async fn start(
        &self,
        order: CommandRequest<'_>,
        stdin: Stdio,
        cx: &ToolCx,
    ) -> Result<RunningCommand, ToolError> {
        self.repositories.forget(&cx.key.person);
        let CommandRequest { argv, workspace, folder, access, network, beside, tool } = order;
        let folder = folder.map(|folder| cx.paths.check(folder)).transpose()?;
        let scratch = self.make_scratch().await?;
        let top = workspace.root().to_owned();
        let root = vec![top.clone()];
        let (readable, changeable, watch) = match access {
            VaultAccess::Look => (root, Vec::new(), None),
            VaultAccess::Change(origin, steering) => {
                let watch = workspace.watch(Authorship { tool, origin, steering }, cx).await?;
                (Vec::new(), root, Some(watch))
            }
        };
        let sandboxed = SandboxedCommand {
            argv,
            folder: folder.map_or(top.clone(), |folder| top.join(folder.as_str())),
            readable,
            writable: [changeable.as_slice(), beside.as_slice(), &[scratch.path().to_owned()]]
                .concat(),
            scratch: scratch.path().to_owned(),
            network: match network {
                Network::None => onyx_sandbox::Network::None,
                Network::Servers(_) => onyx_sandbox::Network::Proxied,
            },
            input: CommandInput::Given,
            bounds: Bounds::default(),
        };
        match self.start_answered(sandboxed, stdin, network).await {
            Ok((running, proxy)) => {
                let (scratch, workspace) = (Some(scratch), Some(workspace));
                Ok(RunningCommand { running, _scratch: scratch, workspace, watch, _proxy: proxy })
            }
            Err(error) => {
                if let Some(watch) = watch {
                    watch.end(cx).await?;
                }
                Err(error)
            }
        }
    }

    async fn make_scratch(&self) -> Result<Scratch, ToolError> {
        let root = self.scratch_folder();
        let made = tokio::task::spawn_blocking(move || Scratch::make(&root)).await;
        made.map_err(|_| ToolError::Failed("the command's folder cannot be made".into()))?
            .map_err(|error| ToolError::Failed(format!("the command's folder: {error}")))
    }

    async fn start_answered(
        &self,
        sandboxed: SandboxedCommand,
        stdin: Stdio,
        network: Network,
    ) -> Result<(Running, Option<AbortOnDrop>), ToolError> {
        let mut running =
            self.sandbox.start(sandboxed, stdin).await.map_err(|error| not_run(&error))?;
        let proxy = self.answer(&mut running, network).await?;
        Ok((running, proxy))
    }

    /// Serves the proxy at the command's port.
    async fn answer(
        &self,
        running: &mut Running,
        network: Network,
    ) -> Result<Option<AbortOnDrop>, ToolError> {
        let Network::Servers(servers) = network else { return Ok(None) };
        let Some(web) = &self.web else {
            return Err(ToolError::Failed("commands have no network access here".to_owned()));
        };
        let Some(listener) = running.take_listener().await else { return Ok(None) };
        let listener = listener.and_then(TcpListener::from_std);
        let listener = listener.map_err(|error| not_run(&SandboxError::Start(error)))?;
        let proxy = web.egress().proxy_to(servers);
        Ok(Some(AbortOnDrop(tokio::spawn(proxy.serve(listener)))))
    }

    /// Runs a command to its end and shows its output meanwhile. The command ends with the run.
    pub(crate) async fn run(
        &self,
        order: CommandRequest<'_>,
        limit: Duration,
        cx: &ToolCx,
    ) -> Result<CommandResult, ToolError> {
        let (at_work, cx) = (self.start(order, Stdio::null(), cx).await?, cx.clone());
        // The command runs in its own task, so that its changes are examined even if the caller
        // goes away.
        let followed = tokio::spawn(async move { at_work.until_end(limit, &cx).await });
        followed.await.map_err(|_| ToolError::Failed("the command could not be followed".into()))?
    }
}

impl RunningCommand {
    /// Starts a program of the owner, which works in no folder of the vault.
    pub(crate) fn trusted(program: &Path, arguments: &[&str]) -> Result<Self, ToolError> {
        let running = onyx_sandbox::trusted(program, arguments).map_err(|error| not_run(&error))?;
        Ok(Self { running, _scratch: None, workspace: None, watch: None, _proxy: None })
    }

    pub(crate) async fn until_end(
        mut self,
        limit: Duration,
        cx: &ToolCx,
    ) -> Result<CommandResult, ToolError> {
        let mut gathered = OutputBuffer::default();
        let ending = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Ending::Cancelled,
            ended = gather(&mut self.running, &mut gathered, cx) => ended?,
            () = cx.clock.sleep(limit) => Ending::TimedOut,
        };
        let left = self.end(cx).await?;
        Ok(CommandResult { output: gathered.finish(), ending, left })
    }

    /// Ends the rest of the command and examines its changes.
    pub(crate) async fn end(&mut self, cx: &ToolCx) -> Result<CommandChanges, ToolError> {
        self.running.kill();
        let (Some(workspace), Some(watch)) = (self.workspace.clone(), self.watch.take()) else {
            return Ok(CommandChanges::default());
        };
        // Processes that were killed may still write until they have ended, so this waits for them.
        let ended = self.running.wait().await;
        ended.map_err(|error| not_run(&SandboxError::Read(error)))?;
        workspace.settle(watch, cx).await
    }
}

/// A task that is aborted when this is dropped.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn gather(
    running: &mut Running,
    gathered: &mut OutputBuffer,
    cx: &ToolCx,
) -> Result<Ending, ToolError> {
    let failed = |error| not_run(&SandboxError::Read(error));
    while let Some(piece) = running.next_output().await.map_err(failed)? {
        cx.live.send(gathered.add(&piece));
    }
    let status = running.wait().await.map_err(failed)?;
    Ok(status.code().map_or(Ending::Killed, Ending::Exited))
}

fn not_run(error: &SandboxError) -> ToolError {
    ToolError::Failed(error.to_string())
}
