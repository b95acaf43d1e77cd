//! Lets other programs call an agent's tools without a run of Onyx. The gate decides as for any
//! unattended run. What such a program has read is not known, so it counts as tainted.

use std::sync::Arc;

use onyx_tools::{Execution, Offering};
use onyx_types::{AgentId, Attendance, PersonId, SessionKey, Taint, ToolCall, ToolOutcome};

use crate::AgentServices;
use crate::agents::AgentProfile;
use crate::drive::tool_context;

/// Tools that make sense only in a conversation of Onyx.
const OF_CONVERSATIONS: [&str; 5] =
    ["ask_person", "context", "propose_change", "select_model", "sessions_send"];

impl AgentServices {
    /// The tools of an agent that another program may call for this person.
    pub fn tools_for_peer(&self, person: &PersonId, agent: &AgentProfile) -> Arc<Offering> {
        let own = self.shared.toolbox.ready_offers(&agent.policy, &agent.id, person);
        // Tools of other programs are left out, because they were accepted for agents and not for
        // other callers.
        Arc::new(own.without(|name| OF_CONVERSATIONS.contains(&name) || name.starts_with("mcp:")))
    }

    /// Calls one tool for the program. A call that needs approval becomes a draft.
    pub async fn call_for_peer(
        &self,
        person: &PersonId,
        agent: &AgentProfile,
        call: &ToolCall,
    ) -> ToolOutcome {
        let offering = self.tools_for_peer(person, agent);
        if offering.get(&call.name).is_none() {
            return ToolOutcome::error(format!("there is no tool {:?}", call.name)).refused();
        }
        let shared = &self.shared;
        let (session, run) = {
            // The time is read before the generator is locked, because reading it takes the same
            // lock.
            let now = self.now();
            let mut mint = shared.ids.mint();
            (mint.session(now), mint.run(now))
        };
        let key = SessionKey { person: person.clone(), agent: agent.id.clone(), session };
        let (files, roster) = (&shared.store.files, self.roster());
        let mut cx = tool_context(files, &self.clock(), &key, &agent.id, run, roster.limits());
        cx.taint = Taint::Tainted;
        let (policy, attendance) = (&agent.policy, Attendance::Unattended);
        // The call is cancelled when this future is dropped, because the caller may disconnect or
        // cancel its task.
        let gone = cx.cancel.when_dropped();
        let outcome = shared.toolbox.call(call, policy, attendance, Execution::Real, &cx).await;
        drop(gone.disarm());
        outcome
    }

    /// The agent of this name, or the default one.
    pub fn agent_or_default(&self, id: Option<&AgentId>) -> Option<Arc<AgentProfile>> {
        let roster = self.roster();
        match id {
            Some(id) => roster.get(id).cloned(),
            None => Some(Arc::clone(roster.default_agent())),
        }
    }
}
