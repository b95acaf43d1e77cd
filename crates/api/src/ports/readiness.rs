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

    /// All dependencies, optional ones too, as one person is shown them: each with what to do.
    fn health<'a>(&'a self, person: &'a PersonId) -> BoxFuture<'a, Vec<Dependency>>;

    /// The gateways that share the database.
    fn gateways(&self) -> &dyn Gateways;
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Dependency {
    /// The kind of the dependency, and its name after a colon.
    pub name: String,
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

impl Dependency {
    pub fn ok(name: impl Into<String>) -> Self {
        let (state, name) = (DependencyState::Ok, name.into());
        Self { name, state, detail: None, hint: None, progress: None }
    }

    pub fn off(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::in_state(name, DependencyState::Off, detail)
    }

    pub fn degraded(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::in_state(name, DependencyState::Degraded, detail)
    }

    pub fn down(name: impl Into<String>, detail: impl Into<String>) -> Self {
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
        name: impl Into<String>,
        state: DependencyState,
        detail: impl Into<String>,
    ) -> Self {
        Self { state, detail: Some(detail.into()), ..Self::ok(name) }
    }
}
