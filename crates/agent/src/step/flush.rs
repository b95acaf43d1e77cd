//! The silent turn before compaction, in which the agent may save to memory what the summary would
//! lose. Its calls pass the gate and are logged like any others, but they are marked, so that
//! people and later prompts do not see them.

use onyx_types::{LaneId, ModelEvent, ToolCall};

use super::input::Effect;
use super::lane::{Phase, ToolRound};
use super::state::{Next, RunState};
use super::turns::{call_turn, make_id_unique, mark_silent};

/// The most calls of one flush. More would copy the conversation instead of saving what lasts.
const MOST_CALLS: usize = 8;

pub(super) fn model_event(
    state: &mut RunState,
    lane: LaneId,
    event: ModelEvent,
    effects: &mut Vec<Effect>,
) -> Next {
    let response = &mut state.lane(lane).response;
    match event {
        ModelEvent::ToolCallEnd { id, name, arguments, provider_data, index: _ } => {
            if response.calls.len() < MOST_CALLS {
                let call = ToolCall { id, name, input: arguments };
                response.calls.push((call, provider_data));
            }
        }
        ModelEvent::Usage(usage) => response.usage = usage,
        ModelEvent::Finish(_) => return finished(state, lane, effects),
        // Memory could not be saved. The conversation itself loses nothing, because its log stays
        // whole.
        ModelEvent::Failed(_) => {
            let response = std::mem::take(response);
            state.spend(lane, &response.usage);
            return Next::AfterFlush(lane);
        }
        ModelEvent::TextDelta(_)
        | ModelEvent::ReasoningDelta(_)
        | ModelEvent::Reasoning(_)
        | ModelEvent::ToolCallStart { .. }
        | ModelEvent::ToolCallDelta { .. }
        | ModelEvent::Notice { .. }
        | ModelEvent::AnsweredBy { .. } => {}
    }
    Next::Wait
}

fn finished(state: &mut RunState, lane: LaneId, effects: &mut Vec<Effect>) -> Next {
    let response = std::mem::take(&mut state.lane(lane).response);
    state.spend(lane, &response.usage);
    if response.calls.is_empty() {
        return Next::AfterFlush(lane);
    }
    let mut round = ToolRound::default();
    let mut turns = Vec::new();
    for (mut call, provider_data) in response.calls {
        make_id_unique(state, &mut call);
        let mut turn = call_turn(state, lane, &call, provider_data);
        mark_silent(&mut turn);
        round.calls.push((turn.id, call.clone()));
        round.queue.push_back(call);
        turns.push(turn);
    }
    state.spent.tool_calls += round.calls.len() as u32;
    state.lane(lane).phase = Phase::Tools(round);
    state.append(turns, Vec::new(), Next::RunTools(lane), effects)
}
