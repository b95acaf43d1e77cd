use async_trait::async_trait;
use onyx_types::{AgentId, PersonId, RunId, RunStatus, SessionId, ToolEffect, ToolOutcome};
use serde_json::Value;

/// Other programs that hear of calls and runs. They can refuse and add notes, but allow nothing:
/// the gate has decided before they are asked.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// A call that would happen, or would be brought before a person.
    async fn before_tool(&self, call: HookedCall<'_>) -> HookAnswer;

    /// Does any hook hear of finished calls?
    fn wants_outcomes(&self) -> bool;

    /// What came of it.
    async fn after_tool(&self, call: HookedCall<'_>, outcome: &ToolOutcome) -> Vec<HookNote>;

    /// A run that would begin.
    async fn before_run(&self, run: HookedRun<'_>) -> HookAnswer;

    /// The end of a run. The caller does not wait for the hooks.
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
    /// What the person said; empty after the run.
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
    /// Who said it.
    pub by: String,
    /// The answer in the hook's own words, which come from outside, or why it could not answer.
    pub why: String,
}

/// A note of another program; its text comes from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookNote {
    pub by: String,
    pub text: String,
}
