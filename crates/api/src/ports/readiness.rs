use futures::future::BoxFuture;
use onyx_knowledge::Progress;
use onyx_types::PersonId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Gateways;

/// The dependencies of this process.
pub trait Readiness: Send + Sync {
    /// The dependencies that it cannot work well without, checked again for every `/ready`.
    fn dependencies(&self) -> BoxFuture<'_, Vec<Dependency>>;

    /// All dependencies with their hints, including the optional ones, as one person is shown them.
    fn health<'a>(&'a self, person: &'a PersonId) -> BoxFuture<'a, Vec<Dependency>>;

    /// The gateways that share the database.
    fn gateways(&self) -> &dyn Gateways;
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Dependency {
    /// The kind of the dependency, and after a colon the instance.
    pub name: String,
    pub kind: DependencyKind,
    /// The provider, server, plugin or account, where there are several of a kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    pub state: DependencyState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The progress of work on it, such as a download.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DependencyKind {
    Config,
    /// The database and the files of the home.
    Storage,
    /// The object store of several gateways.
    Objects,
    Provider,
    /// Search in memory, where it works only in part.
    Memory,
    /// The free space.
    Disk,
    Index,
    Embedder,
    /// The search engine for the web.
    Search,
    Sandbox,
    Docker,
    Menos,
    Connector,
    Mcp,
    Plugin,
    Jobs,
    /// The subscription gateway.
    Gateway,
}

/// Which dependency it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyName {
    kind: DependencyKind,
    instance: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DependencyState {
    /// It is not set up, and nothing needs it.
    Off,
    Ok,
    /// Part of it does not work.
    Degraded,
    /// The server cannot work without it.
    Down,
}

impl DependencyKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Storage => "storage",
            Self::Objects => "objects",
            Self::Provider => "provider",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Index => "index",
            Self::Embedder => "embedder",
            Self::Search => "search",
            Self::Sandbox => "sandbox",
            Self::Docker => "docker",
            Self::Menos => "menos",
            Self::Connector => "connector",
            Self::Mcp => "mcp",
            Self::Plugin => "plugin",
            Self::Jobs => "jobs",
            Self::Gateway => "gateway",
        }
    }

    /// One of several of this kind.
    pub fn named(self, instance: impl Into<String>) -> DependencyName {
        DependencyName { kind: self, instance: Some(instance.into()) }
    }
}

impl From<DependencyKind> for DependencyName {
    fn from(kind: DependencyKind) -> Self {
        Self { kind, instance: None }
    }
}

impl Dependency {
    pub fn ok(name: impl Into<DependencyName>) -> Self {
        let (state, DependencyName { kind, instance }) = (DependencyState::Ok, name.into());
        let name = match &instance {
            Some(instance) => format!("{}:{instance}", kind.as_str()),
            None => kind.as_str().to_owned(),
        };
        Self { name, kind, instance, state, detail: None, hint: None, progress: None }
    }

    pub fn off(name: impl Into<DependencyName>, detail: impl Into<String>) -> Self {
        Self::in_state(name, DependencyState::Off, detail)
    }

    pub fn degraded(name: impl Into<DependencyName>, detail: impl Into<String>) -> Self {
        Self::in_state(name, DependencyState::Degraded, detail)
    }

    pub fn down(name: impl Into<DependencyName>, detail: impl Into<String>) -> Self {
        Self::in_state(name, DependencyState::Down, detail)
    }

    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    fn in_state(
        name: impl Into<DependencyName>,
        state: DependencyState,
        detail: impl Into<String>,
    ) -> Self {
        Self { state, detail: Some(detail.into()), ..Self::ok(name) }
    }
}
