//! The four tools over containers, through Docker's own command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, CallTargetKind, Plan, Preview, Target, ToolEffect, ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::exec::outcome;
use super::{acting, text_argument, tool};
use crate::runtime::AtWork;
use crate::schema::arguments;
use crate::text::argv::{quoted, shown};
use crate::{Asked, Authorised, Tool, ToolCx, ToolError};

const LIMIT: Duration = Duration::from_secs(60);
const PROGRAMS: [&str; 2] = ["/usr/bin/docker", "/usr/local/bin/docker"];
const SOCKET: &str = "/var/run/docker.sock";

/// Where Docker is on this machine.
#[derive(Clone, Debug)]
pub struct Docker {
    program: Option<PathBuf>,
    socket: PathBuf,
}

impl Docker {
    pub fn here() -> Self {
        let program = PROGRAMS.iter().map(PathBuf::from).find(|path| path.is_file());
        Self { program, socket: SOCKET.into() }
    }

    pub fn at(program: PathBuf, socket: PathBuf) -> Self {
        Self { program: Some(program), socket }
    }

    fn is_here(&self) -> bool {
        self.program.is_some() && self.socket.exists()
    }

    fn program(&self) -> Result<&Path, ToolError> {
        let failed = |why: &str| ToolError::Failed(format!("Docker is not here: {why}"));
        let program = self.program.as_deref();
        let program = program.ok_or_else(|| failed("its command line is not installed"))?;
        match self.socket.exists() {
            true => Ok(program),
            false => Err(failed(&format!("nothing listens at {}", self.socket.display()))),
        }
    }
}

pub(super) struct DockerTool {
    spec: ToolSpec,
    command: Command,
    docker: Docker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Ps,
    Logs,
    Stats,
    Exec,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Logs {
    container: String,
    /// How many; default 100
    #[schemars(range(min = 1, max = 2000))]
    lines: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Exec {
    container: String,
    /// Program and arguments
    #[schemars(length(min = 1))]
    argv: Vec<String>,
}

impl Command {
    pub(super) const ALL: [Self; 4] = [Self::Ps, Self::Logs, Self::Stats, Self::Exec];

    fn spec(self) -> ToolSpec {
        let (group, read) = ("docker", ToolEffect::Read);
        match self {
            Self::Ps => tool::<Nothing>("docker_ps", group, read, "List containers."),
            Self::Logs => tool::<Logs>("docker_logs", group, read, "A container's last lines."),
            Self::Stats => tool::<Nothing>("docker_stats", group, read, "What containers use."),
            Self::Exec => {
                let description = "Run a command in a container.";
                tool::<Exec>("docker_exec", group, ToolEffect::Execute, description)
            }
        }
    }

    fn arguments(self, input: &Value) -> Result<Vec<String>, ToolError> {
        let fixed = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Ok(match self {
            Self::Ps => fixed(&["ps", "--all", "--no-trunc=false"]),
            Self::Stats => fixed(&["stats", "--no-stream"]),
            Self::Logs => {
                let Logs { container, lines } = arguments(input)?;
                let lines = lines.unwrap_or(100).to_string();
                fixed(&["logs", "--timestamps", "--tail", &lines, name(&container)?])
            }
            Self::Exec => {
                let Exec { container, argv } = arguments(input)?;
                let mut words: Vec<String> = fixed(&["exec", name(&container)?]);
                words.extend(argv);
                words
            }
        })
    }
}

/// A container's name or id; nothing that could be taken for an option.
fn name(name: &str) -> Result<&str, ToolError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    match starts_well && name.chars().all(is_plain) {
        true => Ok(name),
        false => Err(ToolError::Arguments(format!("{name:?} is no container's name"))),
    }
}

impl DockerTool {
    pub(super) fn new(command: Command, docker: Docker) -> Self {
        let timeout = LIMIT + Duration::from_secs(30);
        Self { spec: ToolSpec { timeout, ..command.spec() }, command, docker }
    }
}

#[async_trait]
impl Tool for DockerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_ready(&self, asked: &Asked<'_>) -> bool {
        *asked.has_docker.get_or_init(|| self.docker.is_here())
    }

    fn lacks(&self) -> String {
        self.docker.program().err().map_or_else(String::new, |error| error.to_string())
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let container = text_argument(arguments, "container");
        match self.command {
            Command::Ps => Verb::new("list", "listing", "listed").of("containers"),
            Command::Stats => {
                Verb::new("look at", "looking at", "looked at").of("what containers use")
            }
            Command::Logs => {
                Verb::new("read", "reading", "read").of(format!("the log of {container}"))
            }
            Command::Exec => {
                let line = shown(arguments.get("argv"));
                let label =
                    Verb::new("run", "running", "ran").of(format!("in {container}: {line}"));
                label.about(CallTargetKind::Command, line)
            }
        }
    }

    async fn plan(&self, input: Value, _: &ToolCx) -> Result<Plan, ToolError> {
        let line = format!("docker {}", quoted(&self.command.arguments(&input)?));
        let target = Target { name: line.clone(), base: None, instruction: false };
        let (summary, effect) = (self.summary(&input), self.spec.usual_effect);
        let preview = Preview::Text { text: line };
        Ok(Plan { summary, ..acting(&self.spec, input, effect, target, preview) })
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let words = self.command.arguments(&plan.arguments)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let at_work = AtWork::trusted(self.docker.program()?, &words)?;
        Ok(outcome(&at_work.until_end(LIMIT, cx).await?, plan.summary))
    }
}
