//! Ends lanes and runs: completed, or stopped by a limit, a failure, a person, or a store that
//! refuses to write.

use std::mem::take;
use std::time::Duration;

use onyx_types::{
    AgentId, Author, ErrorCode, Event, Fault, LaneId, LaneOrder, Origin, RunEnd, RunStatus,
    TextStatus, Turn, TurnBody,
};

use super::input::{Effect, RunSummary, StopReason};
use super::lane::{Lane, Phase};
use super::results::take_results;
use super::state::{Next, RunState};
use super::turns::{Events, take_answer, turn, usage_event};

/// How long running tools may take to report after a stop. People are promised that a stop takes at
/// most a second.
const LAST_MOMENT: Duration = Duration::from_millis(700);

/// Ends a lane. The text it gave so far is kept and shown; if the lane failed, models do not see
/// that text.
pub(super) fn end_lane(
    state: &mut RunState,
    lane: LaneId,
    status: TextStatus,
    fault: Option<Fault>,
    effects: &mut Vec<Effect>,
) -> Next {
    let (turns, mut events) = take_answer(state, lane, status);
    events.push(usage_event(state, lane));
    end_lane_with(state, lane, turns, events, fault, effects)
}

/// Ends a lane whose model called tools of the client. Their results begin another run.
pub(super) fn leave_to_client(
    state: &mut RunState,
    lane: LaneId,
    turns: Vec<Turn>,
    events: Events,
    effects: &mut Vec<Effect>,
) -> Next {
    state.ending.awaiting_client = true;
    end_lane_with(state, lane, turns, events, None, effects)
}

/// Saves a lane's last turns. The batch of the last lane also holds the end of the run.
pub(super) fn end_lane_with(
    state: &mut RunState,
    lane: LaneId,
    mut turns: Vec<Turn>,
    mut events: Events,
    fault: Option<Fault>,
    effects: &mut Vec<Effect>,
) -> Next {
    state.lane(lane).phase = Phase::Over;
    if let Some(fault) = fault {
        events.push((lane, Event::error(&fault)));
        state.ending.unfinished_lanes.push(lane);
        state.ending.error.get_or_insert(fault);
    }
    if !state.lanes.iter().all(Lane::is_over) {
        return state.append(turns, events, Next::LaneOver, effects);
    }
    let status = match (&state.ending.error, state.ending.awaiting_client) {
        (Some(_), _) => RunStatus::Error,
        (None, true) => RunStatus::AwaitingClient,
        (None, false) => RunStatus::Done,
    };
    turns.push(run_end_turn(state, status));
    state.append_last(turns, events, status, effects)
}

fn run_end_turn(state: &mut RunState, status: RunStatus) -> Turn {
    state.ending.status = Some(status);
    let body = TurnBody::RunEnd(RunEnd {
        status,
        usage: state.spent.usage,
        cost: state.spent.usage.cost,
        model: state.lanes.first().map(|lane| lane.answering.clone()),
        error: state.ending.error.clone(),
    });
    let mut turn = turn(state, LaneId::default(), Author::System, Origin::Agent, body);
    let unfinished = &state.ending.unfinished_lanes;
    if state.lanes.len() > 1 && !unfinished.is_empty() {
        // Tells readers of the log which answers are incomplete, because the others are good.
        turn.extra.insert("unfinished_lanes".to_owned(), serde_json::json!(unfinished));
    }
    let cancelled = &state.ending.cancelled_lanes;
    if !cancelled.is_empty() {
        turn.extra.insert(Turn::CANCELLED_LANES.to_owned(), serde_json::json!(cancelled));
    }
    turn
}

/// Begins the next lane of a sequential run after a lane was saved. If a lane ended because it was
/// stopped before it began, another one may still be at work; then nothing begins.
pub(super) fn lane_over(state: &RunState) -> Next {
    let is_at_work = |lane: &Lane| !matches!(lane.phase, Phase::Waiting | Phase::Over);
    let next = state.lanes.iter().find(|lane| matches!(lane.phase, Phase::Waiting));
    match (state.order, next) {
        (LaneOrder::Sequential, Some(next)) if !state.lanes.iter().any(is_at_work) => {
            Next::TakeStep(next.id)
        }
        (LaneOrder::Sequential | LaneOrder::Parallel, _) => Next::Wait,
    }
}

/// A person stops one of several agents; the others continue. Stopping the last one ends the run.
pub(super) fn cancel_agent(
    state: &mut RunState,
    agent: &AgentId,
    effects: &mut Vec<Effect>,
) -> Next {
    if state.is_ending() || state.is_stopping() {
        return Next::Wait;
    }
    let mut at_work = state.lanes.iter().filter(|lane| !lane.is_over());
    let found = at_work.clone().find(|lane| lane.setup.agent == *agent);
    let Some(lane) = found.map(|lane| lane.id) else { return Next::Wait };
    if at_work.nth(1).is_none() {
        return Next::Stop(StopReason::Cancelled);
    }
    match &state.lane(lane).phase {
        Phase::Calling | Phase::Compacting(_) => effects.push(Effect::StopModel(lane)),
        Phase::Tools(_) => effects.push(Effect::StopTools(lane)),
        // The driver performs an append before it takes the next input, so no lane is saving here.
        Phase::Saving => return Next::Wait,
        Phase::Waiting | Phase::Over => {}
    }
    let (turns, mut events) = last_turns(state, lane, TextStatus::Cancelled);
    events.push((lane, Event::error(&Fault::plain(ErrorCode::Cancelled))));
    state.lane(lane).phase = Phase::Over;
    state.ending.unfinished_lanes.push(lane);
    state.ending.cancelled_lanes.push(lane);
    state.append(turns, events, Next::LaneOver, effects)
}

/// Records the end in the ledger once it is durable, and only then sends `done`.
pub(super) fn run_over(
    state: &mut RunState,
    mut summary: Box<RunSummary>,
    effects: &mut Vec<Effect>,
) -> Next {
    state.ending.over = true;
    // The last turns may hold content from outside.
    summary.taint = state.widest_taint();
    let status = summary.status;
    effects.push(Effect::Finish(summary));
    effects.push(Effect::Emit(LaneId::default(), done(state, status)));
    Next::Wait
}

fn done(state: &RunState, status: RunStatus) -> Event {
    Event::Done {
        session_id: state.key.session,
        status,
        assistant_turn_ids: state.ending.assistant_turns.clone(),
        usage: state.spent.usage,
    }
}

/// Stops the run because a person or the time limit demands it.
pub(super) fn stop(state: &mut RunState, reason: StopReason, effects: &mut Vec<Effect>) -> Next {
    if state.is_ending() || state.is_stopping() {
        return Next::Wait;
    }
    state.ending.error = match reason {
        StopReason::Cancelled => None,
        StopReason::OutOfTime => {
            let message =
                format!("The run reached its limit of {} seconds.", state.limits.max_run_seconds);
            Some(Fault::new(ErrorCode::LimitSeconds, message))
        }
    };
    state.clock.stopping_until = Some(state.clock.now.mono + LAST_MOMENT);
    let mut tools_running = false;
    for lane in &state.lanes {
        match &lane.phase {
            Phase::Calling | Phase::Compacting(_) => effects.push(Effect::StopModel(lane.id)),
            Phase::Tools(round) if !round.running.is_empty() => {
                tools_running = true;
                effects.push(Effect::StopTools(lane.id));
            }
            Phase::Tools(_) | Phase::Waiting | Phase::Saving | Phase::Over => {}
        }
    }
    if tools_running { Next::Wait } else { Next::FinishStopping }
}

/// Writes the end of the run after every tool has reported or the time for that is over.
pub(super) fn finish_stopping(state: &mut RunState, effects: &mut Vec<Effect>) -> Next {
    if state.is_ending() {
        return Next::Wait;
    }
    let (status, text_status) = match &state.ending.error {
        None => (RunStatus::Cancelled, TextStatus::Cancelled),
        Some(_) => (RunStatus::Error, TextStatus::Error),
    };
    let mut turns = Vec::new();
    let mut events = Vec::new();
    for index in 0..state.lanes.len() {
        let lane = LaneId(index as u16);
        let (lane_turns, lane_events) = last_turns(state, lane, text_status);
        turns.extend(lane_turns);
        events.extend(lane_events);
        if !state.lane(lane).is_over() {
            state.ending.unfinished_lanes.push(lane);
        }
        state.lane(lane).phase = Phase::Over;
    }
    events.push(usage_event(state, LaneId::default()));
    if let Some(fault) = &state.ending.error {
        events.push((LaneId::default(), Event::error(fault)));
    }
    turns.push(run_end_turn(state, status));
    state.append_last(turns, events, status, effects)
}

/// The turns and events that a stopped lane leaves.
fn last_turns(state: &mut RunState, lane: LaneId, status: TextStatus) -> (Vec<Turn>, Events) {
    spend_unfinished(state, lane);
    let silent = state.lane(lane).silent;
    match state.lane(lane).phase {
        Phase::Calling if silent => (Vec::new(), Vec::new()),
        Phase::Calling => take_answer(state, lane, status),
        Phase::Tools(_) => take_results(state, lane),
        Phase::Waiting | Phase::Saving | Phase::Compacting(_) | Phase::Over => {
            (Vec::new(), Vec::new())
        }
    }
}

/// Counts the usage of a model that is stopped in a silent turn.
fn spend_unfinished(state: &mut RunState, lane: LaneId) {
    let lane_state = state.lane(lane);
    let usage = match &mut lane_state.phase {
        Phase::Calling if lane_state.silent => take(&mut lane_state.response.usage),
        Phase::Compacting(summary) => take(&mut summary.usage),
        Phase::Calling | Phase::Waiting | Phase::Saving | Phase::Tools(_) | Phase::Over => return,
    };
    state.spend(lane, &usage);
}

/// Gives up the run because nothing can be written any more. Acknowledged turns are safe; the run
/// is closed when the session is next opened.
pub(super) fn store_failed(state: &mut RunState, fault: &Fault, effects: &mut Vec<Effect>) -> Next {
    for lane in &state.lanes {
        effects.extend([Effect::StopModel(lane.id), Effect::StopTools(lane.id)]);
    }
    state.ending.over = true;
    effects.push(Effect::Emit(LaneId::default(), Event::error(fault)));
    effects.push(Effect::Abandon);
    effects.push(Effect::Emit(LaneId::default(), done(state, RunStatus::Error)));
    Next::Wait
}
