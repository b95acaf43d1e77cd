//! Commands: where they run, how long, and what of their output is kept.

mod aftermath;
mod alone;
mod executed;
mod for_jobs;
mod output;
mod processes;
mod repositories;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use onyx_egress::HostPort;
use onyx_sandbox::{Bounds, Input, Job, Running, Sandbox, SandboxError, Scratch};
use onyx_storage::{Area, OpenCommand, note_changed};
use onyx_types::Origin;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use for_jobs::{CommandAccess, CommandEnd, HttpAnswer, JobOutside};

pub(crate) use aftermath::{Left, Steering};
pub(crate) use alone::Alone;
pub(crate) use output::Gathered;
pub(crate) use processes::{Processes, Started};

use aftermath::Aftermath;
use repositories::KnownRepositories;

use crate::{ToolCx, ToolError, Web};

const NO_VAULT_HERE: &str =
    "commands need the files on this machine's disk; several gateways keep them in a database";

/// Where commands run.
#[derive(Clone)]
pub struct Runtime {
    sandbox: Sandbox,
    /// The home on this machine's disk: a vault elsewhere cannot be worked in.
    home: PathBuf,
    /// The way out for commands that may reach something.
    web: Option<Web>,
    vaults: Vaults,
    repositories: Arc<KnownRepositories>,
}

/// Where people's files lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vaults {
    Here,
    /// In a store that several gateways share: no command can work there.
    Elsewhere,
}

/// A command as a tool asks for it.
pub(crate) struct Order<'a> {
    pub(crate) argv: Vec<String>,
    /// In the vault; none is the vault itself.
    pub(crate) folder: Option<&'a str>,
    pub(crate) access: Access,
    pub(crate) network: Network,
    /// A folder of ours that it may use beside the vault.
    pub(crate) beside: Option<PathBuf>,
    /// Of the tool that asks.
    pub(crate) tool: String,
}

/// Whom a command may reach. Never this machine's own network: what it may reach it reaches through
/// a proxy of ours, which looks names up and checks every address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    None,
    /// Exactly these servers, as the plan named them.
    Servers(Vec<HostPort>),
}

/// What a command may do to the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Look,
    /// Whose work the files are that it writes, and whether those that steer agents stay.
    Change(Origin, Steering),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(i32),
    /// By a signal, which is also what the sandbox's bounds do.
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

pub(crate) struct Ran {
    pub(crate) output: String,
    pub(crate) ending: Ending,
    pub(crate) left: Left,
}

/// A command at work with the folder that goes with it.
pub(crate) struct AtWork {
    pub(crate) running: Running,
    _scratch: Option<Scratch>,
    watch: Option<Watch>,
    /// What answers it, if it may reach something; ends with it.
    _proxy: Option<AbortOnDrop>,
}

/// What is looked at again when the command has ended.
struct Watch {
    /// `None`: the vault holds too many files.
    aftermath: Option<Aftermath>,
    /// Until it is told of, whatever changes in the vault may be the command's work.
    open: OpenCommand,
    tool: String,
    origin: Origin,
}

impl Runtime {
    pub fn new(sandbox: Sandbox, home: PathBuf) -> Self {
        let repositories = Arc::default();
        Self { sandbox, home, web: None, vaults: Vaults::Here, repositories }
    }

    /// Where no vault lies on this machine's disk, no command runs.
    #[must_use]
    pub fn without_vaults(self) -> Self {
        Self { vaults: Vaults::Elsewhere, ..self }
    }

    /// With a way out for commands that may reach something. Without one they reach nothing.
    #[must_use]
    pub fn with_web(self, web: Web) -> Self {
        Self { web: Some(web), ..self }
    }

    /// What ssh takes as its `ProxyCommand` where a command may reach something.
    pub(crate) fn proxy_command(&self) -> String {
        self.sandbox.proxy_command()
    }

    /// May a command run here? Starts nothing.
    pub(crate) fn is_likely(&self) -> bool {
        self.vaults == Vaults::Here && self.sandbox.is_likely()
    }

    /// Where a person's vault lies on this disk.
    pub(crate) fn vault(&self, person: &onyx_types::PersonId) -> PathBuf {
        self.home.join(Area::Vault(person.clone()).path())
    }

    /// Where folders are made that last as long as a command.
    pub(crate) fn scratch_folder(&self) -> PathBuf {
        self.home.join("cache/scratch")
    }

    /// Is there a repository at the top of the vault or in one of its folders?
    pub(crate) fn has_repository(&self, person: &onyx_types::PersonId) -> bool {
        self.repositories.are_in(&self.vault(person), person)
    }

    pub(crate) async fn start(
        &self,
        order: Order<'_>,
        stdin: Stdio,
        cx: &ToolCx,
    ) -> Result<AtWork, ToolError> {
        if self.vaults == Vaults::Elsewhere {
            return Err(ToolError::Failed(NO_VAULT_HERE.to_owned()));
        }
        self.repositories.forget(&cx.key.person);
        // Makes the vault if this is the first that happens in it.
        cx.files.objects(&Area::Vault(cx.key.person.clone()))?;
        let folder = order.folder.map(|folder| cx.paths.check(folder)).transpose()?;
        let (vault, root) = (self.vault(&cx.key.person), self.scratch_folder());
        let prepared = tokio::task::spawn_blocking(move || prepare(&vault, &root)).await;
        let (vault, scratch) = prepared
            .map_err(|_| ToolError::Failed("the command's folders cannot be made".into()))?
            .map_err(|error| ToolError::Failed(format!("the command's folders: {error}")))?;
        let vaults = std::slice::from_ref(&vault);
        let (readable, changeable): (&[PathBuf], &[PathBuf]) = match order.access {
            Access::Look => (vaults, &[]),
            Access::Change(..) => (&[], vaults),
        };
        let watch = match order.access {
            Access::Look => None,
            Access::Change(origin, steering) => {
                let aftermath = Aftermath::before(vault.clone(), steering, cx).await?;
                let owner = Area::Person(cx.key.person.clone()).path();
                let open = cx.files.origins().begin_command(&owner).await?;
                Some(Watch { aftermath, open, tool: order.tool, origin })
            }
        };
        let job = Job {
            argv: order.argv,
            folder: folder.map_or_else(|| vault.clone(), |folder| vault.join(folder.as_str())),
            readable: readable.to_vec(),
            writable: [changeable, order.beside.as_slice(), &[scratch.path().to_owned()]].concat(),
            scratch: scratch.path().to_owned(),
            network: match order.network {
                Network::None => onyx_sandbox::Network::None,
                Network::Servers(_) => onyx_sandbox::Network::Proxied,
            },
            input: Input::Given,
            bounds: Bounds::default(),
        };
        match self.start_answered(job, stdin, order.network).await {
            Ok((running, proxy)) => {
                Ok(AtWork { running, _scratch: Some(scratch), watch, _proxy: proxy })
            }
            Err(error) => {
                if let Some(Watch { open, .. }) = watch {
                    cx.files.origins().end_command(open.id).await?;
                }
                Err(error)
            }
        }
    }

    async fn start_answered(
        &self,
        job: Job,
        stdin: Stdio,
        network: Network,
    ) -> Result<(Running, Option<AbortOnDrop>), ToolError> {
        let mut running = self.sandbox.start(job, stdin).await.map_err(|error| not_run(&error))?;
        let proxy = self.answer(&mut running, network).await?;
        Ok((running, proxy))
    }

    /// Answers what a command says on its one port.
    async fn answer(
        &self,
        running: &mut Running,
        network: Network,
    ) -> Result<Option<AbortOnDrop>, ToolError> {
        let Network::Servers(servers) = network else { return Ok(None) };
        let Some(web) = &self.web else {
            return Err(ToolError::Failed("commands have no way out here".to_owned()));
        };
        let Some(listener) = running.take_listener().await else { return Ok(None) };
        let listener = listener.and_then(TcpListener::from_std);
        let listener = listener.map_err(|error| not_run(&SandboxError::Start(error)))?;
        let proxy = web.egress().proxy_to(servers);
        Ok(Some(AbortOnDrop(tokio::spawn(proxy.serve(listener)))))
    }

    /// Runs a command to its end, shows what it says meanwhile, and ends it with the run.
    pub(crate) async fn run(
        &self,
        order: Order<'_>,
        limit: Duration,
        cx: &ToolCx,
    ) -> Result<Ran, ToolError> {
        let (at_work, cx) = (self.start(order, Stdio::null(), cx).await?, cx.clone());
        // A task of its own: a caller that goes away must not keep anybody from looking at what the command did.
        let followed = tokio::spawn(async move { at_work.until_end(limit, &cx).await });
        followed.await.map_err(|_| ToolError::Failed("the command could not be followed".into()))?
    }
}

impl AtWork {
    /// A program of the owner's, which needs no folder.
    pub(crate) fn trusted(program: &Path, arguments: &[&str]) -> Result<Self, ToolError> {
        let running = onyx_sandbox::trusted(program, arguments).map_err(|error| not_run(&error))?;
        Ok(Self { running, _scratch: None, watch: None, _proxy: None })
    }

    pub(crate) async fn until_end(
        mut self,
        limit: Duration,
        cx: &ToolCx,
    ) -> Result<Ran, ToolError> {
        let mut gathered = Gathered::default();
        let ending = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Ending::Cancelled,
            ended = gather(&mut self.running, &mut gathered, cx) => ended?,
            () = cx.clock.sleep(limit) => Ending::TimedOut,
        };
        let left = self.end(cx).await?;
        Ok(Ran { output: gathered.finish(), ending, left })
    }

    /// Ends what is left of it and looks at what it did.
    pub(crate) async fn end(&mut self, cx: &ToolCx) -> Result<Left, ToolError> {
        self.running.kill();
        match self.watch.take() {
            None => Ok(Left::default()),
            Some(Watch { aftermath, open, tool, origin }) => {
                // What was killed may write until it is gone.
                let ended = self.running.wait().await;
                ended.map_err(|error| not_run(&SandboxError::Read(error)))?;
                let left = match aftermath {
                    Some(aftermath) => aftermath.settle(&tool, origin, cx).await?,
                    None => None,
                };
                if left.is_none() {
                    let area = Area::Person(cx.key.person.clone());
                    note_changed(&*cx.files, &area, open.started_at, origin).await?;
                }
                // Where anything above failed it stays open, and what changes meanwhile is nobody's.
                cx.files.origins().end_command(open.id).await?;
                Ok(left.unwrap_or_else(Left::unwatched))
            }
        }
    }
}

/// A task that ends with whoever holds this.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn gather(
    running: &mut Running,
    gathered: &mut Gathered,
    cx: &ToolCx,
) -> Result<Ending, ToolError> {
    let failed = |error| not_run(&SandboxError::Read(error));
    while let Some(piece) = running.next_output().await.map_err(failed)? {
        cx.live.send(gathered.add(&piece));
    }
    let status = running.wait().await.map_err(failed)?;
    Ok(status.code().map_or(Ending::Killed, Ending::Exited))
}

fn prepare(vault: &Path, root: &Path) -> std::io::Result<(PathBuf, Scratch)> {
    Ok((onyx_sandbox::real_path(vault)?, Scratch::make(root)?))
}

fn not_run(error: &SandboxError) -> ToolError {
    ToolError::Failed(error.to_string())
}
