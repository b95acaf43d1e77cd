use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;

/// What this process stands on, asked anew for every `/ready`.
pub trait Readiness: Send + Sync {
    fn dependencies(&self) -> BoxFuture<'_, Vec<Dependency>>;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Dependency {
    pub name: String,
    pub state: DependencyState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DependencyState {
    Ok,
    /// Something does not work; the rest does.
    Degraded,
    /// Nothing can be done without it.
    Down,
}

impl Dependency {
    pub fn ok(name: impl Into<String>) -> Self {
        Self { name: name.into(), state: DependencyState::Ok, detail: None }
    }

    pub fn degraded(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::in_state(name, DependencyState::Degraded, detail)
    }

    pub fn down(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::in_state(name, DependencyState::Down, detail)
    }

    fn in_state(
        name: impl Into<String>,
        state: DependencyState,
        detail: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), state, detail: Some(detail.into()) }
    }
}
