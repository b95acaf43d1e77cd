//! Memory keeping by the clock: an agent looks through its daily logs and proposes what its MEMORY.md
//! should hold. A person decides on each proposal.

use onyx_types::Fault;

use super::agent_run;
use super::slot::{ClaimedSlot, SlotOutcome};
use crate::jobs::JobsCore;
use crate::memory::keeping_request;
use crate::runs::{RunRequest, RunTerms};

pub(super) async fn keep(shared: &JobsCore, firing: &ClaimedSlot) -> Result<SlotOutcome, Fault> {
    let roster = shared.setup.roster.get();
    let agent = firing.spec.agent.clone().unwrap_or_else(|| roster.default_agent().id.clone());
    let person = firing.row.person.clone();
    let (files, drafts) = (&*shared.setup.files, &*shared.setup.drafts);
    let Some(asked) = keeping_request(files, drafts, person, agent).await? else {
        return Ok(SlotOutcome::nothing("There are no daily logs to look at."));
    };
    let request = agent_run::request(shared, firing, asked.input).await?;
    let terms =
        RunTerms { max_steps: asked.terms.max_steps, tier: asked.terms.tier, ..request.terms };
    agent_run::run(shared, firing, RunRequest { terms, ..request }).await
}
