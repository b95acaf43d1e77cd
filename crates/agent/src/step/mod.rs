//! The decision half of a run: a pure function from state and input to effects.
//!
//! Nothing here reads a clock, a file or a socket, and nothing awaits. The driver performs what
//! is decided and reports back; what is told to people as durable is released only by `Appended`.

pub(crate) mod client;
mod compaction;
mod ending;
mod flush;
mod input;
mod lane;
mod response;
mod state;
mod tools;
mod waiting;

pub use input::{Batch, DecidedDraft, Effect, Input, RunSummary, Speaker, StopReason, UserInput};
pub use lane::LaneSetup;
pub use onyx_tools::{Offering, ToolTraits};
pub use onyx_types::LaneOrder;
pub(crate) use response::{USED_SO_FAR, UsedSoFar};
pub use state::{Describe, RunSetup, RunState};
pub(crate) use tools::OUTCOME_UNKNOWN;

use std::sync::Arc;

use onyx_storage::Delivery;
use onyx_types::{Event, Now, StatusCode};

/// Decides what follows from one input. Called by one driver at a time, in order.
pub fn step(state: &mut RunState, now: Now, input: Input) -> Vec<Effect> {
    state.now = now;
    if state.is_over() {
        return Vec::new();
    }
    match input {
        Input::Begin => begin(state),
        Input::Model(lane, event) => response::model_event(state, lane, event),
        Input::Appended(batch) => appended(state, batch),
        Input::ToolDone(lane, id, outcome) => tools::tool_done(state, lane, &id, outcome),
        Input::ToolOutput(lane, id, chunk) => {
            vec![Effect::Emit(lane, Event::ToolOutput { tool_use_id: id, chunk })]
        }
        Input::ModelChanged(lane, model, window) => lane::change_model(state, lane, model, window),
        Input::ModelRefused(lane, fault) => {
            let message = format!("The model was not changed: {}", fault.message);
            vec![Effect::Emit(lane, Event::Status { message, code: StatusCode::Degraded })]
        }
        Input::Steer(delivery, words) => {
            match delivery {
                Delivery::Steer => state.steering.push(words),
                Delivery::FollowUp | Delivery::OnRequest => state.follow_ups.push(words),
            }
            Vec::new()
        }
        Input::Decided(decided) => {
            state.decisions.push(decided);
            Vec::new()
        }
        Input::Tick => tick(state),
        Input::Cancel => ending::stop(state, StopReason::Cancelled),
        Input::StoreFailed(fault) => ending::store_failed(state, &fault),
    }
}

fn begin(state: &mut RunState) -> Vec<Effect> {
    let mut turns = vec![state.run_start_turn()];
    turns.extend(state.opening_turns());
    let events = state.opening_events();
    state.append(turns, events, state::Then::StartLanes)
}

fn appended(state: &mut RunState, batch: Batch) -> Vec<Effect> {
    let Some(pending) = state.take_pending(batch.id) else {
        return Vec::new();
    };
    let heard = tools::tainted_by_others(state, &batch.turns);
    state.history.extend(batch.turns.into_iter().map(Arc::new));
    let mut effects: Vec<_> =
        pending.events.into_iter().map(|(lane, event)| Effect::Emit(lane, event)).collect();
    effects.extend(heard);
    effects.extend(match pending.then {
        state::Then::StartLanes => lane::start_lanes(state),
        state::Then::RunTools(lane) => tools::start_tools(state, lane),
        state::Then::NextStep(lane) => lane::next_step(state, lane),
        state::Then::CallModel(lane) => lane::call(state, lane),
        state::Then::AfterFlush(lane) => compaction::after_flush(state, lane),
        state::Then::LaneOver(lane) => ending::lane_over(state, lane),
        state::Then::RunOver => ending::run_over(state),
    });
    effects
}

fn tick(state: &mut RunState) -> Vec<Effect> {
    if let Some(deadline) = state.stopping_until {
        return if state.now.mono >= deadline {
            ending::finish_stopping(state)
        } else {
            Vec::new()
        };
    }
    if !state.waits_for_person() && state.now.mono >= state.deadline {
        return ending::stop(state, StopReason::OutOfTime);
    }
    Vec::new()
}
