//! The results of one round of tool calls, as turns and events.

use onyx_types::{
    Author, CallState, DecisionTiming, Event, LaneId, Origin, Proposal, ToolCall, ToolOutcome,
    ToolResultTurn, Turn, TurnBody,
};

use super::lane::{Phase, ToolRound};
use super::state::RunState;
use super::turns::{Events, mark_silent, turn};
use crate::prompt::OUTCOME_UNKNOWN;

const STOPPED_FIRST: &str = "Not run: the run was stopped first.";

/// Returns one result for each call, in the order of the calls. A call whose outcome is unknown,
/// because it was stopped, gets a result that says so; it must not be taken for a call without
/// effect.
pub(super) fn take_results(state: &mut RunState, lane: LaneId) -> (Vec<Turn>, Events) {
    let Phase::Tools(round) = std::mem::replace(&mut state.lane(lane).phase, Phase::Saving) else {
        return (Vec::new(), Vec::new());
    };
    let ToolRound { queue, calls, mut outcomes, for_client, .. } = round;
    let mut turns = Vec::new();
    let mut events = Vec::new();
    for (_, call) in &calls {
        let outcome = match outcomes.iter().position(|(id, _)| *id == call.id) {
            Some(index) => outcomes.swap_remove(index).1,
            None if queue.contains(call) => ToolOutcome::error(STOPPED_FIRST),
            None => ToolOutcome::error(OUTCOME_UNKNOWN),
        };
        let (turn, event) = result(state, lane, call, &outcome);
        turns.push(turn);
        events.push(event);
        events.extend(draft_event(&outcome).map(|event| (lane, event)));
    }
    if state.is_stopping() {
        for call in &for_client {
            let (turn, event) = result(state, lane, call, &ToolOutcome::error(STOPPED_FIRST));
            turns.push(turn);
            events.push(event);
        }
    }
    if state.lane(lane).silent {
        turns.iter_mut().for_each(mark_silent);
        events.clear();
    }
    (turns, events)
}

pub(super) fn result(
    state: &mut RunState,
    lane: LaneId,
    call: &ToolCall,
    outcome: &ToolOutcome,
) -> (Turn, (LaneId, Event)) {
    let duration_ms = u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX);
    let mut report = outcome.report.clone();
    if outcome.is_error && report.state == CallState::Done {
        report.state = CallState::Failed;
    }
    let body = TurnBody::ToolResult(ToolResultTurn {
        tool_use_id: call.id.clone(),
        output: outcome.output.clone(),
        is_error: outcome.is_error,
        draft_id: outcome.draft.as_ref().map(|proposal| proposal.draft),
        duration_ms,
        report: Some(report.clone()),
    });
    // A call that failed or was stopped has an origin too, because the model reads what it said
    // until then.
    let origin = if outcome.is_error { outcome.origin.max(Origin::Agent) } else { outcome.origin };
    let turn = turn(state, lane, Author::System, origin, body);
    let event = Event::ToolResult {
        turn_id: turn.id,
        tool_use_id: call.id.clone(),
        tool: call.name.clone(),
        ok: !outcome.is_error,
        output: outcome.output.clone(),
        summary: outcome.summary.clone(),
        duration_ms,
        report: Box::new(report),
    };
    (turn, (lane, event))
}

fn draft_event(outcome: &ToolOutcome) -> Option<Event> {
    let Proposal { draft: draft_id, tool, summary, preview, asks_for, answer, .. } =
        outcome.draft.as_deref()?.clone();
    match answer {
        DecisionTiming::Later => Some(Event::Draft { draft_id, tool, summary, preview, asks_for }),
        // The call was shown to people when the wait began.
        DecisionTiming::Awaited | DecisionTiming::Given => None,
    }
}
