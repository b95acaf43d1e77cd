//! Runs the tool calls of one response. The calls are saved before they run, and their results
//! after.

use onyx_storage::Draft;
use onyx_tools::OfferState;
use onyx_types::{
    Attendance, ErrorCode, Event, Fault, LaneId, TextStatus, ToolCall, ToolOutcome, ToolUseId,
    Turn, TurnId,
};

use super::input::{Effect, Invocation};
use super::lane::{FLUSH_TOOL, Phase, ToolRound};
use super::results::{result, take_results};
use super::state::{Next, RunState};
use super::turns::{
    Events, call_turn, decision_turns, make_id_unique, note_usage, steering_turns, take_answer,
    usage_event,
};
use super::{ending, taint, waiting};

/// Saves the calls that the model asked for. They run only after they are durable.
pub(super) fn asked_for(state: &mut RunState, lane: LaneId, effects: &mut Vec<Effect>) -> Next {
    let (mut turns, mut events) = take_answer(state, lane, TextStatus::Complete);
    let calls = std::mem::take(&mut state.lane(lane).response.calls);
    let refusal = refusal(state, lane, calls.iter().map(|(call, _)| call));
    let mut round = ToolRound::default();
    let asked = calls.len() as u32;
    for (mut call, provider_data) in calls {
        make_id_unique(state, &mut call);
        let turn = call_turn(state, lane, &call, provider_data);
        events.push((lane, call_event(state, lane, turn.id, &call)));
        if state.lane(lane).is_clients(&call) {
            round.for_client.push(call);
        } else {
            round.calls.push((turn.id, call.clone()));
            round.queue.push_back(call);
        }
        turns.push(turn);
    }
    state.spent.tool_calls += asked;
    events.push(usage_event(state, lane));
    note_usage(state, lane, &mut turns);
    if let Some(fault) = refusal {
        return refuse(state, lane, &round, turns, events, fault, effects);
    }
    if round.calls.is_empty() {
        return ending::leave_to_client(state, lane, turns, events, effects);
    }
    state.lane(lane).phase = Phase::Tools(round);
    state.append(turns, events, Next::RunTools(lane), effects)
}

/// Why these calls must not run, if a limit was reached or the calls repeat in a loop.
fn refusal<'a>(
    state: &mut RunState,
    lane: LaneId,
    calls: impl Iterator<Item = &'a ToolCall>,
) -> Option<Fault> {
    let max_identical = state.limits.max_identical_calls;
    let mut count = state.spent.tool_calls;
    let lane = state.lane(lane);
    let mut looping = None;
    for call in calls {
        count += 1;
        let repeats = lane.setup.tools.get(&call.name).is_some_and(|tool| tool.repeats);
        let in_a_row = lane.last_calls.count(call);
        if !repeats && in_a_row >= max_identical {
            let message = format!(
                "{} was called {max_identical} times in a row with the same input.",
                call.name
            );
            looping = Some(Fault::new(ErrorCode::LimitLoop, message));
        }
    }
    let max = state.limits.max_tool_calls;
    if count > max {
        let message = format!("The run reached its limit of {max} tool calls.");
        return Some(Fault::new(ErrorCode::LimitToolCalls, message));
    }
    looping
}

/// Saves calls together with their refusals, so that no call is left without a result.
fn refuse(
    state: &mut RunState,
    lane: LaneId,
    round: &ToolRound,
    mut turns: Vec<Turn>,
    mut events: Events,
    fault: Fault,
    effects: &mut Vec<Effect>,
) -> Next {
    for call in round.calls.iter().map(|(_, call)| call).chain(&round.for_client) {
        let outcome = ToolOutcome::error(format!("Not run: {}", fault.message));
        let (turn, event) = result(state, lane, call, &outcome);
        turns.push(turn);
        events.push(event);
    }
    ending::end_lane_with(state, lane, turns, events, Some(fault), effects)
}

/// Starts the calls after they are durable, as many as may run together.
pub(super) fn start(state: &mut RunState, lane: LaneId, effects: &mut Vec<Effect>) -> Next {
    if state.is_ending() || state.is_stopping() {
        return Next::Wait;
    }
    let limit = Some(state.limits.max_cost).filter(|limit| *limit > 0.0);
    let cost_left = limit.map(|limit| limit - state.cost());
    let attended = state.attendance;
    let lane_state = state.lane(lane);
    // People do not see silent calls, so they are not asked about them.
    let silent = lane_state.silent;
    let attendance = if silent { Attendance::Unattended } else { attended };
    let taint = lane_state.setup.taint;
    let tools = &lane_state.setup.tools;
    let Phase::Tools(round) = &mut lane_state.phase else { return Next::Wait };
    while let Some(call) = round.queue.front() {
        let alone = !tools.get(&call.name).is_some_and(|tool| tool.parallel);
        if alone && !round.running.is_empty() {
            break;
        }
        let Some(call) = round.queue.pop_front() else { break };
        round.running.push(call.id.clone());
        // The silent turn before compaction offers one tool; every other request offers all.
        let shown = tools.get(&call.name).filter(|_| !silent || call.name == FLUSH_TOOL);
        let offered = shown.map_or(OfferState::No, |tool| OfferState::As(tool.registration));
        let invocation = Invocation { call, attendance, taint, offered, cost_left };
        effects.push(Effect::Invoke(lane, Box::new(invocation)));
        if alone {
            break;
        }
    }
    Next::Wait
}

/// Shows output of an approved call in the run that waits for it.
pub(super) fn approved_output(
    state: &RunState,
    tool_use_id: ToolUseId,
    chunk: String,
    effects: &mut Vec<Effect>,
) -> Next {
    let waiting = state.lanes.iter().find(
        |lane| matches!(&lane.phase, Phase::Tools(round) if round.running.contains(&tool_use_id)),
    );
    if let Some(lane) = waiting {
        effects.push(Effect::Emit(lane.id, Event::ToolOutput { tool_use_id, chunk }));
    }
    Next::Wait
}

pub(super) fn done(
    state: &mut RunState,
    lane: LaneId,
    id: &ToolUseId,
    mut outcome: ToolOutcome,
    effects: &mut Vec<Effect>,
) -> Next {
    waiting::note_proposal(state, &outcome, effects);
    if let Some(spending) = outcome.spent.take() {
        state.spend_on_tool(lane, *spending);
    }
    if state.lane(lane).is_over() {
        // The call's agent was stopped while the tool worked.
        waiting::answered(state, lane, id);
        return Next::Wait;
    }
    if waiting::needs_decision(state, &outcome) {
        return waiting::ask(state, lane, id, outcome, effects);
    }
    waiting::answered(state, lane, id);
    let tainting = outcome.origin.taints();
    let model = outcome.model.clone().filter(|_| !outcome.is_error);
    let Phase::Tools(round) = &mut state.lane(lane).phase else { return Next::Wait };
    let Some(index) = round.running.iter().position(|running| running == id) else {
        return Next::Wait;
    };
    round.running.remove(index);
    round.outcomes.push((id.clone(), outcome));
    let others = !round.running.is_empty();
    let finished = !others && round.queue.is_empty();

    effects.extend(model.map(|model| Effect::UseModel(lane, model)));
    if tainting {
        taint::lane(state, lane, effects);
    }
    if state.is_stopping() {
        return if others { Next::Wait } else { Next::FinishStopping };
    }
    if finished { save_results(state, lane, effects) } else { Next::RunTools(lane) }
}

/// Ends the wait of a call for a person.
pub(super) fn decided(
    state: &mut RunState,
    lane: LaneId,
    id: &ToolUseId,
    draft: Option<&Draft>,
    effects: &mut Vec<Effect>,
) -> Next {
    match waiting::decided_outcome(state, id, draft) {
        Some(outcome) => done(state, lane, id, outcome, effects),
        None => Next::Wait,
    }
}

fn save_results(state: &mut RunState, lane: LaneId, effects: &mut Vec<Effect>) -> Next {
    let for_client =
        matches!(&state.lane(lane).phase, Phase::Tools(round) if !round.for_client.is_empty());
    let (mut turns, events) = take_results(state, lane);
    if for_client {
        return ending::leave_to_client(state, lane, turns, events, effects);
    }
    if state.lane(lane).silent {
        return state.append(turns, events, Next::AfterFlush(lane), effects);
    }
    let decisions = decision_turns(state);
    if decisions.iter().any(|turn| turn.origin.taints()) {
        taint::all_lanes(state, effects);
    }
    turns.extend(decisions);
    turns.extend(steering_turns(state));
    state.lane(lane).phase = Phase::Saving;
    state.append(turns, events, Next::TakeStep(lane), effects)
}

fn call_event(state: &mut RunState, lane: LaneId, turn_id: TurnId, call: &ToolCall) -> Event {
    let label = state.describe(call);
    Event::ToolCall {
        turn_id,
        agent: state.lane(lane).setup.agent.clone(),
        tool_use_id: call.id.clone(),
        tool: call.name.clone(),
        input: call.input.clone(),
        summary: label.summary(),
        label: Box::new(label),
    }
}
