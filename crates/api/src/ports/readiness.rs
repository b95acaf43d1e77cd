use futures::future::BoxFuture;
use onyx_knowledge::Progress;
use onyx_types::PersonId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Gateways;

/// What this process stands on.
pub trait Readiness: Send + Sync {
    /// What it cannot work well without, asked anew for every `/ready`.
    fn dependencies(&self) -> BoxFuture<'_, Vec<Dependency>>;

    /// All of it, also what may be left out, as one person is shown it: each with what to do.
    fn health<'a>(&'a self, person: &'a PersonId) -> BoxFuture<'a, Vec<Dependency>>;

    /// The processes beside this one.
    fn gateways(&self) -> &dyn Gateways;
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Dependency {
    /// Its kind, and after a colon which one of them.
    pub name: String,
    pub state: DependencyState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How far something is that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DependencyState {
    /// Nobody has set it up, and nothing waits for it.
    Off,
    Ok,
    /// Something does not work; the rest does.
    Degraded,
    /// Nothing can be done without it.
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
