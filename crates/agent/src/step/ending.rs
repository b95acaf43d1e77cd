//! How lanes and runs end: well, by a limit, by a failure, by a person, by a store that refuses.

use std::mem::take;
use std::time::Duration;

use onyx_types::{
    Author, ErrorCode, Event, Fault, LaneId, LaneOrder, Origin, RunEnd, RunStatus, TextStatus,
    Turn, TurnBody,
};

use super::input::{Effect, RunSummary, StopReason};
use super::lane::{self, Phase};
use super::response::{take_turns, usage_event};
use super::state::{RunState, Then};
use super::tools::take_results;

/// Running tools get this long to report after a stop; the promise to people is one second.
const LAST_MOMENT: Duration = Duration::from_millis(700);

/// The lane cannot go on. What it said so far is kept and shown, and left out of the model's view.
pub(super) fn lane_failed(state: &mut RunState, lane: LaneId, fault: Fault) -> Vec<Effect> {
    lane_ended(state, lane, TextStatus::Error, Some(fault))
}

pub(super) fn lane_ended(
    state: &mut RunState,
    lane: LaneId,
    status: TextStatus,
    fault: Option<Fault>,
) -> Vec<Effect> {
    let (turns, mut events) = take_turns(state, lane, status);
    events.push(usage_event(state, lane));
    end_lane_with(state, lane, turns, events, fault)
}

/// The model asked for tools that the client performs: its results begin another run.
pub(super) fn left_to_client(
    state: &mut RunState,
    lane: LaneId,
    turns: Vec<Turn>,
    events: Vec<(LaneId, Event)>,
) -> Vec<Effect> {
    state.awaiting_client = true;
    end_lane_with(state, lane, turns, events, None)
}

/// Saves a lane's last turns; the last lane's batch carries the end of the run.
pub(super) fn end_lane_with(
    state: &mut RunState,
    lane: LaneId,
    mut turns: Vec<Turn>,
    mut events: Vec<(LaneId, Event)>,
    fault: Option<Fault>,
) -> Vec<Effect> {
    state.lane(lane).phase = Phase::Over;
    if let Some(fault) = fault {
        events.push((lane, Event::error(&fault)));
        state.unfinished_lanes.push(lane);
        state.error.get_or_insert(fault);
    }
    if !state.lanes.iter().all(lane::Lane::is_over) {
        return state.append(turns, events, Then::LaneOver(lane));
    }
    let status = match (&state.error, state.awaiting_client) {
        (Some(_), _) => RunStatus::Error,
        (None, true) => RunStatus::AwaitingClient,
        (None, false) => RunStatus::Done,
    };
    turns.push(run_end_turn(state, status));
    state.append(turns, events, Then::RunOver)
}

fn run_end_turn(state: &mut RunState, status: RunStatus) -> Turn {
    state.status = Some(status);
    let body = TurnBody::RunEnd(RunEnd {
        status,
        usage: state.usage,
        cost: state.usage.cost,
        model: state.lanes.first().map(|lane| lane.answering.clone()),
        error: state.error.clone(),
    });
    let mut turn = state.turn(LaneId::default(), Author::System, Origin::Agent, body);
    if state.lanes.len() > 1 && !state.unfinished_lanes.is_empty() {
        // Whose answers did not come to their end: the others' are good.
        turn.extra.insert("unfinished_lanes".to_owned(), serde_json::json!(state.unfinished_lanes));
    }
    turn
}

/// A lane is durable to its end: the next one may begin.
pub(super) fn lane_over(state: &mut RunState, lane: LaneId) -> Vec<Effect> {
    let next = LaneId(lane.0 + 1);
    match state.order {
        LaneOrder::Sequential if usize::from(next.0) < state.lanes.len() => {
            lane::next_step(state, next)
        }
        LaneOrder::Sequential | LaneOrder::Parallel => Vec::new(),
    }
}

/// The end is durable: close the books, and only then say `done`.
pub(super) fn run_over(state: &mut RunState) -> Vec<Effect> {
    let status = state.status.unwrap_or(RunStatus::Error);
    state.set_over();
    vec![
        Effect::Finish(RunSummary {
            status,
            usage: state.usage,
            used: state.lanes.iter_mut().flat_map(|lane| take(&mut lane.used)).collect(),
            messages: take(&mut state.messages),
        }),
        Effect::Emit(LaneId::default(), done(state, status)),
    ]
}

fn done(state: &RunState, status: RunStatus) -> Event {
    Event::Done {
        session_id: state.key.session,
        status,
        assistant_turn_ids: state.assistant_turns.clone(),
        usage: state.usage,
    }
}

/// A person, or the clock, ends the run now.
pub(super) fn stop(state: &mut RunState, reason: StopReason) -> Vec<Effect> {
    if state.is_ending() || state.stopping_until.is_some() {
        return Vec::new();
    }
    state.error = match reason {
        StopReason::Cancelled => None,
        StopReason::OutOfTime => {
            let message =
                format!("The run met its limit of {} seconds.", state.limits.max_run_seconds);
            Some(Fault::new(ErrorCode::LimitSeconds, message))
        }
    };
    state.stopping_until = Some(state.now.mono + LAST_MOMENT);
    let mut effects = Vec::new();
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
    if !tools_running {
        effects.extend(finish_stopping(state));
    }
    effects
}

/// Every tool has reported, or its last moment is over: write the end.
pub(super) fn finish_stopping(state: &mut RunState) -> Vec<Effect> {
    if state.is_ending() {
        return Vec::new();
    }
    let (status, text_status) = match &state.error {
        None => (RunStatus::Cancelled, TextStatus::Cancelled),
        Some(_) => (RunStatus::Error, TextStatus::Error),
    };
    let mut turns = Vec::new();
    let mut events = Vec::new();
    for index in 0..state.lanes.len() {
        let lane = LaneId(index as u16);
        let silent = state.lane(lane).silent;
        spend_unfinished(state, lane);
        let (more_turns, more_events) = match state.lane(lane).phase {
            Phase::Calling if silent => (Vec::new(), Vec::new()),
            Phase::Calling => take_turns(state, lane, text_status),
            Phase::Tools(_) => take_results(state, lane),
            Phase::Waiting | Phase::Saving | Phase::Compacting(_) | Phase::Over => {
                (Vec::new(), Vec::new())
            }
        };
        turns.extend(more_turns);
        events.extend(more_events);
        if !state.lane(lane).is_over() {
            state.unfinished_lanes.push(lane);
        }
        state.lane(lane).phase = Phase::Over;
    }
    events.push(usage_event(state, LaneId::default()));
    if let Some(fault) = &state.error {
        events.push((LaneId::default(), Event::error(fault)));
    }
    turns.push(run_end_turn(state, status));
    state.append(turns, events, Then::RunOver)
}

/// What a model that is stopped in a silent turn had used by then.
fn spend_unfinished(state: &mut RunState, lane: LaneId) {
    let lane_state = state.lane(lane);
    let usage = match &mut lane_state.phase {
        Phase::Calling if lane_state.silent => std::mem::take(&mut lane_state.response.usage),
        Phase::Compacting(under_way) => under_way.take_usage(),
        Phase::Calling | Phase::Waiting | Phase::Saving | Phase::Tools(_) | Phase::Over => return,
    };
    state.spend(lane, &usage);
}

/// Nothing more can be written. What was acknowledged stays; the run is closed when the session
/// is next opened.
pub(super) fn store_failed(state: &mut RunState, fault: &Fault) -> Vec<Effect> {
    let mut effects: Vec<_> = state
        .lanes
        .iter()
        .flat_map(|lane| [Effect::StopModel(lane.id), Effect::StopTools(lane.id)])
        .collect();
    state.set_over();
    effects.push(Effect::Emit(LaneId::default(), Event::error(fault)));
    effects.push(Effect::Abandon);
    effects.push(Effect::Emit(LaneId::default(), done(state, RunStatus::Error)));
    effects
}
