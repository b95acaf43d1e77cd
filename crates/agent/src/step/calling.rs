//! Calls the model, unless a limit is reached.

use std::ops::Range;

use onyx_types::{ErrorCode, Event, Fault, LaneId, LaneOrder, StatusCode, TextStatus};

use super::compaction;
use super::input::{Effect, NewModel};
use super::lane::{Phase, Response};
use super::request::request;
use super::state::{Next, RunState};

/// The lanes that begin at once: all of a parallel run, else the first one.
pub(super) fn first_lanes(state: &RunState) -> impl Iterator<Item = LaneId> + use<> {
    let count = match state.order {
        LaneOrder::Sequential => 1,
        LaneOrder::Parallel => state.lanes.len() as u16,
    };
    let lanes: Range<u16> = 0..count;
    lanes.map(LaneId)
}

pub(super) fn next_step(state: &mut RunState, lane: LaneId) -> Next {
    if let Some(next) = cannot_go_on(state, lane) {
        return next;
    }
    state.lane(lane).refresh_tools();
    if compaction::is_needed(state, lane) { Next::MakeRoom(lane) } else { Next::CallModel(lane) }
}

/// Calls the model with the prompt as it is.
pub(super) fn call(state: &mut RunState, lane: LaneId, effects: &mut Vec<Effect>) -> Next {
    if let Some(next) = cannot_go_on(state, lane) {
        return next;
    }
    state.spent.steps += 1;
    let request = request(state, lane);
    let lane = state.lane(lane);
    lane.silent = false;
    lane.phase = Phase::Calling;
    lane.response = Response::default();
    effects.push(Effect::CallModel(lane.id, Box::new(request)));
    Next::Wait
}

/// Switches the lane to another model. The reasoning of the previous model is not shown to it.
pub(super) fn change_model(
    state: &mut RunState,
    lane: LaneId,
    model: NewModel,
    effects: &mut Vec<Effect>,
) -> Next {
    let message = format!("{} answers from here on.", model.id);
    let lane_state = state.lane(lane);
    lane_state.answering.clone_from(&model.id);
    lane_state.setup.model_id = model.id;
    lane_state.setup.context_window = model.context_window;
    lane_state.setup.tokens = model.tokens;
    effects.push(Effect::Emit(lane, Event::Status { message, code: StatusCode::Fallback }));
    Next::Wait
}

fn cannot_go_on(state: &mut RunState, lane: LaneId) -> Option<Next> {
    if state.is_ending() {
        return Some(Next::Wait);
    }
    let unable = state.lane(lane).setup.unable.clone();
    let fault = unable.or_else(|| limit_met(state))?;
    Some(Next::EndLane(lane, TextStatus::Error, Some(fault)))
}

fn limit_met(state: &RunState) -> Option<Fault> {
    let limits = &state.limits;
    if state.spent.steps >= limits.max_steps {
        let message = format!("The run reached its limit of {} steps.", limits.max_steps);
        return Some(Fault::new(ErrorCode::LimitSteps, message));
    }
    let cost = state.cost();
    if limits.max_cost > 0.0 && cost >= limits.max_cost {
        let message = format!("The run cost {cost:.4}; its limit is {:.2}.", limits.max_cost);
        return Some(Fault::new(ErrorCode::LimitBudget, message));
    }
    None
}
