//! The conditions under which an agent's tools work.

use std::sync::Arc;

use onyx_storage::Files;
use onyx_tools::{Audience, Decisions, LiveOutput, OfferState, PathRules, ToolCx};
use onyx_types::{AgentId, Cancel, Clock, Limits, RunId, Scope, ScopeSet, SessionKey, Taint};

/// Sets for whom and within which limits an agent's calls work.
pub(crate) fn tool_context(
    files: &Arc<dyn Files>,
    clock: &Arc<dyn Clock>,
    key: &SessionKey,
    agent: &AgentId,
    run: RunId,
    limits: &Limits,
) -> ToolCx {
    // The roster has refused paths that cannot be parsed, so none is dropped here.
    let protected = limits.protected.iter().filter_map(|path| path.parse().ok()).collect();
    ToolCx {
        key: key.clone(),
        agent: agent.clone(),
        run,
        view: None,
        scopes: chat_scopes(key, agent),
        memories: Arc::default(),
        cancel: Cancel::new(),
        taint: Taint::Clean,
        clock: Arc::clone(clock),
        files: Arc::clone(files),
        paths: Arc::new(PathRules { protected, ..PathRules::default() }),
        addresses: Arc::default(),
        live: LiveOutput::nowhere(),
        pending: Arc::default(),
        decisions: Decisions::none(limits.draft_time()),
        standing: None,
        audience: Audience::default(),
        offered: OfferState::Now,
    }
}

/// The scopes that a chat may search.
fn chat_scopes(key: &SessionKey, agent: &AgentId) -> ScopeSet {
    let scopes = vec![Scope::Person, Scope::Agent(agent.clone()), Scope::Shared];
    ScopeSet::new(key.person.clone(), scopes)
}
