//! The six tools over repositories in the vault. Git runs in the sandbox on a folder of settings of
//! ours (`repository.rs`), since a repository's own can name programs; those that only read cannot
//! write, and only pull and push have a network, to the address that a person approved.

mod config;
mod exchange;
mod remote;
mod repository;

use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{Origin, Plan, Preview, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::exec::outcome;
use super::{acting, text_argument, tool};
use crate::gate::By;
use crate::runtime::{Access, Ending, Left, Network, Order, Ran, Runtime, Steering};
use crate::schema::arguments;
use crate::text::argv::quoted;
use crate::{Asked, Authorised, LiveOutput, Tool, ToolCx, ToolError};

use exchange::Transfer;
use remote::Direction;
use repository::{Control, Repository, Towards};

pub use remote::{BadGitSettings, GitRemotes, GitSettings, OpenSecret};

const LIMIT: Duration = Duration::from_secs(120);

pub(super) struct Git {
    spec: ToolSpec,
    command: Command,
    runtime: Runtime,
    remotes: GitRemotes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Status,
    Diff,
    Log,
    Commit,
    Pull,
    Push,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Place {
    /// Repository's folder; default: the top
    folder: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Difference {
    /// Repository's folder; default: the top
    folder: Option<String>,
    /// Only this path
    path: Option<String>,
    /// What is staged instead
    staged: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct History {
    /// Repository's folder; default: the top
    folder: Option<String>,
    /// How many commits; default 20
    #[schemars(range(min = 1, max = 200))]
    count: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Commit {
    message: String,
    /// Repository's folder; default: the top
    folder: Option<String>,
    /// Only these paths; default: everything
    paths: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Exchange {
    /// Repository's folder; default: the top
    folder: Option<String>,
    /// Default: origin
    remote: Option<String>,
    /// Default: the one checked out
    branch: Option<String>,
}

impl Command {
    pub(super) const ALL: [Self; 6] =
        [Self::Status, Self::Diff, Self::Log, Self::Commit, Self::Pull, Self::Push];

    fn spec(self) -> ToolSpec {
        let group = "git";
        match self {
            Self::Status => tool::<Place>("git_status", group, ToolEffect::Read, "git status."),
            Self::Diff => tool::<Difference>("git_diff", group, ToolEffect::Read, "git diff."),
            Self::Log => tool::<History>("git_log", group, ToolEffect::Read, "git log."),
            Self::Commit => {
                let description = "Add and commit changes.";
                tool::<Commit>("git_commit", group, ToolEffect::Write, description)
            }
            Self::Pull => {
                let description = "git pull, fast-forward only.";
                tool::<Exchange>("git_pull", group, ToolEffect::Reach, description)
            }
            Self::Push => tool::<Exchange>("git_push", group, ToolEffect::Reach, "git push."),
        }
    }

    fn access(self, by: By) -> Access {
        let steering = match by {
            By::Gate => Steering::Kept,
            By::Person => Steering::Free,
        };
        match self {
            Self::Status | Self::Diff | Self::Log => Access::Look,
            Self::Commit | Self::Pull | Self::Push => Access::Change(Origin::External, steering),
        }
    }

    /// `None`: it works on this machine alone.
    fn direction(self) -> Option<Direction> {
        match self {
            Self::Status | Self::Diff | Self::Log | Self::Commit => None,
            Self::Pull => Some(Direction::Pull),
            Self::Push => Some(Direction::Push),
        }
    }

    fn folder(self, input: &Value) -> Result<Option<String>, ToolError> {
        Ok(match self {
            Self::Status => arguments::<Place>(input)?.folder,
            Self::Diff => arguments::<Difference>(input)?.folder,
            Self::Log => arguments::<History>(input)?.folder,
            Self::Commit => arguments::<Commit>(input)?.folder,
            Self::Pull | Self::Push => arguments::<Exchange>(input)?.folder,
        })
    }

    /// The commands of a call that works on this machine alone, one after the other.
    fn steps(self, input: &Value, cx: &ToolCx) -> Result<Vec<Vec<String>>, ToolError> {
        let quiet = "--no-optional-locks";
        Ok(match self {
            Self::Status => {
                let status = ["status", "--short", "--branch", "--ignore-submodules=all"];
                vec![words(&[&[quiet], &status[..]].concat())]
            }
            Self::Diff => {
                let Difference { path, staged, .. } = arguments(input)?;
                let mut words = words(&[quiet, "diff", "--no-ext-diff", "--no-textconv"]);
                words.push("--ignore-submodules=all".to_owned());
                words.extend(staged.unwrap_or_default().then(|| "--staged".to_owned()));
                words.push("--".to_owned());
                words.extend(path.map(|path| in_repository(&path, cx)).transpose()?);
                vec![words]
            }
            Self::Log => {
                let History { count, .. } = arguments(input)?;
                let count = format!("-{}", count.unwrap_or(20));
                let format = "--format=%h %ad %an: %s";
                vec![words(&["log", &count, "--date=short", "--no-show-signature", format])]
            }
            Self::Commit => {
                let Commit { message, paths, .. } = arguments(input)?;
                let mut add = words(&["add", "--all", "--"]);
                for path in paths.unwrap_or_else(|| vec![".".to_owned()]) {
                    add.push(in_repository(&path, cx)?);
                }
                let name = format!("user.name=Onyx ({})", cx.agent);
                let by = ["-c", &name, "-c", "user.email=agent@onyx.invalid"];
                let commit = ["commit", "--no-verify", "--no-gpg-sign", "--message", &message];
                vec![add, words(&[&by[..], &commit[..]].concat())]
            }
            Self::Pull | Self::Push => Vec::new(),
        })
    }
}

/// A path as git takes it for nothing but a path, whatever letters it begins with.
fn in_repository(path: &str, cx: &ToolCx) -> Result<String, ToolError> {
    match path {
        "." => Ok(path.to_owned()),
        path => cx.paths.check(path).map(|key| format!(":(literal){key}")),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Git at work in one repository, with what it needs for that.
struct Work<'a> {
    runtime: &'a Runtime,
    repository: &'a Repository,
    control: Control,
    access: Access,
    tool: &'a str,
}

impl Work<'_> {
    async fn run(
        &self,
        command: &[String],
        network: Network,
        cx: &ToolCx,
    ) -> Result<Ran, ToolError> {
        let order = Order {
            argv: self.control.argv(command),
            folder: self.repository.folder(),
            access: self.access,
            network,
            beside: Some(self.control.folder()),
            tool: self.tool.to_owned(),
        };
        self.runtime.run(order, LIMIT, cx).await
    }

    /// Looks without showing anything of it live.
    async fn look(&self, command: &[String], cx: &ToolCx) -> Result<Ran, ToolError> {
        let cx = ToolCx { live: LiveOutput::nowhere(), ..cx.clone() };
        self.run(command, Network::None, &cx).await
    }

    async fn succeeds(&self, command: &[String], cx: &ToolCx) -> Result<bool, ToolError> {
        Ok(self.look(command, cx).await?.ending == Ending::Exited(0))
    }

    async fn said(&self, command: &[String], cx: &ToolCx) -> Result<String, ToolError> {
        let ran = self.look(command, cx).await?;
        match ran.ending {
            Ending::Exited(0) => Ok(ran.output.trim_end().to_owned()),
            _ => Err(ToolError::Heard(format!("git: {}", ran.output.trim_end()))),
        }
    }

    /// The commit that a ref names; `None` where there is no such ref.
    async fn id(&self, name: &str, cx: &ToolCx) -> Result<Option<String>, ToolError> {
        let peeled = format!("{name}^{{commit}}");
        let command = words(&["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled]);
        let ran = self.look(&command, cx).await?;
        let is_id = |line: &&str| line.len() >= 40 && line.chars().all(|c| c.is_ascii_hexdigit());
        match (ran.ending, ran.output.lines().rev().find(is_id)) {
            (Ending::Exited(0), Some(id)) => Ok(Some(id.to_owned())),
            // So git says that there is no such commit; anything else is a failure to look.
            (Ending::Exited(1), _) => Ok(None),
            _ => Err(ToolError::Heard(format!("git rev-parse {name}: {}", ran.output.trim()))),
        }
    }
}

impl Git {
    pub(super) fn new(command: Command, runtime: Runtime, remotes: GitRemotes) -> Self {
        let timeout = LIMIT * 2 + Duration::from_secs(30);
        Self { spec: ToolSpec { timeout, ..command.spec() }, command, runtime, remotes }
    }

    async fn repository(&self, input: &Value, cx: &ToolCx) -> Result<Repository, ToolError> {
        Repository::open(self.command.folder(input)?.as_deref(), cx).await
    }

    async fn work<'a>(
        &'a self,
        repository: &'a Repository,
        access: Access,
        towards: Option<Towards<'_>>,
        cx: &ToolCx,
    ) -> Result<Work<'a>, ToolError> {
        let control = repository.control(&self.runtime, towards, cx).await?;
        Ok(Work { runtime: &self.runtime, repository, control, access, tool: &self.spec.name })
    }

    async fn transfer(
        &self,
        direction: Direction,
        input: &Value,
        repository: &Repository,
        cx: &ToolCx,
    ) -> Result<Transfer, ToolError> {
        let wish: Exchange = arguments(input)?;
        let work = self.work(repository, Access::Look, None, cx).await?;
        Transfer::plan(direction, &wish, &self.remotes, &work, cx).await
    }

    /// Does exactly what was approved: the same address, the same refs, the same commits.
    async fn exchange(
        &self,
        direction: Direction,
        plan: &Plan,
        access: Access,
        cx: &ToolCx,
    ) -> Result<Ran, ToolError> {
        let repository = self.repository(&plan.arguments, cx).await?;
        let transfer = self.transfer(direction, &plan.arguments, &repository, cx).await?;
        if transfer.targets() != plan.targets {
            return Err(ToolError::Conflict("the repository or its remote".to_owned()));
        }
        let address = &transfer.address;
        let credential = self.remotes.credential(address)?;
        let towards = Towards { address, remotes: &self.remotes, credential };
        let reaching = self.work(&repository, access, Some(towards), cx).await?;
        let (mut all, mut network) = (nothing_yet(), address.network()?);
        for command in transfer.commands() {
            let reachable = std::mem::replace(&mut network, Network::None);
            follow(&mut all, reaching.run(&command, reachable, cx).await?);
            if all.ending != Ending::Exited(0) {
                break;
            }
        }
        Ok(all)
    }

    async fn stay(&self, plan: &Plan, access: Access, cx: &ToolCx) -> Result<Ran, ToolError> {
        let mut steps = self.command.steps(&plan.arguments, cx)?;
        let repository = self.repository(&plan.arguments, cx).await?;
        if let (Command::Commit, Some(add)) = (self.command, steps.first_mut()) {
            let nested = repository.nested(&self.runtime, cx).await?;
            add.extend(nested.iter().map(|path| format!(":(exclude,top,literal){path}")));
        }
        let work = self.work(&repository, access, None, cx).await?;
        let mut all = nothing_yet();
        for command in &steps {
            follow(&mut all, work.run(command, Network::None, cx).await?);
            if all.ending != Ending::Exited(0) {
                break;
            }
        }
        Ok(all)
    }
}

fn nothing_yet() -> Ran {
    Ran { output: String::new(), ending: Ending::Exited(0), left: Left::default() }
}

fn follow(all: &mut Ran, next: Ran) {
    all.output.push_str(&next.output);
    all.ending = next.ending;
    all.left = next.left;
}

#[async_trait]
impl Tool for Git {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_ready(&self, asked: &Asked<'_>) -> bool {
        let has_repository = || self.runtime.has_repository(asked.person);
        self.runtime.is_likely() && *asked.has_repository.get_or_init(has_repository)
    }

    fn summary(&self, arguments: &Value) -> String {
        let folder = match text_argument(arguments, "folder") {
            "" => String::new(),
            folder => format!(" in {folder}"),
        };
        let text = |name| text_argument(arguments, name);
        match self.command {
            Command::Status => format!("Look at the state of the repository{folder}"),
            Command::Diff => format!("Compare {}{folder}", text("path")),
            Command::Log => format!("Read the history{folder}"),
            Command::Commit => format!("Commit{folder}: {}", text("message")),
            Command::Pull => format!("Pull {}{folder}", text("remote")),
            Command::Push => format!("Push to {}{folder}", text("remote")),
        }
    }

    async fn plan(&self, input: Value, cx: &ToolCx) -> Result<Plan, ToolError> {
        let steps = self.command.steps(&input, cx)?;
        let repository = self.repository(&input, cx).await?;
        if self.command == Command::Commit && repository.branch.is_none() {
            let message = "no branch is checked out; a commit would belong to none";
            return Err(ToolError::Arguments(message.to_owned()));
        }
        let place = repository.name();
        let (summary, effect) = (self.summary(&input), self.spec.usual_effect);
        if let Some(direction) = self.command.direction() {
            let transfer = self.transfer(direction, &input, &repository, cx).await?;
            let verb = match direction {
                Direction::Pull => "Pull from",
                Direction::Push => "Push to",
            };
            let text = format!("{}\n(in {place})", transfer.text());
            return Ok(Plan {
                targets: transfer.targets(),
                preview: Preview::Text { text },
                ..Plan::new(
                    self.spec.name.as_str(),
                    input,
                    effect,
                    format!("{verb} {}", transfer.address),
                )
            });
        }
        let lines = steps.iter().map(|command| format!("git {}", quoted(command)));
        let text = format!("{}\n(in {place})", lines.collect::<Vec<_>>().join("\n"));
        let name = format!("git repository {place}");
        let target = Target { name, base: None, instruction: false };
        Ok(Plan { summary, ..acting(&self.spec, input, effect, target, Preview::Text { text }) })
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let access = self.command.access(plan.by());
        let plan = plan.into_inner();
        let ran = match self.command.direction() {
            Some(direction) => self.exchange(direction, &plan, access, cx).await?,
            None => self.stay(&plan, access, cx).await?,
        };
        Ok(outcome(&ran, plan.summary))
    }
}
