//! Reads the config's sections `connectors` (which OpenClaw calls `channels`) and `bindings`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use onyx_types::{AgentId, ErrorCode, Fault};
use serde::Deserialize;

use onyx_storage::AccountKey;

use crate::connector::Connector;
use crate::mail::{MailSettings, Mailer};

/// The networks that this program can talk to without a plugin.
pub const NETWORKS: &[&str] = &["telegram", "discord", "webhook", "widget"];

/// The settings under `connectors`: accounts by network.
pub type ConnectorsSettings = BTreeMap<String, NetworkSettings>;

/// The accounts of a network, by name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NetworkSettings {
    pub accounts: BTreeMap<String, AccountSettings>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AccountSettings {
    /// The token, or a reference to it as `secret:<name>` or `env:<NAME>`.
    #[serde(alias = "botToken")]
    pub token: Option<Secret>,
    /// The address of the network's API, if it is not the usual one.
    pub api_base: Option<String>,
    pub mode: Option<Mode>,
    /// Peers that need no pairing, and that talk to the owner's agents.
    #[serde(alias = "allowFrom")]
    pub allow: Vec<PeerName>,
    pub groups: Option<GroupRule>,
    pub enabled: Option<bool>,
    /// The shared secret with which both sides of a webhook sign.
    pub secret: Option<Secret>,
    /// The address to which the answers of a webhook are sent.
    pub url: Option<String>,
    /// The sites whose pages may show the widget, written as browsers send them.
    pub origins: Vec<String>,
    /// Whether visitors of the widget are answered without pairing, and without anything private.
    pub open: Option<bool>,
}

/// A peer's id, which the config may write with or without quotes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum PeerName {
    Number(i64),
    Text(String),
}

impl std::fmt::Display for PeerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Poll,
    Webhook,
}

/// When the bot answers in groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupRule {
    /// The bot answers when it is mentioned or replied to.
    #[default]
    Mention,
    Off,
}

/// Says which agent answers which peers. The most specific match wins; among equally specific ones,
/// the first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    pub agent_id: String,
    #[serde(default, rename = "match")]
    pub matches: BindingMatch,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BindingMatch {
    pub channel: Option<String>,
    pub account_id: Option<String>,
    pub guild_id: Option<PeerName>,
    pub peer: Option<PeerMatch>,
    pub thread: Option<PeerName>,
}

/// A peer's id, or the form `{kind, id}` that OpenClaw uses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum PeerMatch {
    Id(PeerName),
    Object { id: PeerName },
}

impl PeerMatch {
    pub fn id(&self) -> String {
        match self {
            Self::Id(id) | Self::Object { id } => id.to_string(),
        }
    }
}

/// What transcribes recordings: a server with OpenAI's `/audio/transcriptions` API, or a command of
/// this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TranscriberSettings {
    /// A program and its arguments, in which `{file}` stands for the recording's path. Its output
    /// is the transcript.
    pub command: Vec<String>,
    /// Folders that the command may read besides those of the system, such as the folder of its
    /// models.
    pub readable: Vec<PathBuf>,
    /// The whole address of the server, including `/audio/transcriptions`.
    pub url: String,
    /// The key of the server, or a reference to it as `secret:<name>` or `env:<NAME>`.
    pub api_key: Option<Secret>,
    pub model: Option<String>,
}

/// The transcriber's settings after the key was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedTranscriber {
    Server(TranscriberServer),
    Command(TranscriberCommand),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriberCommand {
    pub(crate) argv: Vec<String>,
    pub(crate) readable: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriberServer {
    pub(crate) url: String,
    pub(crate) api_key: Secret,
    pub(crate) model: String,
}

/// An account that the config asks for, with its token looked up.
#[derive(Clone, PartialEq)]
pub struct Account {
    pub key: AccountKey,
    pub token: Secret,
    pub api_base: Option<String>,
    pub mode: Mode,
    pub allow: Vec<String>,
    pub groups: GroupRule,
    pub secret: Secret,
    pub url: Option<String>,
    pub origins: Vec<String>,
    pub visitors: Visitors,
    /// The connector of a network that another part of this process implements; `None` for the
    /// networks of this crate.
    pub provided: Option<ProvidedConnector>,
}

/// A network that another part of this process implements. Two values are equal only if they are
/// the same object.
#[derive(Clone)]
pub struct ProvidedConnector(Arc<dyn Connector>);

impl ProvidedConnector {
    pub fn connector(&self) -> Arc<dyn Connector> {
        Arc::clone(&self.0)
    }
}

impl PartialEq for ProvidedConnector {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Who may talk to an agent through a widget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visitors {
    /// Each visitor needs a code that the owner approves.
    #[default]
    Paired,
    /// All visitors may talk to it; their answers contain nothing private of the owner.
    Open,
}

/// A text that is never shown or logged.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// All settings of connectors, checked and resolved.
#[derive(Clone, Default)]
pub struct ResolvedConnectors {
    /// Accounts that this process serves.
    pub accounts: Vec<Account>,
    /// Accounts that another gateway serves.
    pub elsewhere: Vec<AccountElsewhere>,
    /// Accounts that cannot work with their settings, each with the reason.
    pub unusable: Vec<(AccountKey, String)>,
    pub bindings: Vec<Binding>,
    pub transcriber: Option<ResolvedTranscriber>,
    pub mail: Option<Mailer>,
}

/// An account that another gateway serves.
#[derive(Clone)]
pub struct AccountElsewhere {
    pub account: Account,
    /// The name of that gateway, if it is known.
    pub gateway: Option<String>,
}

impl ResolvedConnectors {
    /// Checks the transcriber's settings and adds them.
    pub fn with_transcriber(
        mut self,
        settings: &TranscriberSettings,
        look_up: LookUp<'_>,
    ) -> Result<Self, Fault> {
        if !settings.command.is_empty() {
            if !settings.url.is_empty() {
                let message = "connectors.transcriber: set either `url` or `command`, not both";
                return Err(flaw(message.to_owned()));
            }
            let (argv, readable) = (settings.command.clone(), settings.readable.clone());
            self.transcriber =
                Some(ResolvedTranscriber::Command(TranscriberCommand { argv, readable }));
            return Ok(self);
        }
        if settings.url.is_empty() {
            let message = "connectors.transcriber: it needs a `url` or a `command`";
            return Err(flaw(message.to_owned()));
        }
        let key = match &settings.api_key {
            Some(reference) => look_up(reference.reveal())?.unwrap_or_default(),
            None => String::new(),
        };
        self.transcriber = Some(ResolvedTranscriber::Server(TranscriberServer {
            url: settings.url.clone(),
            api_key: Secret::new(key),
            model: settings.model.clone().unwrap_or_else(|| "whisper-1".to_owned()),
        }));
        Ok(self)
    }

    /// Checks the mail server's settings and adds them.
    pub fn with_mail(
        mut self,
        settings: &MailSettings,
        look_up: LookUp<'_>,
    ) -> Result<Self, Fault> {
        self.mail = Some(Mailer::new(settings, look_up)?);
        Ok(self)
    }

    /// All secret values, so that other parts can mask them.
    pub fn secrets(&self) -> Vec<String> {
        let all = self.accounts.iter().flat_map(|account| [&account.token, &account.secret]);
        let key = self.transcriber.iter().filter_map(|transcriber| match transcriber {
            ResolvedTranscriber::Server(server) => Some(&server.api_key),
            ResolvedTranscriber::Command(_) => None,
        });
        let all = all.chain(key);
        let all = all.chain(self.mail.iter().map(Mailer::secret));
        all.filter(|secret| !secret.is_empty()).map(|secret| secret.reveal().to_owned()).collect()
    }
}

/// Resolves a reference like `secret:name` to its value.
pub type LookUp<'a> = &'a dyn Fn(&str) -> Result<Option<String>, Fault>;

/// Checks the sections and resolves the tokens. Malformed settings are an error; an account with a
/// missing token is only unusable, because the others can still work.
pub fn resolve_connectors(
    settings: &ConnectorsSettings,
    bindings: &[Binding],
    knows_agent: &dyn Fn(&AgentId) -> bool,
    look_up: LookUp<'_>,
) -> Result<ResolvedConnectors, Fault> {
    check_bindings(bindings, knows_agent)?;
    let mut resolved =
        ResolvedConnectors { bindings: bindings.to_vec(), ..ResolvedConnectors::default() };
    for (network, settings) in settings {
        if !NETWORKS.contains(&network.as_str()) {
            let known = NETWORKS.join(", ");
            return Err(flaw(format!(
                "connectors.{network}: there is no such network; the networks are {known}"
            )));
        }
        for (account, settings) in &settings.accounts {
            let at = format!("connectors.{network}.accounts.{account}");
            if !is_name(account) {
                return Err(flaw(format!(
                    "{at}: an account's name may have a-z, 0-9, - and _ only"
                )));
            }
            if settings.enabled == Some(false) {
                continue;
            }
            let key = AccountKey { network: network.clone(), account: account.clone() };
            match resolve(key.clone(), settings, look_up) {
                Ok(account) => resolved.accounts.push(account),
                Err(why) => resolved.unusable.push((key, why)),
            }
        }
    }
    Ok(resolved)
}

impl Account {
    /// Builds an account whose settings contain values instead of references, to test it before
    /// anything is stored.
    pub fn with_plain_values(key: AccountKey, settings: &AccountSettings) -> Result<Self, String> {
        resolve(key, settings, &|text| Ok(Some(text.to_owned())))
    }

    /// Builds an account on a network that a plugin provides.
    pub fn provided(network: String, account: String, connector: Arc<dyn Connector>) -> Self {
        Self {
            key: AccountKey { network, account },
            token: Secret::default(),
            api_base: None,
            mode: Mode::default(),
            allow: Vec::new(),
            groups: GroupRule::default(),
            secret: Secret::default(),
            url: None,
            origins: Vec::new(),
            visitors: Visitors::default(),
            provided: Some(ProvidedConnector(connector)),
        }
    }
}

fn resolve(
    key: AccountKey,
    settings: &AccountSettings,
    look_up: LookUp<'_>,
) -> Result<Account, String> {
    let value =
        |reference: &Option<Secret>, name: &str| match reference.as_ref().map(Secret::reveal) {
            None | Some("") => Err(format!("it has no `{name}`")),
            Some(text) => match look_up(text) {
                Ok(Some(value)) if !value.is_empty() => Ok(Secret::new(value)),
                Ok(_) => Err(format!("`{name}`: nothing is stored under {text}")),
                Err(fault) => Err(format!("`{name}`: {}", fault.message)),
            },
        };
    let is_webhook = key.network == "webhook";
    let has_token = !is_webhook && key.network != "widget";
    let mode = settings.mode.unwrap_or_default();
    let token = if has_token { value(&settings.token, "token")? } else { Secret::default() };
    let secret = if is_webhook || mode == Mode::Webhook {
        value(&settings.secret, "secret")?
    } else {
        Secret::default()
    };
    Ok(Account {
        key,
        token,
        api_base: settings.api_base.clone(),
        mode,
        allow: settings.allow.iter().map(ToString::to_string).collect(),
        groups: settings.groups.unwrap_or_default(),
        secret,
        url: settings.url.clone(),
        origins: settings.origins.iter().map(|origin| plain_origin(origin)).collect(),
        visitors: match settings.open {
            Some(true) => Visitors::Open,
            Some(false) | None => Visitors::Paired,
        },
        provided: None,
    })
}

/// The origin in the form in which browsers send it.
pub(crate) fn plain_origin(origin: &str) -> String {
    origin.trim_end_matches('/').to_ascii_lowercase()
}

fn check_bindings(
    bindings: &[Binding],
    knows_agent: &dyn Fn(&AgentId) -> bool,
) -> Result<(), Fault> {
    for (index, binding) in bindings.iter().enumerate() {
        let at = format!("bindings[{index}]");
        let agent: AgentId =
            binding.agent_id.parse().map_err(|error| flaw(format!("{at}.agentId: {error}")))?;
        if !knows_agent(&agent) {
            return Err(flaw(format!("{at}.agentId: there is no agent {agent}")));
        }
    }
    Ok(())
}

pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain)
}

fn flaw(message: String) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message)
}
