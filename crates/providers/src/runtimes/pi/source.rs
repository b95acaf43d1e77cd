//! The sidecar as a source of models.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use onyx_types::{ErrorCode, Fault, Model, ModelFailure, ModelFailureClass};
use serde_json::Value;

use super::call::PiModel;
use super::protocol::{Reply, status};
use super::sidecar::{Replies, Supervisor};
use crate::failure::failure;
use crate::metadata::ModelFacts;
use crate::oauth::{LoginState, LoginStatus};
use crate::registry::{Locality, ModelSettings, ModelSource, ProviderKind};
use crate::runtimes::account::AccountBook;
use crate::runtimes::child::Launch;
use crate::runtimes::exec::ChildWrapper;
use crate::runtimes::program::on_path;
use crate::runtimes::subscription;
use crate::wire::AnswerTimeouts;

const USUAL_MODELS: [&str; 2] = ["anthropic/claude-sonnet-4-6", "anthropic/claude-opus-4-7"];
const NODE: &str = "node";
const CHECK_LIMIT: Duration = Duration::from_secs(30);

pub(super) const SIGN_IN: &str =
    "Sign in with Pi on the machine that Onyx runs on: start `pi` and enter /login.";

#[derive(Clone, Debug, PartialEq)]
pub struct PiSettings {
    /// The provider's name, the first part of its models' ids.
    pub name: String,
    /// The sidecar: a JavaScript file for `node`, or a program.
    pub command: PathBuf,
    /// Pi's file of sign-ins, if it is not at its usual place.
    pub auth_file: Option<PathBuf>,
    /// The address that replaces the providers' own.
    pub base_url: Option<String>,
    pub models: Vec<ModelSettings>,
    /// The part of our environment that may be passed on.
    pub environment: Vec<(String, OsString)>,
    /// The folder in which the sidecar runs.
    pub folder: PathBuf,
    pub wrapper: Option<ChildWrapper>,
    pub limits: PiLimits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PiLimits {
    /// The longest time from the start of a call to the first reply.
    pub first_byte: Duration,
    /// The longest time between two replies.
    pub idle: Duration,
    pub total: Duration,
    /// The idle time after which a process is ended.
    pub parked: Duration,
}

impl PiLimits {
    pub(super) fn waits(self) -> AnswerTimeouts {
        AnswerTimeouts { first_byte: self.first_byte, idle: self.idle, total: self.total }
    }
}

impl Default for PiLimits {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(180),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(600),
            parked: Duration::from_secs(300),
        }
    }
}

#[derive(Debug)]
pub struct PiSidecar(Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: PiSettings,
    pub(super) account: AccountBook,
    supervisor: Supervisor,
}

impl PiSidecar {
    pub fn new(settings: PiSettings) -> Self {
        let supervisor = Supervisor::new(settings.limits.parked);
        Self(Arc::new(Shared { settings, account: AccountBook::default(), supervisor }))
    }

    /// The id of the process, if it runs.
    pub fn process(&self) -> Option<u32> {
        self.0.supervisor.process_id()
    }
}

impl Shared {
    pub(super) async fn ask(
        &self,
        order: impl FnOnce(u64) -> Value,
    ) -> Result<Replies, ModelFailure> {
        let unable = |why: String| failure(ModelFailureClass::Unavailable, why);
        let launch = self.launch().map_err(|fault| unable(fault.message))?;
        let folder = launch.folder.clone();
        let made = tokio::task::spawn_blocking(move || std::fs::create_dir_all(folder)).await;
        made.map_err(|error| unable(error.to_string()))?
            .map_err(|error| unable(error.to_string()))?;
        self.supervisor.ask(&launch, order).await.map_err(unable)
    }

    fn launch(&self) -> Result<Launch, Fault> {
        let settings = &self.settings;
        let mut environment = settings.environment.clone();
        let mut set = |name: &str, value: OsString| environment.push((name.to_owned(), value));
        if let Some(file) = &settings.auth_file {
            set("PI_AUTH_FILE", file.into());
        }
        if let Some(base_url) = &settings.base_url {
            set("PI_BASE_URL", base_url.into());
        }
        if !settings.command.is_file() {
            return Err(self.missing(&format!("{} is not there", settings.command.display())));
        }
        let is_script =
            settings.command.extension().is_some_and(|ending| ending == "js" || ending == "mjs");
        let (program, arguments) = if is_script {
            let node = on_path(Path::new(NODE), &settings.environment);
            let node = node.ok_or_else(|| self.missing("there is no program `node`"))?;
            (node, vec![settings.command.clone().into()])
        } else {
            (settings.command.clone(), Vec::new())
        };
        let (folder, wrapper) = (settings.folder.clone(), settings.wrapper.clone());
        Ok(Launch { program, arguments, environment, folder, wrapper })
    }

    fn missing(&self, what: &str) -> Fault {
        let name = &self.settings.name;
        let message = format!(
            "the Pi sidecar is not on this machine: {what}. Build it with `make pi` in Onyx's \
             source (it needs Node 20 or later), or name it as `providers.{name}.command`"
        );
        Fault::new(ErrorCode::ProviderUnavailable, message)
            .with_hint("Install Node, build the sidecar with `make pi`, then sign in with Pi.")
    }

    async fn sign_ins(&self) -> Result<Vec<String>, String> {
        let mut replies = self.ask(status).await.map_err(|failure| failure.message)?;
        let reply = tokio::time::timeout(CHECK_LIMIT, replies.next()).await;
        match reply.map_err(|_| "the Pi sidecar does not answer".to_owned())?? {
            Reply::Status { sign_ins, .. } => {
                Ok(sign_ins.into_iter().map(|sign_in| sign_in.provider).collect())
            }
            Reply::Failed { message, .. } => Err(message),
            Reply::Ready { .. }
            | Reply::Text { .. }
            | Reply::Thinking { .. }
            | Reply::Call { .. }
            | Reply::Done { .. } => Err("the Pi sidecar answers something else".to_owned()),
        }
    }
}

impl ModelSource for PiSidecar {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Pi
    }

    fn locality(&self) -> Locality {
        Locality::Hosted
    }

    fn place(&self) -> String {
        self.0.settings.command.display().to_string()
    }

    fn models(&self) -> Vec<ModelSettings> {
        if self.absence().is_some() {
            return Vec::new();
        }
        subscription::models(&self.0.settings.models, &USUAL_MODELS)
    }

    fn facts(&self, _: &str) -> Option<ModelFacts> {
        Some(subscription::facts())
    }

    fn model(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        self.0.launch()?;
        if !name.contains('/') {
            let message =
                format!("`{name}` does not name a provider of Pi: write <provider>/<model>");
            return Err(Fault::new(ErrorCode::ModelNotFound, message)
                .with_hint("For example pi/anthropic/claude-sonnet-4-6."));
        }
        let context_window = subscription::window(&self.0.settings.models, name);
        Ok(Arc::new(PiModel {
            id: format!("{}/{name}", self.0.settings.name),
            model: name.to_owned(),
            context_window,
            shared: Arc::clone(&self.0),
        }))
    }

    fn obstacle(&self) -> Option<Fault> {
        self.0.launch().err()
    }

    fn absence(&self) -> Option<String> {
        self.0.launch().err().map(|fault| fault.message)
    }

    fn login(&self) -> Option<LoginStatus> {
        self.0.account.status()
    }

    fn sign_in_hint(&self) -> Option<String> {
        Some(format!("Pi has its own sign-in. {SIGN_IN}"))
    }

    /// Starts the sidecar and asks it who is signed in. No model is asked.
    fn check(&self) -> BoxFuture<'_, Result<(), Fault>> {
        async {
            self.0.launch()?;
            let unable = |why: String| Fault::new(ErrorCode::ProviderUnavailable, why);
            let sign_ins = self.0.sign_ins().await.map_err(unable)?;
            if sign_ins.is_empty() {
                let why = format!("Pi is not signed in. {SIGN_IN}");
                self.0.account.set(LoginStatus { error: Some(why.clone()), ..LoginStatus::NONE });
                return Err(Fault::new(ErrorCode::ProviderAuth, why));
            }
            let (state, account) = (LoginState::SignedIn, Some(sign_ins.join(", ")));
            self.0.account.set(LoginStatus { state, account, ..LoginStatus::NONE });
            Ok(())
        }
        .boxed()
    }
}
