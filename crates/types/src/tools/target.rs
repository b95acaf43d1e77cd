use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{AgentId, Hash, ModelId, SessionId, ToolName};

/// A target of a plan. Its kind is stored beside its text, so that a command or an address is never
/// taken for a file of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file of the home.
    File(HomePath),
    /// A folder of the home, with everything in it.
    Folder(HomePath),
    /// One entry of a log, by the log's path and the entry's mark.
    LogEntry(String),
    Address(Address),
    /// A command line, quoted as a shell would read it.
    Command(String),
    /// A process that an earlier call started.
    Process(u64),
    /// A command line for Docker.
    Container(String),
    /// A repository, by the folder name that people use.
    Repository(String),
    /// A branch of a remote repository.
    Branch(String),
    Index,
    WebSearch,
    /// The list of the person's conversations.
    Sessions,
    /// The list of the person's jobs.
    Jobs,
    Session(SessionId),
    /// The view that the person is looking at.
    View(String),
    Agent(AgentId),
    /// The settings of an agent, by their path in the config.
    AgentSettings(AgentId),
    Model(ModelId),
    /// The run continues with a model that is chosen later.
    ModelChoice,
    Person,
    Diagram,
    /// Another program that offers tools, and the tool that is used.
    Peer(ToolName),
    /// A target that was stored before kinds were stored: only its text is known.
    Unlabelled(String),
}

/// A target with the content it had when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanTarget {
    pub target: Target,
    /// The hash of the content that the plan builds on; `None` if the target did not exist.
    pub base: Option<Hash>,
    /// Whether the target is a file that steers agents. A tainted run may write such a file only
    /// with a person's approval.
    pub instruction: bool,
}

/// The path of a file or folder in the home: `people/ada/vault/notes.md`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HomePath(String);

/// An address that a call reaches, in the form that people see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

impl HomePath {
    pub fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HomePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Address {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Scheme, host and port. `None` for an ambiguous address.
    pub fn site(&self) -> Option<String> {
        let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '@' | '\\');
        if self.0.contains(odd) {
            return None;
        }
        let (scheme, rest) = self.0.split_once("://")?;
        let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
        Some(format!("{scheme}://{host}").to_lowercase())
    }
}

impl Target {
    /// The file, if the target is one. The store decides whether tools may change it.
    pub fn file(&self) -> Option<HomePath> {
        match self {
            Self::File(path) => Some(path.clone()),
            // Before kinds were stored, only a person's files were named by such paths.
            Self::Unlabelled(text) if text.starts_with("people/") => Some(HomePath::new(text)),
            _ => None,
        }
    }

    pub fn address(&self) -> Option<Address> {
        match self {
            Self::Address(address) => Some(address.clone()),
            Self::Unlabelled(text) => Some(Address::new(text)),
            _ => None,
        }
    }

    /// Whether both are the same target. One of the two may have been stored before kinds were
    /// stored.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unlabelled(text), other) | (other, Self::Unlabelled(text)) => {
                *text == other.to_string()
            }
            (own, other) => own == other,
        }
    }

    /// The name of the kind that is stored with the text.
    fn kind(&self) -> Option<&'static str> {
        Some(match self {
            Self::File(_) => "file",
            Self::Folder(_) => "folder",
            Self::LogEntry(_) => "log_entry",
            Self::Address(_) => "address",
            Self::Command(_) => "command",
            Self::Process(_) => "process",
            Self::Container(_) => "container",
            Self::Repository(_) => "repository",
            Self::Branch(_) => "branch",
            Self::Index => "index",
            Self::WebSearch => "web_search",
            Self::Sessions => "sessions",
            Self::Jobs => "jobs",
            Self::Session(_) => "session",
            Self::View(_) => "view",
            Self::Agent(_) => "agent",
            Self::AgentSettings(_) => "agent_settings",
            Self::Model(_) => "model",
            Self::ModelChoice => "model_choice",
            Self::Person => "person",
            Self::Diagram => "diagram",
            Self::Peer(_) => "peer",
            Self::Unlabelled(_) => return None,
        })
    }

    /// The target of a kind and a text. If they do not match, the target is only a text, which is
    /// neither a file nor an address of any plan.
    fn of(kind: Option<&str>, text: String) -> Self {
        let after = |prefix: &str| text.strip_prefix(prefix).unwrap_or_default().to_owned();
        let read = match kind {
            Some("file") => Some(Self::File(HomePath(text.clone()))),
            Some("folder") => Some(Self::Folder(HomePath(text.clone()))),
            Some("log_entry") => Some(Self::LogEntry(text.clone())),
            Some("address") => Some(Self::Address(Address(text.clone()))),
            Some("command") => Some(Self::Command(text.clone())),
            Some("process") => after(PROCESS).parse().ok().map(Self::Process),
            Some("container") => Some(Self::Container(text.clone())),
            Some("repository") => Some(Self::Repository(after(REPOSITORY))),
            Some("branch") => Some(Self::Branch(text.clone())),
            Some("index") => Some(Self::Index),
            Some("web_search") => Some(Self::WebSearch),
            Some("sessions") => Some(Self::Sessions),
            Some("jobs") => Some(Self::Jobs),
            Some("session") => after(SESSION).parse().ok().map(Self::Session),
            Some("view") => Some(Self::View(text.clone())),
            Some("agent") => after(AGENT).parse().ok().map(Self::Agent),
            Some("agent_settings") => after(AGENT_SETTINGS).parse().ok().map(Self::AgentSettings),
            Some("model") => Some(Self::Model(ModelId::new(text.clone()))),
            Some("model_choice") => Some(Self::ModelChoice),
            Some("person") => Some(Self::Person),
            Some("diagram") => Some(Self::Diagram),
            Some("peer") => text.parse().ok().map(Self::Peer),
            Some(_) | None => None,
        };
        read.unwrap_or(Self::Unlabelled(text))
    }
}

const PROCESS: &str = "process ";
const REPOSITORY: &str = "git repository ";
const SESSION: &str = "session ";
const AGENT: &str = "agent ";
const AGENT_SETTINGS: &str = "agents/";

/// The form for people.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) | Self::Folder(path) => path.fmt(f),
            Self::Address(address) => address.fmt(f),
            Self::LogEntry(text)
            | Self::Command(text)
            | Self::Container(text)
            | Self::Branch(text)
            | Self::View(text)
            | Self::Unlabelled(text) => f.write_str(text),
            Self::Process(id) => write!(f, "{PROCESS}{id}"),
            Self::Repository(folder) => write!(f, "{REPOSITORY}{folder}"),
            Self::Index => f.write_str("index"),
            Self::WebSearch => f.write_str("web search"),
            Self::Sessions => f.write_str("sessions"),
            Self::Jobs => f.write_str("jobs"),
            Self::Session(session) => write!(f, "{SESSION}{session}"),
            Self::Agent(agent) => write!(f, "{AGENT}{agent}"),
            Self::AgentSettings(agent) => write!(f, "{AGENT_SETTINGS}{agent}"),
            Self::Model(model) => model.fmt(f),
            Self::ModelChoice => f.write_str("model"),
            Self::Person => f.write_str("the person"),
            Self::Diagram => f.write_str("diagram"),
            Self::Peer(tool) => tool.fmt(f),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PlanTarget {
    /// A target without content that the plan builds on; it steers no agent.
    pub const fn plain(target: Target) -> Self {
        Self { target, base: None, instruction: false }
    }
}

impl From<Target> for PlanTarget {
    fn from(target: Target) -> Self {
        Self::plain(target)
    }
}

/// The form in a ledger: `name` as it was before kinds were stored, with `kind` beside it.
#[derive(Serialize, Deserialize)]
struct LedgerTarget {
    name: String,
    base: Option<Hash>,
    instruction: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
}

impl Serialize for PlanTarget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kept = LedgerTarget {
            name: self.target.to_string(),
            base: self.base,
            instruction: self.instruction,
            kind: self.target.kind().map(str::to_owned),
        };
        kept.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PlanTarget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let LedgerTarget { name, base, instruction, kind } =
            LedgerTarget::deserialize(deserializer)?;
        Ok(Self { target: Target::of(kind.as_deref(), name), base, instruction })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn all() -> Vec<Target> {
        let session = "0190a5e0-0000-7000-8000-000000000001".parse().unwrap();
        vec![
            Target::File(HomePath::new("people/ada/vault/a.md")),
            Target::Folder(HomePath::new("people/ada/vault")),
            Target::LogEntry("people/ada/memory/main/daily/2026-01-01.md#1-ab".to_owned()),
            Target::Address(Address::new("https://example.org/a")),
            Target::Command("people/ada/vault/run.sh --all".to_owned()),
            Target::Process(3),
            Target::Container("docker ps".to_owned()),
            Target::Repository("the vault".to_owned()),
            Target::Branch("refs/heads/main at https://example.org/r".to_owned()),
            Target::Index,
            Target::WebSearch,
            Target::Sessions,
            Target::Jobs,
            Target::Session(session),
            Target::View("view page/plan".to_owned()),
            Target::Agent("helper".parse().unwrap()),
            Target::AgentSettings("helper".parse().unwrap()),
            Target::Model(ModelId::new("local/small")),
            Target::ModelChoice,
            Target::Person,
            Target::Diagram,
            Target::Peer("mcp:files/read".parse().unwrap()),
            Target::Unlabelled("people/ada/vault/old.md".to_owned()),
        ]
    }

    #[test]
    fn every_target_is_read_back_as_it_was_written() {
        for target in all() {
            let kept = PlanTarget { target, base: Some(Hash::of(b"x")), instruction: true };
            let text = serde_json::to_string(&kept).unwrap();
            assert_eq!(serde_json::from_str::<PlanTarget>(&text).unwrap(), kept, "{text}");
        }
    }

    #[test]
    fn a_row_from_before_kinds_is_written_again_as_it_was() {
        let old = json!({"name": "people/ada/vault/a.md", "base": null, "instruction": false});
        let read: PlanTarget = serde_json::from_value(old.clone()).unwrap();
        assert_eq!(read.target.file(), Some(HomePath::new("people/ada/vault/a.md")));
        assert_eq!(serde_json::to_value(&read).unwrap(), old);
    }

    #[test]
    fn nothing_but_a_file_is_a_file_whatever_its_text_says() {
        let files: Vec<Target> = all().into_iter().filter(|it| it.file().is_some()).collect();
        let old = Target::Unlabelled("people/ada/vault/old.md".to_owned());
        assert_eq!(files, [Target::File(HomePath::new("people/ada/vault/a.md")), old]);
    }

    #[test]
    fn an_address_names_its_site_only_where_it_reads_in_one_way() {
        let site = |text: &str| Address::new(text).site();
        assert_eq!(site("https://Ex.org:8/a?b#c").as_deref(), Some("https://ex.org:8"));
        assert_eq!(site("http://ex.org").as_deref(), Some("http://ex.org"));
        for odd in ["ex.org/a", "http://", "http://good@evil/", "http://good\\@evil", "http://a b/"]
        {
            assert_eq!(site(odd), None, "{odd}");
        }
    }
}
