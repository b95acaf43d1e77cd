//! The silent turn before compaction: the agent may write to memory what the summary would lose.
//! Its calls pass the gate and stand in the log like any others, marked so that nobody is shown
//! them and no later prompt repeats them.

use onyx_types::{LaneId, ModelEvent, ToolCall, Turn};
use serde_json::Value;

use super::compaction;
use super::input::Effect;
use super::lane::{Phase, ToolRound};
use super::response::call_turn;
use super::state::{RunState, Then};
use super::tools::name_apart;

/// More would not be saving but dumping.
const MOST_CALLS: usize = 8;

pub(super) fn mark_silent(turn: &mut Turn) {
    turn.extra.insert("silent".to_owned(), Value::Bool(true));
}

pub(super) fn model_event(state: &mut RunState, lane: LaneId, event: ModelEvent) -> Vec<Effect> {
    let response = &mut state.lane(lane).response;
    match event {
        ModelEvent::ToolCallEnd { id, name, arguments, provider_data, index: _ } => {
            if response.calls.len() < MOST_CALLS {
                let call = ToolCall { id, name, input: arguments };
                response.calls.push((call, provider_data));
            }
        }
        ModelEvent::Usage(usage) => response.usage = usage,
        ModelEvent::Finish(_) => return finished(state, lane),
        // Memory could not be saved; the conversation itself loses nothing, its file is whole.
        ModelEvent::Failed(_) => {
            let response = std::mem::take(response);
            state.spend(lane, &response.usage);
            return compaction::after_flush(state, lane);
        }
        ModelEvent::TextDelta(_)
        | ModelEvent::ReasoningDelta(_)
        | ModelEvent::Reasoning(_)
        | ModelEvent::ToolCallStart { .. }
        | ModelEvent::ToolCallDelta { .. }
        | ModelEvent::Notice { .. }
        | ModelEvent::AnsweredBy { .. } => {}
    }
    Vec::new()
}

fn finished(state: &mut RunState, lane: LaneId) -> Vec<Effect> {
    let response = std::mem::take(&mut state.lane(lane).response);
    state.spend(lane, &response.usage);
    if response.calls.is_empty() {
        return compaction::after_flush(state, lane);
    }
    let mut round = ToolRound::default();
    let mut turns = Vec::new();
    for (mut call, provider_data) in response.calls {
        name_apart(state, &mut call);
        let mut turn = call_turn(state, lane, &call, provider_data);
        mark_silent(&mut turn);
        round.calls.push((turn.id, call.clone()));
        round.queue.push_back(call);
        turns.push(turn);
    }
    state.tool_calls += round.calls.len() as u32;
    state.lane(lane).phase = Phase::Tools(round);
    state.append(turns, Vec::new(), Then::RunTools(lane))
}
