use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, CallTargetKind, Capability, Origin, PersonId, Plan, ToolEffect, ToolOutcome,
    ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{command_plan, spec_of};
use crate::gate::AuthorisedBy;
use crate::runtime::{
    CommandRequest, CommandResult, CommandRunner, Ending, Network, Steering, VaultAccess,
};
use crate::text::argv::shown;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

const USUAL_SECONDS: u64 = 60;
const MOST_SECONDS: u64 = 600;

pub(super) struct Exec {
    spec: ToolSpec,
    runner: CommandRunner,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Program and arguments, e.g. ["sh","-c","ls | wc -l"]
    #[schemars(length(min = 1))]
    argv: Vec<String>,
    folder: Option<String>,
    /// Default 60
    #[schemars(range(min = 1, max = MOST_SECONDS))]
    seconds: Option<u64>,
}

impl Exec {
    pub(super) fn new(runner: CommandRunner) -> Self {
        let description = "Run a command among the person's files, without network.";
        let spec = spec_of::<Arguments>("exec", "runtime", ToolEffect::Execute, description);
        let timeout = Duration::from_secs(MOST_SECONDS + 30);
        let needs = vec![Capability::Commands];
        Self { spec: ToolSpec { timeout, needs, ..spec }, runner }
    }
}

#[async_trait]
impl TypedTool for Exec {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, _: &PersonId) -> Result<(), String> {
        if self.runner.is_likely() { Ok(()) } else { Err(String::new()) }
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let line = shown(arguments.get("argv"));
        let verb = Verb::new("run", "running", "ran");
        verb.of(line.as_str()).about(CallTargetKind::Command, line)
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let Arguments { argv, folder, .. } = arguments;
        let plan = command_plan(&self.spec, argv, folder.as_deref(), cx)?;
        self.runner.with_executed(plan, argv, folder.as_deref(), cx).await
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let (access, by) = (changing(&plan), plan.by());
        let plan = plan.into_inner();
        let Arguments { argv, folder, seconds } = arguments;
        let workspace = self.runner.workspace(folder.as_deref(), cx).await?;
        // The person approved the files as they were then, so they are compared.
        if by == AuthorisedBy::Person {
            workspace.still_executes(&plan, &argv, folder.as_deref(), cx).await?;
        }
        let order = CommandRequest {
            argv,
            workspace,
            folder: folder.as_deref(),
            access,
            network: Network::None,
            beside: None,
            tool: plan.tool.to_string(),
        };
        let limit = Duration::from_secs(seconds.unwrap_or(USUAL_SECONDS));
        let ran = self.runner.run(order, limit, cx).await?;
        Ok(outcome(&ran, plan.summary))
    }
}

/// What a command may do to the vault. It can copy anything into the files it writes, so a command
/// that only a standing rule allowed must not change files that agents or the person's programs
/// obey.
pub(super) fn changing(plan: &Authorised<Plan>) -> VaultAccess {
    let steering = match plan.by() {
        AuthorisedBy::Gate => Steering::Kept,
        AuthorisedBy::Person => Steering::Free,
    };
    VaultAccess::Change(Origin::AgentTainted, steering)
}

/// The output of a command and how it ended, for a model.
pub(super) fn outcome(ran: &CommandResult, summary: String) -> ToolOutcome {
    let note = match ran.ending {
        Ending::Exited(0) => String::new(),
        ending => ending.to_string(),
    };
    let is_error = ran.ending != Ending::Exited(0) || ran.left.is_failure();
    let printed = ran.output.trim_end();
    let output = match (printed.is_empty(), note.is_empty()) {
        (true, true) => "[no output]".to_owned(),
        (true, false) => note,
        (false, true) => printed.to_owned(),
        (false, false) => format!("{printed}\n{note}"),
    };
    let output = output + &ran.left.note();
    let proposes = ran.left.proposes.clone();
    let outcome = ToolOutcome { is_error, proposes, ..ToolOutcome::ok(output, summary) };
    outcome.from_origin(Origin::External)
}
