//! Fires one slot: first the check, then the prompt, command or system work, then the result is recorded.
//!
//! The worker claims a slot and hands it in; nothing here decides when a job fires. Each kind of work
//! is a module that takes the slot and returns its outcome, and none of them knows of the others:
//! those with an agent share `agent_run.rs`.

mod agent_run;
mod heartbeat;
mod keeping;
mod outside;
mod slot;
mod system;

use onyx_storage::{JobChange, SlotDelivery, SlotEnding, SlotState};
use onyx_types::Fault;

use super::JobsCore;
use super::spec::{Deliver, SessionUse, SystemWork, Work};

pub(super) use slot::{ClaimedSlot, SlotOutcome};

/// Failures in a row that pause a job.
const MOST_FAILURES: u32 = 3;

/// Whether this kind of work asks a model.
pub(super) fn asks_model(system: &SystemWork) -> bool {
    match system {
        SystemWork::Heartbeat { .. } | SystemWork::MemoryKeeping => true,
        SystemWork::MemorySync | SystemWork::SessionCleanup { .. } | SystemWork::Backup(_) => false,
    }
}

pub(super) async fn perform(shared: &JobsCore, firing: &ClaimedSlot) -> SlotOutcome {
    match check_and_work(shared, firing).await {
        Ok(outcome) => outcome,
        Err(fault) => SlotOutcome::failed(fault.message),
    }
}

async fn check_and_work(shared: &JobsCore, firing: &ClaimedSlot) -> Result<SlotOutcome, Fault> {
    if let Some(check) = &firing.spec.when
        && let Some(why_not) = outside::says_no(shared, firing, check).await?
    {
        return Ok(SlotOutcome::nothing(why_not));
    }
    match &firing.spec.work {
        Work::Prompt(prompt) => agent_run::run_prompt(shared, firing, prompt).await,
        Work::Action(action) => agent_run::run_action(shared, firing, action).await,
        Work::Command(argv) => outside::run_command(shared, firing, argv).await,
        Work::System(SystemWork::Heartbeat { max_cost_per_day }) => {
            heartbeat::beat(shared, firing, *max_cost_per_day).await
        }
        Work::System(SystemWork::MemorySync) => system::sync(shared).await,
        Work::System(SystemWork::MemoryKeeping) => keeping::keep(shared, firing).await,
        Work::System(SystemWork::SessionCleanup { older_than, keep_newest }) => {
            system::clean_up(shared, *older_than, *keep_newest).await
        }
        Work::System(SystemWork::Backup(plan)) => system::back_up(shared, firing, plan).await,
    }
}

/// Writes the outcome of a slot, and its consequences for the job.
pub(super) async fn finish(
    shared: &JobsCore,
    firing: &ClaimedSlot,
    outcome: SlotOutcome,
) -> Result<(), Fault> {
    let ClaimedSlot { spec, row, slot, .. } = firing;
    let failures = match outcome.state {
        SlotState::Failed => row.failures + 1,
        SlotState::Done | SlotState::Nothing => 0,
        _ => row.failures,
    };
    let cost_too_much = || spec.max_cost.zip(outcome.cost).is_some_and(|(most, cost)| cost > most);
    let paused = if outcome.over_budget || cost_too_much() {
        Some("It cost more than its limit. Raise `max_cost`, or resume it as it is.".to_owned())
    } else if outcome.state == SlotState::Failed && failures >= MOST_FAILURES {
        Some(format!("It failed {failures} times in a row. The last time: {}", outcome.detail))
    } else {
        None
    };
    let kept = outcome.session.filter(|_| spec.session == SessionUse::Kept);
    let is_told = outcome.state != SlotState::Nothing;
    if let Some(session) = outcome.session {
        // A session counts as unread only if it has a result and the job delivers to its session.
        if !is_told || !spec.deliver.contains(&Deliver::Session) {
            shared.setup.sessions.mark_read(&row.person, session).await?;
        }
    }
    let detail = match &paused {
        Some(why) => format!("{}\nPaused: {why}", outcome.detail),
        None => outcome.detail,
    };
    let ending = SlotEnding {
        slot: slot.key(),
        from: SlotState::Running,
        state: outcome.state,
        session: outcome.session,
        ended_at: shared.setup.clock.wall(),
        cost: outcome.cost,
        detail,
        delivery: is_told.then_some(SlotDelivery::Pending),
        job: JobChange {
            failures: Some(failures),
            paused: paused.map(Some),
            session: kept,
            ..JobChange::default()
        },
    };
    shared.setup.jobs.end_slot(ending).await?;
    Ok(())
}
