//! The tool calls of one response: saved, run, their results saved.

use onyx_types::{
    Author, ErrorCode, Event, Fault, LaneId, Origin, StatusCode, Taint, TextStatus, ToolCall,
    ToolOutcome, ToolResultTurn, ToolUseId, Turn, TurnBody, TurnId,
};

use super::input::Effect;
use super::lane::{Phase, ToolRound};
use super::response::{call_turn, note_usage, steering_turns, take_turns, usage_event};
use super::state::{RunState, Then};
use super::{ending, flush, waiting};

/// The model asked for tools: the calls are made durable first, and run only then.
pub(super) fn asked_for(state: &mut RunState, lane: LaneId) -> Vec<Effect> {
    let (mut turns, mut events) = take_turns(state, lane, TextStatus::Complete);
    let calls = std::mem::take(&mut state.lane(lane).response.calls);
    let refusal = refusal(state, lane, calls.iter().map(|(call, _)| call));
    let mut round = ToolRound::default();
    let asked = calls.len() as u32;
    for (mut call, provider_data) in calls {
        name_apart(state, &mut call);
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
    state.tool_calls += asked;
    events.push(usage_event(state, lane));
    note_usage(state, lane, &mut turns);
    if let Some(fault) = refusal {
        return refuse(state, lane, &round, turns, events, fault);
    }
    if round.calls.is_empty() {
        return ending::left_to_client(state, lane, turns, events);
    }
    state.lane(lane).phase = Phase::Tools(round);
    state.append(turns, events, Then::RunTools(lane))
}

/// An id that an earlier call of this run or of the prompt has, or none, becomes one of our own:
/// some servers number the calls of each answer anew, and a result must belong to one call.
pub(super) fn name_apart(state: &mut RunState, call: &mut ToolCall) {
    let in_prompt = state.history.turns().iter().any(
        |turn| matches!(&turn.body, TurnBody::ToolCall(earlier) if earlier.tool_use_id == call.id),
    );
    if in_prompt || call.id.0.is_empty() || state.call_ids.contains(&call.id) {
        let fresh = state.mint.uuid(state.now.wall).simple();
        call.id = ToolUseId(format!("call_{fresh}"));
    }
    state.call_ids.insert(call.id.clone());
}

/// Why these calls must not run, if a limit or a loop says so.
fn refusal<'a>(
    state: &mut RunState,
    lane: LaneId,
    calls: impl Iterator<Item = &'a ToolCall>,
) -> Option<Fault> {
    let max_identical = state.limits.max_identical_calls;
    let mut count = state.tool_calls;
    let lane = state.lane(lane);
    let mut looping = None;
    for call in calls {
        count += 1;
        let repeats = lane.setup.tools.get(&call.name).is_some_and(|tool| tool.repeats);
        let same =
            lane.last_call.as_ref().is_some_and(|(n, i)| *n == call.name && *i == call.input);
        lane.identical_calls = if same { lane.identical_calls + 1 } else { 1 };
        lane.last_call = Some((call.name.clone(), call.input.clone()));
        if !repeats && lane.identical_calls >= max_identical {
            let message = format!(
                "{} was called {max_identical} times in a row with the same input.",
                call.name
            );
            looping = Some(Fault::new(ErrorCode::LimitLoop, message));
        }
    }
    let max = state.limits.max_tool_calls;
    if count > max {
        let message = format!("The run met its limit of {max} tool calls.");
        return Some(Fault::new(ErrorCode::LimitToolCalls, message));
    }
    looping
}

/// Calls and their refusals go to disk together, so no call is left without a result.
fn refuse(
    state: &mut RunState,
    lane: LaneId,
    round: &ToolRound,
    mut turns: Vec<Turn>,
    mut events: Vec<(LaneId, Event)>,
    fault: Fault,
) -> Vec<Effect> {
    for call in round.calls.iter().map(|(_, call)| call).chain(&round.for_client) {
        let outcome = ToolOutcome::error(format!("Not run: {}", fault.message));
        let (turn, event) = result_turn(state, lane, call, &outcome);
        turns.push(turn);
        events.push(event);
    }
    ending::end_lane_with(state, lane, turns, events, Some(fault))
}

/// The calls are durable: start as many as may run together.
pub(super) fn start_tools(state: &mut RunState, lane: LaneId) -> Vec<Effect> {
    if state.is_ending() || state.stopping_until.is_some() {
        return Vec::new();
    }
    let lane_state = state.lane(lane);
    let tools = &lane_state.setup.tools;
    let parallel = |name: &str| tools.get(name).is_some_and(|tool| tool.parallel);
    let Phase::Tools(round) = &mut lane_state.phase else {
        return Vec::new();
    };
    let mut effects = Vec::new();
    while let Some(call) = round.queue.front() {
        let alone = !parallel(&call.name);
        if alone && !round.running.is_empty() {
            break;
        }
        let Some(call) = round.queue.pop_front() else { break };
        round.running.push(call.id.clone());
        effects.push(Effect::Invoke(lane, call));
        if alone {
            break;
        }
    }
    effects
}

pub(super) fn tool_done(
    state: &mut RunState,
    lane: LaneId,
    id: &ToolUseId,
    mut outcome: ToolOutcome,
) -> Vec<Effect> {
    if let Some(spending) = outcome.spent.take() {
        state.spend_on_tool(lane, *spending);
    }
    if waiting::is_asked(state, &outcome) {
        return waiting::ask(state, lane, id, outcome);
    }
    waiting::answered(state, lane, id);
    let tainting = outcome.origin.taints();
    let model = outcome.model.clone().filter(|_| !outcome.is_error);
    let lane_state = state.lane(lane);
    let Phase::Tools(round) = &mut lane_state.phase else {
        return Vec::new();
    };
    let Some(index) = round.running.iter().position(|running| running == id) else {
        return Vec::new();
    };
    round.running.remove(index);
    round.outcomes.push((id.clone(), outcome));
    let others = !round.running.is_empty();
    let finished = !others && round.queue.is_empty();

    let mut effects = Vec::new();
    effects.extend(model.map(|model| Effect::UseModel(lane, model)));
    if tainting && lane_state.setup.taint == Taint::Clean {
        lane_state.setup.taint = Taint::Tainted;
        effects.push(Effect::Emit(lane, tainted()));
    }
    if state.stopping_until.is_some() {
        if !others {
            effects.extend(ending::finish_stopping(state));
        }
    } else if finished {
        effects.extend(save_results(state, lane));
    } else {
        effects.extend(start_tools(state, lane));
    }
    effects
}

fn save_results(state: &mut RunState, lane: LaneId) -> Vec<Effect> {
    let for_client =
        matches!(&state.lane(lane).phase, Phase::Tools(round) if !round.for_client.is_empty());
    let (mut turns, events) = take_results(state, lane);
    if for_client {
        return ending::left_to_client(state, lane, turns, events);
    }
    if state.lane(lane).silent {
        return state.append(turns, events, Then::AfterFlush(lane));
    }
    let decisions = waiting::decision_turns(state);
    let mut effects = tainted_by_decisions(state, &decisions);
    turns.extend(decisions);
    turns.extend(steering_turns(state));
    state.lane(lane).phase = Phase::Saving;
    effects.extend(state.append(turns, events, Then::NextStep(lane)));
    effects
}

fn tainted_by_decisions(state: &mut RunState, decisions: &[Turn]) -> Vec<Effect> {
    match decisions.iter().any(|turn| turn.origin.taints()) {
        true => taint_all(state),
        false => Vec::new(),
    }
}

/// One result for each call, in the order of the calls. A call whose outcome is not known (it was
/// stopped) says so: it must not be taken for undone.
pub(super) fn take_results(
    state: &mut RunState,
    lane: LaneId,
) -> (Vec<Turn>, Vec<(LaneId, Event)>) {
    let Phase::Tools(round) = std::mem::replace(&mut state.lane(lane).phase, Phase::Saving) else {
        return (Vec::new(), Vec::new());
    };
    let ToolRound { queue, calls, mut outcomes, for_client, .. } = round;
    let mut turns = Vec::new();
    let mut events = Vec::new();
    for (_, call) in &calls {
        let outcome = match outcomes.iter().position(|(id, _)| *id == call.id) {
            Some(index) => outcomes.swap_remove(index).1,
            None if queue.contains(call) => {
                ToolOutcome::error("Not run: the run was stopped first.")
            }
            None => ToolOutcome::error(OUTCOME_UNKNOWN),
        };
        let (turn, event) = result_turn(state, lane, call, &outcome);
        turns.push(turn);
        events.push(event);
        events.extend(waiting::draft_event(&outcome).map(|event| (lane, event)));
    }
    if state.stopping_until.is_some() {
        for call in &for_client {
            let outcome = ToolOutcome::error("Not run: the run was stopped first.");
            let (turn, event) = result_turn(state, lane, call, &outcome);
            turns.push(turn);
            events.push(event);
        }
    }
    if state.lane(lane).silent {
        turns.iter_mut().for_each(flush::mark_silent);
        events.clear();
    }
    (turns, events)
}

pub(crate) const OUTCOME_UNKNOWN: &str = "Outcome unknown, check before repeating.";

fn result_turn(
    state: &mut RunState,
    lane: LaneId,
    call: &ToolCall,
    outcome: &ToolOutcome,
) -> (Turn, (LaneId, Event)) {
    let duration_ms = u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX);
    let body = TurnBody::ToolResult(ToolResultTurn {
        tool_use_id: call.id.clone(),
        output: outcome.output.clone(),
        is_error: outcome.is_error,
        draft_id: outcome.draft.as_ref().map(|proposal| proposal.draft),
        duration_ms,
    });
    let origin = if outcome.is_error { Origin::Agent } else { outcome.origin };
    let turn = state.turn(lane, Author::System, origin, body);
    let event = Event::ToolResult {
        turn_id: turn.id,
        tool_use_id: call.id.clone(),
        tool: call.name.clone(),
        ok: !outcome.is_error,
        output: outcome.output.clone(),
        summary: outcome.summary.clone(),
        duration_ms,
    };
    (turn, (lane, event))
}

fn call_event(state: &mut RunState, lane: LaneId, turn_id: TurnId, call: &ToolCall) -> Event {
    Event::ToolCall {
        turn_id,
        agent: state.lane(lane).setup.agent.clone(),
        tool_use_id: call.id.clone(),
        tool: call.name.clone(),
        input: call.input.clone(),
        summary: state.describe(call),
    }
}

/// What one agent says is in the others' next prompts, so they have read what it has read.
pub(super) fn tainted_by_others(state: &mut RunState, turns: &[Turn]) -> Vec<Effect> {
    let said =
        |turn: &Turn| turn.origin.taints() && matches!(turn.body, TurnBody::AssistantText(_));
    if !turns.iter().any(said) {
        return Vec::new();
    }
    taint_all(state)
}

fn taint_all(state: &mut RunState) -> Vec<Effect> {
    let clean = state.lanes.iter_mut().filter(|lane| lane.setup.taint == Taint::Clean);
    clean
        .map(|lane| {
            lane.setup.taint = Taint::Tainted;
            Effect::Emit(lane.id, tainted())
        })
        .collect()
}

pub(super) fn tainted() -> Event {
    Event::Status {
        message: "This run has read content from outside; reaching out now needs you.".to_owned(),
        code: StatusCode::Tainted,
    }
}
