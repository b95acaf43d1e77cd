//! Calls that wait for a person's decision, and the messages and decisions that arrive during a
//! run. While a call waits, the run's time limit is paused.

use onyx_storage::{Delivery, Draft};
use onyx_tools::selected_model;
use onyx_types::{
    CallReport, DecisionTiming, DraftState, Event, LaneId, Proposal, StatusCode, ToolOutcome,
    ToolUseId,
};

use super::input::{DecidedDraft, Effect, Speaker, UserInput};
use super::lane::{Lane, Phase};
use super::state::{Next, RunState};

/// Adds a message for the next step, or for the end of the answer.
pub(super) fn add_words(
    state: &mut RunState,
    delivery: Delivery,
    words: UserInput,
    effects: &mut Vec<Effect>,
) -> Next {
    if words.by == Speaker::Person {
        effects.push(Effect::NoteAddresses(words.content.text()));
    }
    state.waiting.inbox.extend(words.turn);
    match delivery {
        Delivery::Steer => state.waiting.steering.push(words),
        Delivery::FollowUp | Delivery::OnRequest => state.waiting.follow_ups.push(words),
    }
    Next::Wait
}

/// Adds a decision to the next step, unless it comes with the result of a call of this run.
pub(super) fn add_decision(state: &mut RunState, decided: DecidedDraft) -> Next {
    if !state.waiting.awaited_drafts.contains(&decided.decision.draft_id) {
        state.waiting.decisions.push(decided);
    }
    Next::Wait
}

/// Notes the draft of a call that returned, and announces it to the surfaces that show drafts.
pub(super) fn note_proposal(
    state: &mut RunState,
    outcome: &ToolOutcome,
    effects: &mut Vec<Effect>,
) {
    let Some(proposal) = &outcome.draft else { return };
    let waiting = &mut state.waiting;
    match proposal.answer {
        DecisionTiming::Given => waiting.decided_drafts.push(proposal.draft),
        DecisionTiming::Awaited => {
            waiting.awaited_drafts.insert(proposal.draft);
        }
        // No person decided in time, so a later decision becomes a turn of its own.
        DecisionTiming::Later => {
            waiting.awaited_drafts.remove(&proposal.draft);
        }
    }
    let changed = proposal.replaces.iter().chain([&proposal.draft]);
    effects.extend(changed.map(|draft| Effect::NotifyDraft(*draft)));
}

/// Whether a person must decide before this outcome is final.
pub(super) fn needs_decision(state: &RunState, outcome: &ToolOutcome) -> bool {
    let awaited =
        outcome.draft.as_ref().is_some_and(|draft| draft.answer == DecisionTiming::Awaited);
    awaited && !state.is_stopping()
}

/// Shows the call to people and pauses the run until they decide.
pub(super) fn ask(
    state: &mut RunState,
    lane: LaneId,
    id: &ToolUseId,
    outcome: ToolOutcome,
    effects: &mut Vec<Effect>,
) -> Next {
    let Some(proposal) = outcome.draft.as_deref() else { return Next::Wait };
    let patience = state.limits.confirm_time();
    let Proposal { draft, tool, summary, preview, asks_for, .. } = proposal.clone();
    let confirm = Event::Confirm {
        draft_id: draft,
        tool,
        summary,
        preview,
        asks_for,
        expires_at: state.clock.now.wall.saturating_add(patience),
    };
    let waiting = Event::Status {
        message: "Waiting for you to decide.".to_owned(),
        code: StatusCode::Waiting,
    };
    state.clock.pause();
    if let Phase::Tools(round) = &mut state.lane(lane).phase {
        round.awaiting.push(id.clone());
    }
    effects.push(Effect::Emit(lane, confirm));
    effects.push(Effect::Emit(lane, waiting));
    effects.push(Effect::AwaitDecision(lane, id.clone(), draft, patience));
    state.waiting.undecided.push((id.clone(), outcome));
    Next::Wait
}

/// Returns the outcome of a call that waited for a person: what was decided, or that nobody has
/// decided yet.
pub(super) fn decided_outcome(
    state: &mut RunState,
    id: &ToolUseId,
    draft: Option<&Draft>,
) -> Option<ToolOutcome> {
    let undecided = &mut state.waiting.undecided;
    let index = undecided.iter().position(|(call, _)| call == id)?;
    let (_, mut undecided) = undecided.swap_remove(index);
    if let Some(proposal) = &mut undecided.draft {
        // The drafts that this one replaces were announced with it, so they are not announced
        // again.
        proposal.replaces.clear();
        proposal.answer = DecisionTiming::Later;
    }
    Some(match draft {
        Some(draft) => outcome_of(draft, undecided),
        None => undecided,
    })
}

fn outcome_of(draft: &Draft, undecided: ToolOutcome) -> ToolOutcome {
    let summary = &draft.plan.summary;
    let reason = draft.reason.as_deref().map(|reason| format!(" They say: {reason}"));
    let reason = reason.unwrap_or_default();
    let output = draft.output_text().unwrap_or_default().to_owned();
    let outcome = match draft.state {
        DraftState::Applied => {
            let done = ToolOutcome::ok(output, format!("Approved: {summary}"));
            ToolOutcome { model: selected_model(&draft.plan), ..done.from_origin(draft.origin()) }
        }
        DraftState::Rejected => ToolOutcome {
            summary: format!("Rejected: {summary}"),
            ..ToolOutcome::error(format!("The person rejected it; nothing was done.{reason}"))
                .refused()
        },
        DraftState::Failed | DraftState::Unknown => {
            ToolOutcome::error(format!("The person approved it. {output}"))
                .from_origin(draft.origin())
        }
        DraftState::Pending
        | DraftState::Applying
        | DraftState::Stale
        | DraftState::Superseded
        | DraftState::Expired => return undecided,
    };
    let proposal = undecided.draft.map(|mut proposal| {
        proposal.answer = DecisionTiming::Given;
        proposal
    });
    // The report keeps the plan that the person decided on; only its state and its artifact come from
    // the outcome.
    let artifact = draft.output.as_ref().and_then(|output| output.artifact.clone());
    let state = outcome.report.state;
    let report = CallReport { state, artifact, ..undecided.report };
    ToolOutcome { draft: proposal, report, ..outcome }
}

/// Notes that a call has its outcome. After the last call that waited for a person, the time limit
/// counts again.
pub(super) fn answered(state: &mut RunState, lane: LaneId, id: &ToolUseId) {
    if let Phase::Tools(round) = &mut state.lane(lane).phase {
        round.awaiting.retain(|waiting| waiting != id);
    }
    if !state.lanes.iter().any(Lane::awaits_decision) {
        state.clock.resume();
    }
}
