//! The four tools for containers, which use Docker's own command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{
    CallLabel, CallTargetKind, Capability, PersonId, Plan, Preview, Target, ToolEffect,
    ToolOutcome, ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::exec::outcome;
use super::{acting, spec_of, text_argument};
use crate::runtime::RunningCommand;
use crate::text::argv::{quoted, shown};
use crate::{Authorised, ToolCx, ToolError, TypedTool};

const LIMIT: Duration = Duration::from_secs(60);
const PROGRAMS: [&str; 2] = ["/usr/bin/docker", "/usr/local/bin/docker"];
const SOCKET: &str = "/var/run/docker.sock";

/// The `tools.docker` section of the config as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DockerSettings {
    /// The path of Docker's command line; by default the usual places are searched.
    pub program: Option<PathBuf>,
    pub socket: Option<PathBuf>,
}

/// Where Docker is on this machine, and the owner of the home. Only the owner may use it, because
/// Docker can read and write every file of the machine.
#[derive(Clone, Debug)]
pub struct Docker {
    program: Option<PathBuf>,
    socket: PathBuf,
    owner: PersonId,
}

impl Docker {
    pub fn new(settings: &DockerSettings, owner: PersonId) -> Self {
        let usual = || PROGRAMS.iter().map(PathBuf::from).find(|path| path.is_file());
        let program = settings.program.clone().or_else(usual);
        let socket = settings.socket.clone().unwrap_or_else(|| SOCKET.into());
        Self { program, socket, owner }
    }

    /// Whether there is a Docker to work with; if not, the reason.
    pub fn is_here(&self) -> Result<(), String> {
        self.program().map(drop).map_err(|error| error.to_string())
    }

    fn program(&self) -> Result<&Path, ToolError> {
        let failed = |why: &str| ToolError::Failed(format!("Docker is not available: {why}"));
        let program = self.program.as_deref();
        let program = program.ok_or_else(|| failed("its command line is not installed"))?;
        if !self.socket.exists() {
            return Err(failed(&format!("nothing listens at {}", self.socket.display())));
        }
        Ok(program)
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

/// The arguments of all four tools; each tool's schema says which it takes.
#[derive(Deserialize)]
pub(super) struct Arguments {
    container: Option<String>,
    lines: Option<u32>,
    #[serde(default)]
    argv: Vec<String>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema counts")]
struct NoArguments {}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema counts")]
struct Logs {
    container: String,
    /// How many; default 100
    #[schemars(range(min = 1, max = 2000))]
    lines: Option<u32>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema counts")]
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
            Self::Ps => spec_of::<NoArguments>("docker_ps", group, read, "List containers."),
            Self::Logs => spec_of::<Logs>("docker_logs", group, read, "A container's last lines."),
            Self::Stats => {
                spec_of::<NoArguments>("docker_stats", group, read, "What containers use.")
            }
            Self::Exec => {
                let description = "Run a command in a container.";
                spec_of::<Exec>("docker_exec", group, ToolEffect::Execute, description)
            }
        }
    }

    fn words(self, arguments: &Arguments) -> Result<Vec<String>, ToolError> {
        let container = arguments.container.as_deref().unwrap_or_default();
        let fixed = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Ok(match self {
            Self::Ps => fixed(&["ps", "--all", "--no-trunc=false"]),
            Self::Stats => fixed(&["stats", "--no-stream"]),
            Self::Logs => {
                let lines = arguments.lines.unwrap_or(100).to_string();
                fixed(&["logs", "--timestamps", "--tail", &lines, name(container)?])
            }
            Self::Exec => {
                let mut words: Vec<String> = fixed(&["exec", name(container)?]);
                words.extend_from_slice(&arguments.argv);
                words
            }
        })
    }
}

/// Checks the name or id of a container, so that it cannot be taken for an option.
fn name(name: &str) -> Result<&str, ToolError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts_well && name.chars().all(is_plain) {
        return Ok(name);
    }
    Err(ToolError::Arguments(format!("{name:?} is not a container name")))
}

impl DockerTool {
    pub(super) fn new(command: Command, docker: Docker) -> Self {
        let timeout = LIMIT + Duration::from_secs(30);
        let needs = vec![Capability::Docker];
        Self { spec: ToolSpec { timeout, needs, ..command.spec() }, command, docker }
    }
}

#[async_trait]
impl TypedTool for DockerTool {
    type Arguments = Arguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, _: Capability, person: &PersonId) -> Result<(), String> {
        if *person != self.docker.owner {
            return Err("Docker is for the owner only: through it, every file of this machine can be read and written".into());
        }
        self.docker.program().map(drop).map_err(|error| error.to_string())
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

    async fn plan(&self, arguments: &Arguments, _: &ToolCx) -> Result<Plan, ToolError> {
        let line = format!("docker {}", quoted(&self.command.words(arguments)?));
        let target = Target::Container(line.clone());
        let preview = Preview::Text { text: line };
        Ok(acting(&self.spec, self.spec.usual_effect, target, preview))
    }

    async fn invoke(
        &self,
        arguments: Arguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let words = self.command.words(&arguments)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let at_work = RunningCommand::trusted(self.docker.program()?, &words)?;
        Ok(outcome(&at_work.until_end(LIMIT, cx).await?, plan.summary))
    }
}
