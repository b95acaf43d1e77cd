use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, CallTargetKind, Consent, Origin, Plan, Preview, Taint, Target, ToolEffect,
    ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::exec::changing;
use super::{acting, command_plan, reading, text_argument, tool};
use crate::gate::By;
use crate::runtime::{Network, Order, Processes, Runtime, Started};
use crate::schema::arguments;
use crate::text::argv::shown;
use crate::{Asked, Authorised, Tool, ToolCx, ToolError};

const MOST_SECONDS: u64 = 60;
const USUAL_SECONDS: u64 = 5;

pub(super) struct Process {
    spec: ToolSpec,
    runtime: Runtime,
    processes: Processes,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    /// start: program and arguments
    argv: Option<Vec<String>>,
    /// start: folder
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

/// What a call asks for, with all that it needs.
enum Wish {
    Start(Vec<String>, Option<String>),
    Poll(u64, Duration),
    Write(u64, String),
    Kill(u64),
}

impl Process {
    pub(super) fn new(runtime: Runtime) -> Self {
        let description = "A command that goes on between calls: start, poll, write, kill.";
        let spec = tool::<Arguments>("process", "runtime", ToolEffect::Execute, description);
        let timeout = Duration::from_secs(MOST_SECONDS + 30);
        let spec = ToolSpec { timeout, repeats: true, ..spec };
        Self { spec, runtime, processes: Processes::default() }
    }
}

impl Arguments {
    fn wish(self) -> Result<Wish, ToolError> {
        let missing = |what: &str| ToolError::Arguments(format!("this action needs \"{what}\""));
        let id = self.id.ok_or_else(|| missing("id"));
        Ok(match self.action {
            Action::Start => {
                let argv = self.argv.filter(|argv| !argv.is_empty());
                Wish::Start(argv.ok_or_else(|| missing("argv"))?, self.folder)
            }
            Action::Poll => {
                let seconds = self.seconds.unwrap_or(USUAL_SECONDS);
                Wish::Poll(id?, Duration::from_secs(seconds))
            }
            Action::Write => Wish::Write(id?, self.text.ok_or_else(|| missing("text"))?),
            Action::Kill => Wish::Kill(id?),
        })
    }
}

#[async_trait]
impl Tool for Process {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_ready(&self, _: &Asked<'_>) -> bool {
        self.runtime.is_likely()
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

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let target =
            |id: u64| Target { name: format!("process {id}"), base: None, instruction: false };
        let summary = self.summary(&input);
        match arguments::<Arguments>(&input)?.wish()? {
            Wish::Start(argv, folder) => {
                let plan = command_plan(&self.spec, input, &argv, folder.as_deref(), cx)?;
                let plan = self.runtime.with_executed(plan, &argv, folder.as_deref(), cx).await?;
                // It goes on while others read what it writes, so no standing rule lets it.
                let consent = match cx.taint {
                    Taint::Clean => plan.consent,
                    Taint::Tainted => Consent::Person,
                };
                Ok(Plan { summary, consent, ..plan })
            }
            // It ends nothing but what this session started.
            Wish::Poll(id, _) | Wish::Kill(id) => {
                Ok(reading(&self.spec, input, target(id), summary))
            }
            Wish::Write(id, text) => {
                let preview = Preview::Text { text };
                let plan = acting(&self.spec, input, ToolEffect::Execute, target(id), preview);
                Ok(Plan { summary, ..plan })
            }
        }
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let (access, by) = (changing(&plan), plan.by());
        let plan = plan.into_inner();
        let output = match arguments::<Arguments>(&plan.arguments)?.wish()? {
            Wish::Start(argv, folder) => {
                if by == By::Person {
                    self.runtime.still_executes(&plan, &argv, folder.as_deref(), cx).await?;
                }
                let order = Order {
                    argv,
                    folder: folder.as_deref(),
                    access,
                    network: Network::None,
                    beside: None,
                    tool: plan.tool.clone(),
                };
                let Started(id) = self.processes.start(&self.runtime, order, cx).await?;
                format!("process {id} runs; poll it for what it says")
            }
            Wish::Poll(id, patience) => {
                let said = self.processes.poll(id, patience, cx).await?;
                return Ok(ToolOutcome::ok(said, plan.summary).from_origin(Origin::External));
            }
            Wish::Write(id, text) => {
                self.processes.write(id, &text, cx)?;
                format!("written to process {id}")
            }
            Wish::Kill(id) => {
                self.processes.kill(id, cx)?;
                format!("process {id} is being stopped; poll it for its last words")
            }
        };
        Ok(ToolOutcome::ok(output, plan.summary))
    }
}
