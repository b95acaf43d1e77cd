//! The commands and addresses of jobs, which a person accepted with the job.

use std::time::Duration;

use onyx_egress::Address;
use onyx_types::{ErrorCode, Fault, Origin};

use super::{CommandRequest, CommandRunner, Ending, Network, Steering, VaultAccess};
use crate::{ToolCx, ToolError, Web};

/// The most bytes of an answer that are searched.
const ANSWER_BYTES: usize = 1024 * 1024;

/// Runs the commands of jobs in the sandbox and sends their requests through the egress client. A
/// person accepted with the job what is run and reached.
#[derive(Clone, Default)]
pub struct JobOutside {
    runner: Option<CommandRunner>,
    web: Option<Web>,
}

/// Whether a command may change the person's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandAccess {
    Look,
    Change,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandEnd {
    pub succeeded: bool,
    pub output: String,
    /// Why the command failed, as a text for people.
    pub why: Option<String>,
}

/// The answer of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    pub status: u16,
    pub body: String,
}

impl JobOutside {
    pub fn new(runner: CommandRunner, web: Web) -> Self {
        Self { runner: Some(runner), web: Some(web) }
    }

    pub async fn command(
        &self,
        argv: Vec<String>,
        access: CommandAccess,
        limit: Duration,
        cx: &ToolCx,
    ) -> Result<CommandEnd, Fault> {
        let runner = self.runner.as_ref().filter(|runner| runner.is_likely());
        let Some(runner) = runner else {
            let message = "Commands cannot run here: there is no sandbox.";
            return Err(Fault::new(ErrorCode::ToolFailed, message).with_hint("See `onyx doctor`."));
        };
        let access = match access {
            CommandAccess::Look => VaultAccess::Look,
            // No person checks what the command writes, so its changes count as tainted, whatever
            // it read.
            CommandAccess::Change => VaultAccess::Change(Origin::AgentTainted, Steering::Kept),
        };
        let fault = |error: ToolError| Fault::new(ErrorCode::ToolFailed, error.to_string());
        let order = CommandRequest {
            argv,
            workspace: runner.workspace(None, cx).await.map_err(fault)?,
            folder: None,
            access,
            network: Network::None,
            beside: None,
            tool: "job".to_owned(),
        };
        let ran = runner.run(order, limit, cx).await.map_err(fault)?;
        let why = match ran.ending {
            Ending::Exited(0) if ran.left.is_failure() => {
                Some("Some of what the command wrote could not be stored.".to_owned())
            }
            Ending::Exited(0) => None,
            Ending::Exited(code) => Some(format!("The command ended with exit code {code}.")),
            Ending::Killed => Some("The command was killed.".to_owned()),
            Ending::Cancelled => Some("The command was stopped.".to_owned()),
            Ending::TimedOut => {
                Some(format!("The command took longer than {} s.", limit.as_secs()))
            }
        };
        let output = format!("{}{}", ran.output, ran.left.note());
        Ok(CommandEnd { succeeded: why.is_none(), output, why })
    }

    pub async fn get(&self, url: &str) -> Result<HttpAnswer, Fault> {
        let (web, address) = self.way_to(url)?;
        let fetched =
            web.egress().get(&address, "*/*").await.map_err(|error| unreachable(&error))?;
        let body = &fetched.body[..fetched.body.len().min(ANSWER_BYTES)];
        Ok(HttpAnswer { status: fetched.status, body: String::from_utf8_lossy(body).into_owned() })
    }

    /// Posts JSON. The key is the same at each try, so that a receiver can recognise a repeat.
    pub async fn post(&self, url: &str, key: &str, body: Vec<u8>) -> Result<u16, Fault> {
        let (web, address) = self.way_to(url)?;
        let headers = [("idempotency-key", key.to_owned())];
        let sent = web.egress().post(&address, "application/json", &headers, body).await;
        Ok(sent.map_err(|error| unreachable(&error))?.status)
    }

    fn way_to(&self, url: &str) -> Result<(&Web, Address), Fault> {
        let web = self.web.as_ref();
        let web = web.ok_or_else(|| {
            Fault::new(ErrorCode::ToolFailed, "This server has no network access for jobs.")
        })?;
        Ok((web, url.parse().map_err(|error| unreachable(&error))?))
    }

    /// Checks that a text is an address that can be requested.
    pub fn check_address(url: &str) -> Result<(), String> {
        url.parse::<Address>().map(drop).map_err(|error| error.to_string())
    }
}

fn unreachable(error: &onyx_egress::EgressError) -> Fault {
    Fault::new(ErrorCode::ToolFailed, error.to_string())
}
