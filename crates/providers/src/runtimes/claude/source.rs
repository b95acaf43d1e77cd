//! The CLI as a source of models: where its program is, how it is started, and which facts of it
//! are known.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use onyx_types::{Clock, ErrorCode, Fault, Model, ModelFailure, ModelFailureClass};

use super::account;
use super::call::ClaudeModel;
use super::conversation::{Conversation, Identity};
use super::failure::SIGN_IN;
use super::pool::Pool;
use crate::Secret;
use crate::failure::failure;
use crate::metadata::ModelFacts;
use crate::oauth::{LoginState, LoginStatus};
use crate::registry::{Locality, ModelSettings, ModelSource, ProviderKind};
use crate::runtimes::account::AccountBook;
use crate::runtimes::child::{Child, Launch, Spawner};
use crate::runtimes::exec::ChildWrapper;
use crate::runtimes::program::on_path;
use crate::runtimes::subscription;
use crate::wire::AnswerTimeouts;

/// Names that every version of the CLI knows. The CLI decides which model each of them is.
const USUAL_MODELS: [&str; 3] = ["sonnet", "opus", "haiku"];
const PROGRAM: &str = "claude";

/// The environment that restricts the CLI to calling the model. With it the CLI reads no files that
/// a message names (`@path`) and no instruction files, does not update itself, reports nothing, and
/// does not shorten the results of tools.
const SETTINGS: [(&str, &str); 12] = [
    ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
    ("CLAUDE_CODE_DISABLE_FILE_MENTIONS", "1"),
    ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1"),
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_AUTO_COMPACT", "1"),
    ("ENABLE_TOOL_SEARCH", "false"),
    ("MAX_MCP_OUTPUT_TOKENS", "1000000"),
    // A tool may wait for a person for as long as the process is kept.
    ("MCP_TOOL_TIMEOUT", "86400000"),
];

#[derive(Clone, Debug, PartialEq)]
pub struct ClaudeSettings {
    /// The provider's name, the first part of its models' ids.
    pub name: String,
    /// The path of the program. Without it the program is looked up on the `PATH`.
    pub command: Option<PathBuf>,
    /// A token of `claude setup-token`, for machines on which a person cannot sign in.
    pub token: Option<Secret>,
    /// The address that replaces Anthropic's own.
    pub base_url: Option<String>,
    pub thinking_budget: Option<u32>,
    pub models: Vec<ModelSettings>,
    /// The part of our environment that may be passed on.
    pub environment: Vec<(String, OsString)>,
    /// An empty folder in which the CLI runs.
    pub folder: PathBuf,
    pub wrapper: Option<ChildWrapper>,
    pub limits: ClaudeLimits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaudeLimits {
    /// The longest time from the start of a call to the first line.
    pub first_byte: Duration,
    /// The longest time between two lines.
    pub idle: Duration,
    pub total: Duration,
    /// The most processes at once.
    pub processes: usize,
    /// The idle time after which a process is ended.
    pub parked: Duration,
}

impl ClaudeLimits {
    pub(super) fn waits(self) -> AnswerTimeouts {
        AnswerTimeouts { first_byte: self.first_byte, idle: self.idle, total: self.total }
    }
}

impl Default for ClaudeLimits {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(180),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(600),
            processes: 4,
            parked: Duration::from_secs(300),
        }
    }
}

#[derive(Debug)]
pub struct ClaudeCli(Arc<Shared>);

pub(super) struct Shared {
    pub(super) settings: ClaudeSettings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) pool: Pool,
    pub(super) account: AccountBook,
    spawner: Spawner,
    secrets: Vec<Secret>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl ClaudeCli {
    pub fn new(settings: ClaudeSettings, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared {
            pool: Pool::new(settings.limits.processes, settings.limits.parked),
            account: AccountBook::default(),
            spawner: Spawner::new(),
            secrets: settings.token.iter().cloned().collect(),
            clock,
            settings,
        }))
    }

    /// The ids of the processes that wait for their next call.
    pub fn parked_processes(&self) -> Vec<u32> {
        self.0.pool.processes()
    }
}

impl Shared {
    pub(super) async fn start(&self, identity: Identity) -> Result<Conversation, ModelFailure> {
        let launch = self
            .launch(Some(&identity))
            .map_err(|fault| failure(ModelFailureClass::Unavailable, fault.message))?;
        let cannot = |why: String| {
            let message = format!("the Claude CLI cannot be started: {why}");
            failure(ModelFailureClass::Unavailable, message)
        };
        let room = self.pool.room().await;
        let room = room.ok_or_else(|| cannot("Onyx is shutting down".to_owned()))?;
        let folder = launch.folder.clone();
        let made = tokio::task::spawn_blocking(move || std::fs::create_dir_all(folder)).await;
        made.map_err(|error| cannot(error.to_string()))?
            .map_err(|error| cannot(error.to_string()))?;
        let child = Child::start(&launch, &self.spawner).await;
        let child = child.map_err(|error| cannot(error.to_string()))?;
        Ok(Conversation::new(child, identity, room))
    }

    pub(super) fn masked(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| secret.mask_in(&text))
    }

    fn launch(&self, identity: Option<&Identity>) -> Result<Launch, Fault> {
        let settings = &self.settings;
        let mut environment = settings.environment.clone();
        let mut set = |name: &str, value: &str| environment.push((name.to_owned(), value.into()));
        for (name, value) in SETTINGS {
            set(name, value);
        }
        if let Some(token) = &settings.token {
            set("CLAUDE_CODE_OAUTH_TOKEN", token.reveal());
        }
        if let Some(base_url) = &settings.base_url {
            set("ANTHROPIC_BASE_URL", base_url);
        }
        if let Some(budget) = settings.thinking_budget {
            set("MAX_THINKING_TOKENS", &budget.to_string());
        }
        if let Some(most @ 1..) = identity.map(|identity| identity.max_output_tokens) {
            set("CLAUDE_CODE_MAX_OUTPUT_TOKENS", &most.to_string());
        }
        Ok(Launch {
            program: self.program()?,
            arguments: identity.map(|identity| arguments(&identity.model)).unwrap_or_default(),
            environment,
            folder: settings.folder.clone(),
            wrapper: settings.wrapper.clone(),
        })
    }

    /// Looks up the program each time, because it may have been installed meanwhile.
    fn program(&self) -> Result<PathBuf, Fault> {
        let settings = &self.settings;
        let found = match &settings.command {
            Some(command) if command.components().count() > 1 => {
                command.is_file().then(|| command.clone())
            }
            Some(command) => on_path(command, &settings.environment),
            None => on_path(Path::new(PROGRAM), &settings.environment),
        };
        found.ok_or_else(|| self.not_installed())
    }

    fn not_installed(&self) -> Fault {
        let name = &self.settings.name;
        let looked_for = match &self.settings.command {
            Some(command) => format!("there is no program {}", command.display()),
            None => "there is no program `claude` on the PATH of Onyx".to_owned(),
        };
        let message = format!(
            "Claude Code is not on this machine: {looked_for}. Install it (npm install -g \
             @anthropic-ai/claude-code), or name it as `providers.{name}.command`"
        );
        Fault::new(ErrorCode::ProviderUnavailable, message)
            .with_hint("Install Claude Code on the machine that Onyx runs on, then sign in there.")
    }
}

fn arguments(model: &str) -> Vec<OsString> {
    let fixed = [
        "-p",
        "--output-format",
        "stream-json",
        "--input-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
        "--tools",
        "",
        "--strict-mcp-config",
        "--mcp-config",
        r#"{"mcpServers":{"host":{"type":"sdk","name":"host"}}}"#,
        "--allowedTools",
        "mcp__host",
        // Nothing of the person's own set-up is used: no hooks, no settings, no commands, no saved
        // session.
        "--setting-sources",
        "",
        "--disable-slash-commands",
        "--no-session-persistence",
        "--model",
    ];
    fixed.into_iter().chain([model]).map(OsString::from).collect()
}

impl ModelSource for ClaudeCli {
    fn kind(&self) -> ProviderKind {
        ProviderKind::ClaudeCli
    }

    /// The program runs on this machine, but the model does not.
    fn locality(&self) -> Locality {
        Locality::Hosted
    }

    fn place(&self) -> String {
        let program = self.0.program();
        program.map_or_else(|_| PROGRAM.to_owned(), |program| program.display().to_string())
    }

    fn models(&self) -> Vec<ModelSettings> {
        if self.0.program().is_err() {
            return Vec::new();
        }
        subscription::models(&self.0.settings.models, &USUAL_MODELS)
    }

    fn facts(&self, _: &str) -> Option<ModelFacts> {
        Some(subscription::facts())
    }

    fn model(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        self.0.program()?;
        let context_window = subscription::window(&self.0.settings.models, name);
        Ok(Arc::new(ClaudeModel {
            id: format!("{}/{name}", self.0.settings.name),
            model: name.to_owned(),
            context_window,
            shared: Arc::clone(&self.0),
        }))
    }

    fn obstacle(&self) -> Option<Fault> {
        self.0.program().err()
    }

    fn absence(&self) -> Option<String> {
        self.0.program().err().map(|fault| fault.message)
    }

    fn secrets(&self) -> &[Secret] {
        &self.0.secrets
    }

    fn login(&self) -> Option<LoginStatus> {
        self.0.account.status()
    }

    fn sign_in_hint(&self) -> Option<String> {
        Some(format!("The Claude CLI has its own sign-in: {SIGN_IN}."))
    }

    /// Asks the CLI whether it is signed in. No model is called, because that would use the quota.
    fn check(&self) -> BoxFuture<'_, Result<(), Fault>> {
        async {
            let launch = self.0.launch(None)?;
            let unable = |why: String| Fault::new(ErrorCode::ProviderUnavailable, why);
            let folder = launch.folder.clone();
            let made = tokio::task::spawn_blocking(move || std::fs::create_dir_all(folder)).await;
            made.map_err(|error| unable(error.to_string()))?
                .map_err(|error| unable(error.to_string()))?;
            let status = account::look(&launch).await.map_err(unable)?;
            self.0.account.set(status.clone());
            if status.state == LoginState::SignedIn {
                return Ok(());
            }
            Err(Fault::new(ErrorCode::ProviderAuth, status.error.unwrap_or_default()))
        }
        .boxed()
    }
}
