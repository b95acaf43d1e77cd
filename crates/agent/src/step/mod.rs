//! Decides what a run does next: a pure function from state and input to effects.
//!
//! `drive` calls it with inputs and performs the effects; `runs` makes the state. Nothing here
//! reads a clock, a file or a socket, and nothing awaits. Durable events are emitted only after
//! `Appended` says that their turns are on disk.
//!
//! A step reads from top to bottom. `step` hands the input to the file that handles it. That file
//! changes the state, adds effects, and returns what follows (`Next`). Only `go_on` acts on a
//! `Next`, so the files never call each other in a circle.

mod answer;
mod calling;
pub(crate) mod client;
mod compaction;
mod ending;
mod flush;
mod input;
mod lane;
mod opening;
mod request;
mod results;
mod state;
mod taint;
mod tools;
mod turns;
mod waiting;

use std::sync::Arc;

use onyx_types::{Event, Now, StatusCode};

pub use input::{
    Batch, DecidedDraft, Effect, Input, Invocation, NewModel, RunSummary, Speaker, StopReason,
    UserInput,
};
pub use lane::LaneSetup;
pub use onyx_tools::{Offering, ToolTraits};
pub use onyx_types::LaneOrder;
pub use state::{DescribeCall, RunSetup, RunState};
pub(crate) use turns::{USED_SO_FAR, UsedSoFar};

use state::Next;

/// Decides what follows from one input. A run's only driver calls it with the inputs in order.
pub fn step(state: &mut RunState, now: Now, input: Input) -> Vec<Effect> {
    state.clock.now = now;
    let mut effects = Vec::new();
    if !state.is_over() {
        let next = receive(state, input, &mut effects);
        go_on(state, next, &mut effects);
    }
    effects
}

fn receive(state: &mut RunState, input: Input, effects: &mut Vec<Effect>) -> Next {
    match input {
        Input::Begin => opening::begin(state, effects),
        Input::Model(lane, event) => answer::model_event(state, lane, event, effects),
        Input::Appended(batch) => appended(state, batch, effects),
        Input::ToolDone(lane, id, outcome) => tools::done(state, lane, &id, outcome, effects),
        Input::DecisionWaitOver(lane, id, draft) => {
            tools::decided(state, lane, &id, draft.as_deref(), effects)
        }
        Input::ToolOutput(lane, tool_use_id, chunk) => {
            effects.push(Effect::Emit(lane, Event::ToolOutput { tool_use_id, chunk }));
            Next::Wait
        }
        Input::ApprovedOutput(id, chunk) => tools::approved_output(state, id, chunk, effects),
        Input::ToolsChanged(lane, tools) => {
            state.lane(lane).fresh_tools = Some(tools);
            Next::Wait
        }
        Input::ModelChanged(lane, model) => calling::change_model(state, lane, model, effects),
        Input::ModelRefused(lane, fault) => {
            let message = format!("The model was not changed: {}", fault.message);
            let event = Event::Status { message, code: StatusCode::Degraded };
            effects.push(Effect::Emit(lane, event));
            Next::Wait
        }
        Input::Steer(delivery, words) => waiting::add_words(state, delivery, words, effects),
        Input::Decided(decided) => waiting::add_decision(state, decided),
        Input::Tick => tick(state),
        Input::Cancel => Next::Stop(StopReason::Cancelled),
        Input::CancelAgent(agent) => ending::cancel_agent(state, &agent, effects),
        Input::StoreFailed(fault) => ending::store_failed(state, &fault, effects),
    }
}

/// Acts on `Next` values until the run must wait for an input.
fn go_on(state: &mut RunState, mut next: Next, effects: &mut Vec<Effect>) {
    loop {
        next = match next {
            Next::Wait => return,
            Next::StartLanes => {
                for lane in calling::first_lanes(state) {
                    go_on(state, Next::TakeStep(lane), effects);
                }
                return;
            }
            Next::TakeStep(lane) => calling::next_step(state, lane),
            Next::MakeRoom(lane) => compaction::start(state, lane, effects),
            Next::Overflowed(lane, fault) => compaction::after_overflow(state, lane, fault),
            Next::CallModel(lane) => calling::call(state, lane, effects),
            Next::RunTools(lane) => tools::start(state, lane, effects),
            Next::AfterFlush(lane) => compaction::after_flush(state, lane, effects),
            Next::EndLane(lane, status, fault) => {
                ending::end_lane(state, lane, status, fault, effects)
            }
            Next::LaneOver => ending::lane_over(state),
            Next::Stop(reason) => ending::stop(state, reason, effects),
            Next::FinishStopping => ending::finish_stopping(state, effects),
            Next::RunOver(summary) => ending::run_over(state, summary, effects),
        };
    }
}

/// Sends the events that waited for these turns to be durable, and continues the run.
fn appended(state: &mut RunState, batch: Batch, effects: &mut Vec<Effect>) -> Next {
    let Some(pending) = state.take_pending(batch.id) else { return Next::Wait };
    let emitted = pending.events.into_iter().map(|(lane, event)| Effect::Emit(lane, event));
    effects.extend(emitted);
    taint::by_others(state, &batch.turns, effects);
    state.history.extend(batch.turns.into_iter().map(Arc::new));
    batch.end.map_or(pending.next, Next::RunOver)
}

fn tick(state: &RunState) -> Next {
    let now = state.clock.now.mono;
    if let Some(last_moment) = state.clock.stopping_until {
        return if now >= last_moment { Next::FinishStopping } else { Next::Wait };
    }
    if !state.clock.is_paused() && now >= state.clock.deadline {
        return Next::Stop(StopReason::OutOfTime);
    }
    Next::Wait
}
