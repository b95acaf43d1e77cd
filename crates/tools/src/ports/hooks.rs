use async_trait::async_trait;
use onyx_types::{AgentId, PersonId, RunId, RunStatus, SessionId, ToolEffect, ToolOutcome};
use serde_json::Value;

/// The hooks of other programs for calls and runs. They can refuse and add notes, but cannot allow
/// anything, because they are asked after the gate has decided.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// Asks about a call that is about to happen or to be shown to a person.
    async fn before_tool(&self, call: HookedCall<'_>) -> HookAnswer;

    /// Whether any hook is called after calls.
    fn wants_outcomes(&self) -> bool;

    /// Reports the outcome of a call, and returns the hooks' notes.
    async fn after_tool(&self, call: HookedCall<'_>, outcome: &ToolOutcome) -> Vec<HookNote>;

    /// Asks about a run that is about to begin.
    async fn before_run(&self, run: HookedRun<'_>) -> HookAnswer;

    /// Reports the end of a run. The caller does not wait for the hooks.
    fn after_run(&self, run: HookedRun<'_>, status: RunStatus);
}

/// A call as a hook may see it.
#[derive(Clone, Copy, Debug)]
pub struct HookedCall<'a> {
    pub person: &'a PersonId,
    pub agent: &'a AgentId,
    pub session: SessionId,
    pub run: RunId,
    pub tool: &'a str,
    pub effect: ToolEffect,
    pub summary: &'a str,
    pub arguments: &'a Value,
}

/// A run as a hook may see it.
#[derive(Clone, Copy, Debug)]
pub struct HookedRun<'a> {
    pub person: &'a PersonId,
    pub agent: &'a AgentId,
    pub session: SessionId,
    pub run: RunId,
    /// The text of the message; empty after the run.
    pub text: &'a str,
}

/// The combined answer of all hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    pub veto: Option<Veto>,
    pub notes: Vec<HookNote>,
}

/// A hook's refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Veto {
    /// The hook that refused.
    pub by: String,
    /// Why it refused, in the hook's own words, which come from outside; or why it could not
    /// answer.
    pub why: String,
}

/// A note of another program; its text comes from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookNote {
    pub by: String,
    pub text: String,
}
