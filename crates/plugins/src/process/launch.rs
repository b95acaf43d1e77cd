//! How a plugin's program is started: in the sandbox, with its grants and nothing else.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use onyx_egress::HostPort;
use onyx_mcp::Folders;
use onyx_mcp::program::ProgramLog;
use onyx_sandbox::{Bounds, CommandInput, Network, Sandbox, SandboxedCommand, Scratch};
use onyx_tools::Web;
use onyx_types::Clock;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::connection::{Connection, ConnectionParts, PluginRequest, Task};
use crate::PluginError;

/// The resources that a program may use together with all its processes.
const BOUNDS: Bounds = Bounds {
    processes: 128,
    memory: 512 * 1024 * 1024,
    file_size: 256 * 1024 * 1024,
    disk: 1024 * 1024 * 1024,
    // The limit is very high because the program may run for years.
    cpu_seconds: 4_000_000_000,
};

/// The settings and services that are needed to start programs.
#[derive(Clone)]
pub(crate) struct Launcher {
    pub(crate) sandbox: Sandbox,
    /// The place for folders that exist as long as a program runs.
    pub(crate) scratch: PathBuf,
    pub(crate) web: Web,
    pub(crate) clock: Arc<dyn Clock>,
}

/// A program to be started.
pub(crate) struct LaunchOrder {
    pub(crate) command: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
    /// The folder in which the program starts.
    pub(crate) folder: PathBuf,
    pub(crate) folders: Folders,
    pub(crate) hosts: Vec<HostPort>,
}

impl Launcher {
    /// Starts the program. No message has been sent yet.
    pub(crate) async fn start(
        &self,
        order: LaunchOrder,
        log: ProgramLog,
        inbox: mpsc::Sender<PluginRequest>,
    ) -> Result<Connection, PluginError> {
        let failed = PluginError::NotStarted;
        let root = self.scratch.clone();
        let scratch = tokio::task::spawn_blocking(move || Scratch::make(&root)).await;
        let scratch = scratch.map_err(|error| failed(error.to_string()))?;
        let scratch =
            scratch.map_err(|why| failed(format!("its folder cannot be created: {why}")))?;
        let network = if order.hosts.is_empty() { Network::None } else { Network::Proxied };
        let sandboxed = sandboxed(&order, &scratch, network)?;
        let running = self.sandbox.start(sandboxed, Stdio::piped()).await;
        let mut running = running.map_err(|error| failed(error.to_string()))?;
        let proxy = match running.take_listener().await {
            None => None,
            Some(listener) => {
                let listener = listener.and_then(TcpListener::from_std);
                let listener = listener.map_err(|error| failed(format!("its network: {error}")))?;
                let proxy = self.web.egress().proxy_to(order.hosts);
                Some(Task(tokio::spawn(proxy.serve(listener))))
            }
        };
        let started = ConnectionParts { running, scratch, proxy };
        Connection::over(started, Arc::clone(&self.clock), log, inbox)
    }
}

fn sandboxed(
    order: &LaunchOrder,
    scratch: &Scratch,
    network: Network,
) -> Result<SandboxedCommand, PluginError> {
    let failed = PluginError::NotStarted;
    let real = |paths: &[PathBuf]| {
        let real = |path: &PathBuf| {
            onyx_sandbox::real_path(path)
                .map_err(|error| failed(format!("the folder {}: {error}", path.display())))
        };
        paths.iter().map(real).collect::<Result<Vec<_>, _>>()
    };
    let mut writable = real(&order.folders.write)?;
    writable.push(scratch.path().to_owned());
    // The sandbox clears the environment, so `env` sets the variables before the command.
    let mut argv = vec!["env".to_owned()];
    argv.extend(order.variables.iter().map(|(name, value)| format!("{name}={value}")));
    argv.extend(order.command.iter().cloned());
    if argv.iter().any(|word| word.contains('\0')) {
        return Err(failed("an argument holds a NUL character".to_owned()));
    }
    Ok(SandboxedCommand {
        argv,
        folder: order.folder.clone(),
        readable: real(&order.folders.read)?,
        writable,
        scratch: scratch.path().to_owned(),
        network,
        input: CommandInput::Written,
        bounds: BOUNDS,
    })
}
