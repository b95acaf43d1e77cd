//! The six tools for repositories in the vault. Git runs in the sandbox with settings that we write
//! (`repository.rs`), because a repository's own settings can name programs. Tools that only read
//! cannot write. Only pull and push have a network, and only to the address that a person approved.

mod clone;
mod config;
mod exchange;
mod remote;
mod repository;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onyx_storage::Area;
use onyx_types::{
    CallLabel, Capability, Origin, PersonId, Plan, Preview, Target, ToolEffect, ToolOutcome,
    ToolSpec, Verb,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::exec::outcome;
use super::{acting, spec_of, text_argument};
use crate::gate::AuthorisedBy;
use crate::runtime::{
    CommandChanges, CommandRequest, CommandResult, CommandRunner, Ending, Network, Steering,
    VaultAccess, Workspace,
};
use crate::text::argv::quoted;
use crate::{Authorised, LiveOutput, ToolCx, ToolError, TypedTool};

use exchange::Transfer;
use remote::Direction;
use repository::{Control, RemoteConnection, Repository};

pub use clone::Repositories;
pub use remote::{BadGitSettings, GitRemotes, GitSettings, OpenSecret};

const LIMIT: Duration = Duration::from_secs(120);

pub(super) struct Git {
    spec: ToolSpec,
    command: Command,
    runner: CommandRunner,
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

/// The arguments of all six tools; each tool's schema says which it takes.
#[derive(Deserialize)]
pub(super) struct GitArguments {
    folder: Option<String>,
    path: Option<String>,
    #[serde(default)]
    staged: bool,
    count: Option<u32>,
    #[serde(default)]
    message: String,
    paths: Option<Vec<String>>,
    remote: Option<String>,
    branch: Option<String>,
}

impl GitArguments {
    /// The folder of the repository; `None` is the top of the vault.
    fn folder(&self) -> Option<&str> {
        self.folder.as_deref().filter(|folder| !matches!(*folder, "" | "."))
    }
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema counts")]
struct InFolder {
    /// Repository's folder; default: the top
    folder: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema counts")]
struct Difference {
    /// Repository's folder; default: the top
    folder: Option<String>,
    /// Only this path
    path: Option<String>,
    /// What is staged instead
    staged: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema counts")]
struct History {
    /// Repository's folder; default: the top
    folder: Option<String>,
    /// How many commits; default 20
    #[schemars(range(min = 1, max = 200))]
    count: Option<u32>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema counts")]
struct Commit {
    message: String,
    /// Repository's folder; default: the top
    folder: Option<String>,
    /// Only these paths; default: everything
    paths: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema counts")]
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
            Self::Status => {
                spec_of::<InFolder>("git_status", group, ToolEffect::Read, "git status.")
            }
            Self::Diff => spec_of::<Difference>("git_diff", group, ToolEffect::Read, "git diff."),
            Self::Log => spec_of::<History>("git_log", group, ToolEffect::Read, "git log."),
            Self::Commit => {
                let description = "Add and commit changes.";
                spec_of::<Commit>("git_commit", group, ToolEffect::Write, description)
            }
            Self::Pull => {
                let description = "git pull, fast-forward only.";
                spec_of::<Exchange>("git_pull", group, ToolEffect::Reach, description)
            }
            Self::Push => spec_of::<Exchange>("git_push", group, ToolEffect::Reach, "git push."),
        }
    }

    fn access(self, by: AuthorisedBy) -> VaultAccess {
        let steering = match by {
            AuthorisedBy::Gate => Steering::Kept,
            AuthorisedBy::Person => Steering::Free,
        };
        match self {
            Self::Status | Self::Diff | Self::Log => VaultAccess::Look,
            Self::Commit | Self::Pull | Self::Push => {
                VaultAccess::Change(Origin::External, steering)
            }
        }
    }

    /// Whether the tool pulls or pushes; `None` if it works only on this machine.
    fn direction(self) -> Option<Direction> {
        match self {
            Self::Status | Self::Diff | Self::Log | Self::Commit => None,
            Self::Pull => Some(Direction::Pull),
            Self::Push => Some(Direction::Push),
        }
    }

    /// The commands of a call that works only on this machine, in order.
    fn steps(self, arguments: &GitArguments, cx: &ToolCx) -> Result<Vec<Vec<String>>, ToolError> {
        let quiet = "--no-optional-locks";
        Ok(match self {
            Self::Status => {
                let status = ["status", "--short", "--branch", "--ignore-submodules=all"];
                vec![words(&[&[quiet], &status[..]].concat())]
            }
            Self::Diff => {
                let mut words = words(&[quiet, "diff", "--no-ext-diff", "--no-textconv"]);
                words.push("--ignore-submodules=all".to_owned());
                words.extend(arguments.staged.then(|| "--staged".to_owned()));
                words.push("--".to_owned());
                words.extend(
                    arguments.path.as_deref().map(|path| in_repository(path, cx)).transpose()?,
                );
                vec![words]
            }
            Self::Log => {
                let count = format!("-{}", arguments.count.unwrap_or(20));
                let format = "--format=%h %ad %an: %s";
                vec![words(&["log", &count, "--date=short", "--no-show-signature", format])]
            }
            Self::Commit => {
                let mut add = words(&["add", "--all", "--"]);
                let everything = [".".to_owned()];
                for path in arguments.paths.as_deref().unwrap_or(&everything) {
                    add.push(in_repository(path, cx)?);
                }
                let name = format!("user.name=Onyx ({})", cx.agent);
                let by = ["-c", &name, "-c", "user.email=agent@onyx.invalid"];
                let commit =
                    ["commit", "--no-verify", "--no-gpg-sign", "--message", &arguments.message];
                vec![add, words(&[&by[..], &commit[..]].concat())]
            }
            Self::Pull | Self::Push => Vec::new(),
        })
    }
}

/// A path in a form that git reads only as a path, whatever characters it begins with.
fn in_repository(path: &str, cx: &ToolCx) -> Result<String, ToolError> {
    match path {
        "." => Ok(path.to_owned()),
        path => cx.paths.check(path).map(|key| format!(":(literal){key}")),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A repository with everything that git commands in it need.
struct Work<'a> {
    runner: &'a CommandRunner,
    workspace: Arc<Workspace>,
    repository: &'a Repository,
    control: Control,
    access: VaultAccess,
    tool: &'a str,
}

impl Work<'_> {
    async fn run(
        &self,
        command: &[String],
        network: Network,
        cx: &ToolCx,
    ) -> Result<CommandResult, ToolError> {
        let order = CommandRequest {
            argv: self.control.argv(command),
            workspace: Arc::clone(&self.workspace),
            folder: self.repository.folder(),
            access: self.access,
            network,
            beside: Some(self.control.folder()),
            tool: self.tool.to_owned(),
        };
        self.runner.run(order, LIMIT, cx).await
    }

    /// Runs a command that only reads, without showing its output to people.
    async fn look(&self, command: &[String], cx: &ToolCx) -> Result<CommandResult, ToolError> {
        let cx = ToolCx { live: LiveOutput::nowhere(), ..cx.clone() };
        self.run(command, Network::None, &cx).await
    }

    async fn succeeds(&self, command: &[String], cx: &ToolCx) -> Result<bool, ToolError> {
        Ok(self.look(command, cx).await?.ending == Ending::Exited(0))
    }

    async fn output_of(&self, command: &[String], cx: &ToolCx) -> Result<String, ToolError> {
        let ran = self.look(command, cx).await?;
        match ran.ending {
            Ending::Exited(0) => Ok(ran.output.trim_end().to_owned()),
            ending => {
                let output = ran.output.trim_end();
                Err(ToolError::Heard(format!("git {}: {ending} {output}", command[0])))
            }
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
            // With this exit code git says that there is no such commit. Any other ending is a
            // failure.
            (Ending::Exited(1), _) => Ok(None),
            (ending, _) => {
                let output = ran.output.trim();
                Err(ToolError::Heard(format!("git rev-parse {name}: {ending} {output}")))
            }
        }
    }
}

impl Git {
    pub(super) fn new(command: Command, runner: CommandRunner, remotes: GitRemotes) -> Self {
        let timeout = LIMIT * 2 + Duration::from_secs(30);
        let needs = vec![Capability::Commands, Capability::Repository];
        let spec = ToolSpec { timeout, needs, ..command.spec() };
        Self { spec, command, runner, remotes }
    }

    async fn work<'a>(
        &'a self,
        repository: &'a Repository,
        workspace: &Arc<Workspace>,
        access: VaultAccess,
        towards: Option<RemoteConnection<'_>>,
    ) -> Result<Work<'a>, ToolError> {
        let control = repository.control(&self.runner, workspace, towards).await?;
        let (runner, workspace, tool) =
            (&self.runner, Arc::clone(workspace), self.spec.name.as_str());
        Ok(Work { runner, workspace, repository, control, access, tool })
    }

    /// Opens the repository of a call, and the workspace in which git works on it.
    async fn open(
        &self,
        arguments: &GitArguments,
        cx: &ToolCx,
    ) -> Result<(Repository, Arc<Workspace>), ToolError> {
        let folder = arguments.folder();
        let workspace = self.runner.workspace(folder, cx).await?;
        let repository = Repository::open(&*workspace.files(cx)?, folder, cx).await?;
        Ok((repository, workspace))
    }

    async fn transfer(
        &self,
        direction: Direction,
        arguments: &GitArguments,
        repository: &Repository,
        workspace: &Arc<Workspace>,
        cx: &ToolCx,
    ) -> Result<Transfer, ToolError> {
        let work = self.work(repository, workspace, VaultAccess::Look, None).await?;
        Transfer::plan(direction, arguments, &self.remotes, &work, cx).await
    }

    /// Pulls or pushes exactly what was approved: the same address, refs and commits.
    async fn exchange(
        &self,
        direction: Direction,
        arguments: &GitArguments,
        plan: &Plan,
        access: VaultAccess,
        cx: &ToolCx,
    ) -> Result<CommandResult, ToolError> {
        let (repository, workspace) = self.open(arguments, cx).await?;
        let transfer = self.transfer(direction, arguments, &repository, &workspace, cx).await?;
        if !plan.has_targets(&transfer.targets()) {
            return Err(ToolError::Conflict("the repository or its remote".to_owned()));
        }
        let address = &transfer.address;
        let credential = self.remotes.credential(address)?;
        let towards = RemoteConnection { address, remotes: &self.remotes, credential };
        let reaching = self.work(&repository, &workspace, access, Some(towards)).await?;
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

    async fn stay(
        &self,
        arguments: &GitArguments,
        access: VaultAccess,
        cx: &ToolCx,
    ) -> Result<CommandResult, ToolError> {
        let mut steps = self.command.steps(arguments, cx)?;
        let (repository, workspace) = self.open(arguments, cx).await?;
        if let (Command::Commit, Some(add)) = (self.command, steps.first_mut()) {
            let nested = repository.nested(&workspace).await?;
            add.extend(nested.iter().map(|path| format!(":(exclude,top,literal){path}")));
        }
        let work = self.work(&repository, &workspace, access, None).await?;
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

fn nothing_yet() -> CommandResult {
    CommandResult {
        output: String::new(),
        ending: Ending::Exited(0),
        left: CommandChanges::default(),
    }
}

fn follow(all: &mut CommandResult, next: CommandResult) {
    all.output.push_str(&next.output);
    all.ending = next.ending;
    all.left = std::mem::take(&mut all.left).and(next.left);
}

#[async_trait]
impl TypedTool for Git {
    type Arguments = GitArguments;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check_capability(&self, capability: Capability, person: &PersonId) -> Result<(), String> {
        let is_there = match capability {
            Capability::Repository => self.runner.has_repository(person),
            _ => self.runner.is_likely(),
        };
        if is_there { Ok(()) } else { Err(String::new()) }
    }

    fn label(&self, arguments: &Value) -> CallLabel {
        let folder = match text_argument(arguments, "folder") {
            "" => String::new(),
            folder => format!(" in {folder}"),
        };
        let text = |name| text_argument(arguments, name);
        match self.command {
            Command::Status => Verb::new("look at", "looking at", "looked at")
                .of(format!("the state of the repository{folder}")),
            Command::Diff => Verb::new("compare", "comparing", "compared")
                .of(format!("{}{folder}", text("path"))),
            Command::Log => Verb::new("read", "reading", "read").of(format!("the history{folder}")),
            Command::Commit => {
                let [plain, doing, did] =
                    ["commit", "committing", "committed"].map(|verb| format!("{verb}{folder}:"));
                Verb::new(&plain, &doing, &did).of(text("message"))
            }
            Command::Pull => {
                Verb::new("pull", "pulling", "pulled").of(format!("{}{folder}", text("remote")))
            }
            Command::Push => Verb::new("push to", "pushing to", "pushed to")
                .of(format!("{}{folder}", text("remote"))),
        }
    }

    async fn plan(&self, arguments: &GitArguments, cx: &ToolCx) -> Result<Plan, ToolError> {
        let steps = self.command.steps(arguments, cx)?;
        let vault = cx.files.objects(&Area::Vault(cx.key.person.clone()))?;
        let repository = Repository::open(&*vault, arguments.folder(), cx).await?;
        if self.command == Command::Commit && repository.branch.is_none() {
            let message = "no branch is checked out; a commit would belong to none";
            return Err(ToolError::Arguments(message.to_owned()));
        }
        let place = repository.name();
        let effect = self.spec.usual_effect;
        if let Some(direction) = self.command.direction() {
            let workspace = self.runner.workspace(arguments.folder(), cx).await?;
            let transfer = self.transfer(direction, arguments, &repository, &workspace, cx).await?;
            let verb = match direction {
                Direction::Pull => "Pull from",
                Direction::Push => "Push to",
            };
            let text = format!("{}\n(in {place})", transfer.text());
            return Ok(Plan {
                targets: transfer.targets(),
                preview: Preview::Text { text },
                ..Plan::new(
                    self.spec.name.clone(),
                    Value::Null,
                    effect,
                    format!("{verb} {}", transfer.address),
                )
            });
        }
        let lines = steps.iter().map(|command| format!("git {}", quoted(command)));
        let text = format!("{}\n(in {place})", lines.collect::<Vec<_>>().join("\n"));
        Ok(acting(&self.spec, effect, Target::Repository(place), Preview::Text { text }))
    }

    async fn invoke(
        &self,
        arguments: GitArguments,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError> {
        let access = self.command.access(plan.by());
        let plan = plan.into_inner();
        let ran = match self.command.direction() {
            Some(direction) => self.exchange(direction, &arguments, &plan, access, cx).await?,
            None => self.stay(&arguments, access, cx).await?,
        };
        Ok(outcome(&ran, plan.summary))
    }
}
