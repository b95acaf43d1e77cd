//! Runs a command in a folder of its own, from which it sees no person's files.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use onyx_sandbox::{Bounds, CommandInput, SandboxError, SandboxedCommand, Scratch};

use super::{CommandRunner, Ending, Network, OutputBuffer, not_run};
use crate::ToolError;

/// The result of an isolated command. Dropping it deletes the folder.
pub(crate) struct IsolatedCommand {
    pub(crate) folder: Scratch,
    pub(crate) ending: Ending,
    pub(crate) output: String,
}

impl CommandRunner {
    pub(crate) async fn run_alone(
        &self,
        argv: impl FnOnce(&Path) -> Vec<String>,
        network: Network,
        limit: Duration,
    ) -> Result<IsolatedCommand, ToolError> {
        let folder = self.make_scratch().await?;
        let sandboxed = SandboxedCommand {
            argv: argv(folder.path()),
            folder: folder.path().to_owned(),
            readable: Vec::new(),
            writable: vec![folder.path().to_owned()],
            scratch: folder.path().to_owned(),
            network: match network {
                Network::None => onyx_sandbox::Network::None,
                Network::Servers(_) => onyx_sandbox::Network::Proxied,
            },
            input: CommandInput::Given,
            bounds: Bounds::default(),
        };
        let (mut running, _proxy) = self.start_answered(sandboxed, Stdio::null(), network).await?;
        let mut gathered = OutputBuffer::default();
        let work = async {
            while let Some(piece) = running.next_output().await? {
                let _ = gathered.add(&piece);
            }
            running.wait().await
        };
        let ending = match tokio::time::timeout(limit, work).await {
            Ok(Ok(status)) => status.code().map_or(Ending::Killed, Ending::Exited),
            Ok(Err(error)) => return Err(not_run(&SandboxError::Read(error))),
            Err(_) => Ending::TimedOut,
        };
        running.kill();
        Ok(IsolatedCommand { folder, ending, output: gathered.finish() })
    }
}
