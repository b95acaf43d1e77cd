//! The six tools over repositories in the vault. Git itself runs in the sandbox, since a
//! repository's own settings can name programs; those that only read cannot write, and only pull
//! and push have a network.

use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{Origin, Plan, Preview, Target, ToolEffect, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::exec::outcome;
use super::{acting, text_argument, tool};
use crate::runtime::{Access, Ending, Left, Network, Order, Ran, Runtime, Steering};
use crate::schema::arguments;
use crate::text::argv::quoted;
use crate::{Asked, Authorised, Tool, ToolCx, ToolError};

const LIMIT: Duration = Duration::from_secs(120);

/// No hooks, no helpers, no prompts, no pager; and nobody is asked who owns the folder.
const SETTINGS: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.askPass=/bin/false",
    "core.sshCommand=ssh -oBatchMode=yes",
    "credential.helper=",
    "protocol.ext.allow=never",
    "gc.auto=0",
    "safe.directory=*",
];

pub(super) struct Git {
    spec: ToolSpec,
    command: Command,
    runtime: Runtime,
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

/// What a call comes to: the commands to run, one after the other.
struct Steps {
    folder: Option<String>,
    commands: Vec<Vec<String>>,
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

    fn access(self) -> Access {
        match self {
            Self::Status | Self::Diff | Self::Log => Access::Look,
            Self::Commit | Self::Pull | Self::Push => {
                Access::Change(Origin::External, Steering::Free)
            }
        }
    }

    fn network(self) -> Network {
        match self {
            Self::Status | Self::Diff | Self::Log | Self::Commit => Network::None,
            Self::Pull | Self::Push => Network::None,
        }
    }

    fn steps(self, input: &Value, cx: &ToolCx) -> Result<Steps, ToolError> {
        let (folder, commands) = match self {
            Self::Status => {
                let Place { folder } = arguments(input)?;
                (folder, vec![words(&["--no-optional-locks", "status", "--short", "--branch"])])
            }
            Self::Diff => {
                let Difference { folder, path, staged } = arguments(input)?;
                let mut words = words(&["--no-optional-locks", "diff", "--no-ext-diff"]);
                words.push("--no-textconv".to_owned());
                words.extend(staged.unwrap_or_default().then(|| "--staged".to_owned()));
                words.push("--".to_owned());
                words.extend(path.map(|path| in_repository(&path, cx)).transpose()?);
                (folder, vec![words])
            }
            Self::Log => {
                let History { folder, count } = arguments(input)?;
                let count = format!("-{}", count.unwrap_or(20));
                let format = "--format=%h %ad %an: %s";
                (
                    folder,
                    vec![words(&["log", &count, "--date=short", "--no-show-signature", format])],
                )
            }
            Self::Commit => {
                let Commit { message, folder, paths } = arguments(input)?;
                let mut add = words(&["add", "--all", "--"]);
                for path in paths.unwrap_or_else(|| vec![".".to_owned()]) {
                    add.push(in_repository(&path, cx)?);
                }
                let name = format!("user.name=Onyx ({})", cx.agent);
                let by = ["-c", &name, "-c", "user.email=agent@onyx.invalid"];
                let commit = ["commit", "--no-verify", "--no-gpg-sign", "--message", &message];
                (folder, vec![add, words(&[&by[..], &commit[..]].concat())])
            }
            Self::Pull => exchange(&["pull", "--ff-only", "--no-rebase"], input)?,
            Self::Push => exchange(&["push", "--porcelain"], input)?,
        };
        Ok(Steps { folder, commands })
    }
}

fn exchange(
    command: &[&str],
    input: &Value,
) -> Result<(Option<String>, Vec<Vec<String>>), ToolError> {
    let Exchange { folder, remote, branch } = arguments(input)?;
    let mut words = words(command);
    words.push("--".to_owned());
    words.push(name(remote.unwrap_or_else(|| "origin".to_owned()))?);
    words.push(name(branch.unwrap_or_else(|| "HEAD".to_owned()))?);
    Ok((folder, vec![words]))
}

/// A remote or branch by its plain name: no option, no address, no mapping to another name.
fn name(name: String) -> Result<String, ToolError> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    match !name.starts_with(['-', '/', '.']) && !name.is_empty() && name.chars().all(is_plain) {
        true => Ok(name),
        false => Err(ToolError::Arguments(format!("{name:?} is no plain name"))),
    }
}

fn in_repository(path: &str, cx: &ToolCx) -> Result<String, ToolError> {
    match path {
        "." => Ok(path.to_owned()),
        path => cx.paths.check(path).map(|key| key.to_string()),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn with_settings(command: &[String]) -> Vec<String> {
    let quiet = ["env", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1"];
    let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
    let before = quiet.into_iter().chain(["git"]).chain(settings).map(str::to_owned);
    before.chain(command.iter().cloned()).collect()
}

impl Git {
    pub(super) fn new(command: Command, runtime: Runtime) -> Self {
        let timeout = LIMIT * 2 + Duration::from_secs(30);
        Self { spec: ToolSpec { timeout, ..command.spec() }, command, runtime }
    }
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
        let folder = steps.folder.as_deref().map(|folder| cx.paths.check(folder)).transpose()?;
        let place = folder.map_or_else(|| "the vault".to_owned(), |folder| folder.to_string());
        let lines = steps.commands.iter().map(|command| format!("git {}", quoted(command)));
        let text = format!("{}\n(in {place})", lines.collect::<Vec<_>>().join("\n"));
        let name = format!("git repository {place}");
        let target = Target { name, base: None, instruction: false };
        let summary = self.summary(&input);
        let effect = self.spec.usual_effect;
        Ok(Plan { summary, ..acting(&self.spec, input, effect, target, Preview::Text { text }) })
    }

    async fn invoke(&self, plan: Authorised<Plan>, cx: &ToolCx) -> Result<ToolOutcome, ToolError> {
        let plan = plan.into_inner();
        let steps = self.command.steps(&plan.arguments, cx)?;
        let mut all =
            Ran { output: String::new(), ending: Ending::Exited(0), left: Left::default() };
        for command in &steps.commands {
            let order = Order {
                argv: with_settings(command),
                folder: steps.folder.as_deref(),
                access: self.command.access(),
                network: self.command.network(),
                tool: plan.tool.clone(),
            };
            let ran = self.runtime.run(order, LIMIT, cx).await?;
            all.output.push_str(&ran.output);
            (all.ending, all.left) = (ran.ending, ran.left);
            if ran.ending != Ending::Exited(0) {
                break;
            }
        }
        Ok(outcome(&all, plan.summary))
    }
}
