//! Handles one answer of a model, from its first delta until its turns are saved.

use onyx_types::{
    ErrorCode, Event, Fault, FinishReason, LaneId, ModelEvent, ModelFailure, ModelFailureClass,
    TextStatus, ToolCall,
};

use super::input::{Effect, StopReason};
use super::lane::Phase;
use super::state::{Next, RunState};
use super::turns::{note_usage, steering_turns, take_answer, usage_event};
use super::{compaction, flush, tools};

pub(super) fn model_event(
    state: &mut RunState,
    lane: LaneId,
    event: ModelEvent,
    effects: &mut Vec<Effect>,
) -> Next {
    let silent = state.lane(lane).silent;
    match state.lane(lane).phase {
        Phase::Calling if silent => flush::model_event(state, lane, event, effects),
        Phase::Calling => answer_event(state, lane, event, effects),
        Phase::Compacting(_) => compaction::model_event(state, lane, event, effects),
        Phase::Waiting | Phase::Saving | Phase::Tools(_) | Phase::Over => Next::Wait,
    }
}

fn answer_event(
    state: &mut RunState,
    lane: LaneId,
    event: ModelEvent,
    effects: &mut Vec<Effect>,
) -> Next {
    match event {
        ModelEvent::TextDelta(text) => text_delta(state, lane, text, effects),
        ModelEvent::ReasoningDelta(text) => reasoning_delta(state, lane, text, effects),
        ModelEvent::Reasoning(data) => state.lane(lane).response.reasoning.push(data),
        // Only whole calls count. Surfaces do not show the pieces of a call.
        ModelEvent::ToolCallStart { .. } | ModelEvent::ToolCallDelta { .. } => {}
        ModelEvent::ToolCallEnd { id, name, arguments, provider_data, index: _ } => {
            let call = ToolCall { id, name, input: arguments };
            state.lane(lane).response.calls.push((call, provider_data));
        }
        ModelEvent::Usage(usage) => state.lane(lane).response.usage = usage,
        ModelEvent::Notice { code, message } => {
            if state.is_news(code, &message) {
                effects.push(Effect::Emit(lane, Event::Status { message, code }));
            }
        }
        ModelEvent::AnsweredBy { model } => {
            // The usage of the model that answered before is added up before the next model reports
            // its own.
            let usage = std::mem::take(&mut state.lane(lane).response.usage);
            state.spend(lane, &usage);
            state.lane(lane).answering = model;
        }
        ModelEvent::Finish(reason) => return finished(state, lane, reason, effects),
        ModelEvent::Failed(failure) => return failed(state, lane, failure),
    }
    Next::Wait
}

fn text_delta(state: &mut RunState, lane: LaneId, text: String, effects: &mut Vec<Effect>) {
    if text.is_empty() {
        return;
    }
    let turn_id = match state.lane(lane).response.text_turn {
        Some(turn) => turn,
        None => state.mint.turn(state.clock.now.wall),
    };
    let lane_state = state.lane(lane);
    lane_state.response.text_turn = Some(turn_id);
    lane_state.response.text.push_str(&text);
    let agent = lane_state.setup.agent.clone();
    effects.push(Effect::Emit(lane, Event::TextDelta { turn_id, agent, text }));
}

fn reasoning_delta(state: &mut RunState, lane: LaneId, text: String, effects: &mut Vec<Effect>) {
    let turn_id = match state.lane(lane).response.reasoning_turn {
        Some(turn) => turn,
        None => state.mint.turn(state.clock.now.wall),
    };
    let lane_state = state.lane(lane);
    lane_state.response.reasoning_turn = Some(turn_id);
    let agent = lane_state.setup.agent.clone();
    effects.push(Effect::Emit(lane, Event::ReasoningDelta { turn_id, agent, text }));
}

fn finished(
    state: &mut RunState,
    lane: LaneId,
    reason: FinishReason,
    effects: &mut Vec<Effect>,
) -> Next {
    match reason {
        FinishReason::Stop | FinishReason::ToolCalls => {
            if state.lane(lane).response.calls.is_empty() {
                answered(state, lane, effects)
            } else {
                tools::asked_for(state, lane, effects)
            }
        }
        FinishReason::Length => {
            // The text is kept for the model, which may continue it. Calls that came with it are
            // not run, because they may be incomplete.
            let fault = Fault::plain(ErrorCode::LimitOutput);
            Next::EndLane(lane, TextStatus::Complete, Some(fault))
        }
        FinishReason::ContentFilter => {
            let message = "The provider stopped the answer by its content filter.";
            let fault = Fault::new(ErrorCode::ProviderRefused, message);
            Next::EndLane(lane, TextStatus::Error, Some(fault))
        }
    }
}

fn failed(state: &mut RunState, lane: LaneId, failure: ModelFailure) -> Next {
    match failure.class {
        ModelFailureClass::Cancelled => Next::Stop(StopReason::Cancelled),
        // After the first words, a prompt that is too long counts as a failure like any other.
        ModelFailureClass::ContextLength if state.lane(lane).response.text.is_empty() => {
            Next::Overflowed(lane, failure.into())
        }
        _ => Next::EndLane(lane, TextStatus::Error, Some(failure.into())),
    }
}

fn answered(state: &mut RunState, lane: LaneId, effects: &mut Vec<Effect>) -> Next {
    let follow_ups = std::mem::take(&mut state.waiting.follow_ups);
    state.waiting.steering.extend(follow_ups);
    if state.waiting.steering.is_empty() {
        return Next::EndLane(lane, TextStatus::Complete, None);
    }
    // The person added a message while the answer came, so the run continues with it.
    let (mut turns, mut events) = take_answer(state, lane, TextStatus::Complete);
    turns.extend(steering_turns(state));
    events.push(usage_event(state, lane));
    note_usage(state, lane, &mut turns);
    state.lane(lane).phase = Phase::Saving;
    state.append(turns, events, Next::TakeStep(lane), effects)
}
