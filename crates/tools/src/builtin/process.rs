use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, CallTargetKind, Capability, Consent, Origin, PersonId, Plan, Preview, Taint, Target,
    ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::exec::changing;
use super::{acting, command_plan, reading, spec_of, text_argument};
use crate::gate::AuthorisedBy;
use crate::runtime::{CommandRequest, CommandRunner, Network, ProcessNumber, Processes};
use crate::text::argv::shown;
use crate::{Authorised, ToolCx, ToolError, TypedTool};

const MOST_SECONDS: u64 = 60;
const USUAL_SECONDS: u64 = 5;

pub(super) struct Process {
    spec: ToolSpec,
    runner: CommandRunner,
    processes: Processes,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    action: Action,
    /// start: program and arguments
    argv: Option<Vec<String>>,
    folder: Option<String>,
    /// poll, write, kill
    id: Option<u64>,
    /// write: for its input
    text: Option<String>,
    /// poll: wait so long for news
    #[schemars(range(max = MOST_SECONDS))]
    seconds: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Start,
    Poll,
    Write,
    Kill,
}

/// What a call asks for, with the arguments that this needs.
enum ProcessRequest<'a> {
    Start(&'a [String], Option<&'a str>),
    Poll(u64, Duration),
    Write(u64, &'a str),
    Kill(u64),
}

impl Process {
    pub(super) fn new(runner: CommandRunner) -> Self {
        let description = "A command that goes on between calls: start, poll, write, kill.";
        let spec = spec_of::<Arguments>("process", "runtime", ToolEffect::Execute, description);
        let timeout = Duration::from_secs(MOST_SECONDS + 30);
        let spec = ToolSpec { timeout, repeats: true, needs: vec![Capability::Commands], ..spec };
        Self { spec, runner, processes: Processes::default() }
    }
}

impl Arguments {
    fn request(&self) -> Result<ProcessRequest<'_>, ToolError> {
        let missing = |what: &str| ToolError::Arguments(format!("this action needs \"{what}\""));
        let id = self.id.ok_or_else(|| missing("id"));
        Ok(match self.action {
            Action::Start => {
                let argv = self.argv.as_deref().filter(|argv| !argv.is_empty());
                ProcessRequest::Start(argv.ok_or_else(|| missing("argv"))?, self.folder.as_deref())
            }
            Action::Poll => {
                let seconds = self.seconds.unwrap_or(USUAL_SECONDS);
                ProcessRequest::Poll(id?, Duration::from_secs(seconds))
            }
            Action::Write => {
                ProcessRequest::Write(id?, self.text.as_deref().ok_or_else(|| missing("text"))?)
            }
            Action::Kill => ProcessRequest::Kill(id?),
        })
    }
}

#[async_trait]
impl TypedTool for Process {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, _: &PersonId) -> Result<(), String> {
        if self.runner.is_likely() { Ok(()) } else { Err(String::new()) }
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let id = || arguments.get("id").and_then(Value::as_u64).unwrap_or_default();
        let process = || format!("process {}", id());
        match text_argument(arguments, "action") {
            "start" => {
                let line = shown(arguments.get("argv"));
                let label = Verb::new("start", "starting", "started").of(line.as_str());
                label.about(CallTargetKind::Command, line)
            }
            "poll" => Verb::new("look at", "looking at", "looked at").of(process()),
            "write" => Verb::new("write to", "writing to", "wrote to").of(process()),
            _ => Verb::new("stop", "stopping", "stopped").of(process()),
        }
    }

    async fn plan(&self, arguments: &Arguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        match arguments.request()? {
            ProcessRequest::Start(argv, folder) => {
                let plan = command_plan(&self.spec, argv, folder, cx)?;
                let plan = self.runner.with_executed(plan, argv, folder, cx).await?;
                // The process keeps running while other calls change its files, so a tainted run
                // needs a person's approval even if a standing rule matches.
                let consent = match cx.taint {
                    Taint::Clean => plan.consent,
                    Taint::Tainted => Consent::Person,
                };
                Ok(Plan { summary: String::new(), consent, ..plan })
            }
            // A session can poll and kill only the processes that it started.
            ProcessRequest::Poll(id, _) | ProcessRequest::Kill(id) => {
                Ok(reading(&self.spec, Target::Process(id)))
            }
            ProcessRequest::Write(id, text) => {
                let (target, preview) =
                    (Target::Process(id), Preview::Text { text: text.to_owned() });
                Ok(acting(&self.spec, ToolEffect::Execute, target, preview))
            }
        }
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let (access, by) = (changing(&plan), plan.by());
        let plan = plan.into_inner();
        let output = match arguments.request()? {
            ProcessRequest::Start(argv, folder) => {
                let workspace = self.runner.workspace(folder, cx).await?;
                if by == AuthorisedBy::Person {
                    workspace.still_executes(&plan, argv, folder, cx).await?;
                }
                let order = CommandRequest {
                    argv: argv.to_vec(),
                    workspace,
                    folder,
                    access,
                    network: Network::None,
                    beside: None,
                    tool: plan.tool.to_string(),
                };
                let ProcessNumber(id) = self.processes.start(&self.runner, order, cx).await?;
                format!("process {id} runs; poll it for its output")
            }
            ProcessRequest::Poll(id, patience) => {
                let output = self.processes.poll(id, patience, cx).await?;
                return Ok(ToolOutcome::ok(output, plan.summary).from_origin(Origin::External));
            }
            ProcessRequest::Write(id, text) => {
                self.processes.write(id, text, cx)?;
                format!("written to process {id}")
            }
            ProcessRequest::Kill(id) => {
                self.processes.kill(id, cx)?;
                format!("process {id} is being stopped; poll it for its last output")
            }
        };
        Ok(ToolOutcome::ok(output, plan.summary))
    }
}
