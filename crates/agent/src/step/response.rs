//! One answer of a model, from its first delta to a durable batch.

use onyx_types::{
    AssistantText, Author, ErrorCode, Event, Fault, FinishReason, LaneId, ModelEvent,
    ModelFailureClass, Origin, ReasoningTurn, Taint, TextStatus, ToolCall, ToolCallTurn, Turn,
    TurnBody, TurnId, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::compaction;
use super::ending;
use super::flush;
use super::input::{Effect, StopReason};
use super::lane::Phase;
use super::state::{RunState, Then};
use super::tools;

/// What a model has said in this step so far.
#[derive(Default)]
pub(super) struct Response {
    text_turn: Option<TurnId>,
    reasoning_turn: Option<TurnId>,
    pub(super) text: String,
    reasoning: Vec<Value>,
    pub(super) calls: Vec<(ToolCall, Option<Value>)>,
    pub(super) usage: Usage,
}

pub(super) fn model_event(state: &mut RunState, lane: LaneId, event: ModelEvent) -> Vec<Effect> {
    let silent = state.lane(lane).silent;
    match state.lane(lane).phase {
        Phase::Calling if silent => return flush::model_event(state, lane, event),
        Phase::Calling => {}
        Phase::Compacting(_) => return compaction::model_event(state, lane, event),
        Phase::Waiting | Phase::Saving | Phase::Tools(_) | Phase::Over => return Vec::new(),
    }
    match event {
        ModelEvent::TextDelta(text) => text_delta(state, lane, text),
        ModelEvent::ReasoningDelta(text) => reasoning_delta(state, lane, text),
        ModelEvent::Reasoning(data) => {
            state.lane(lane).response.reasoning.push(data);
            Vec::new()
        }
        // A call exists once it is whole; its pieces are the wire's business.
        ModelEvent::ToolCallStart { .. } | ModelEvent::ToolCallDelta { .. } => Vec::new(),
        ModelEvent::ToolCallEnd { id, name, arguments, provider_data, index: _ } => {
            let call = ToolCall { id, name, input: arguments };
            state.lane(lane).response.calls.push((call, provider_data));
            Vec::new()
        }
        ModelEvent::Usage(usage) => {
            state.lane(lane).response.usage = usage;
            Vec::new()
        }
        ModelEvent::Notice { code, message } => match state.is_news(code, &message) {
            true => vec![Effect::Emit(lane, Event::Status { message, code })],
            false => Vec::new(),
        },
        ModelEvent::AnsweredBy { model } => {
            // What the model before has used comes on top of what this one will.
            let usage = std::mem::take(&mut state.lane(lane).response.usage);
            state.spend(lane, &usage);
            state.lane(lane).answering = model;
            Vec::new()
        }
        ModelEvent::Finish(reason) => finished(state, lane, reason),
        ModelEvent::Failed(failure) => {
            if failure.class == ModelFailureClass::Cancelled {
                return ending::stop(state, StopReason::Cancelled);
            }
            if failure.class == ModelFailureClass::ContextLength
                && let Some(effects) = compaction::after_overflow(state, lane)
            {
                return effects;
            }
            ending::lane_failed(state, lane, failure.into())
        }
    }
}

fn text_delta(state: &mut RunState, lane: LaneId, text: String) -> Vec<Effect> {
    if text.is_empty() {
        return Vec::new();
    }
    let turn_id = match state.lane(lane).response.text_turn {
        Some(turn) => turn,
        None => state.mint.turn(state.now.wall),
    };
    let lane_state = state.lane(lane);
    lane_state.response.text_turn = Some(turn_id);
    lane_state.response.text.push_str(&text);
    let agent = lane_state.setup.agent.clone();
    vec![Effect::Emit(lane, Event::TextDelta { turn_id, agent, text })]
}

fn reasoning_delta(state: &mut RunState, lane: LaneId, text: String) -> Vec<Effect> {
    let turn_id = match state.lane(lane).response.reasoning_turn {
        Some(turn) => turn,
        None => state.mint.turn(state.now.wall),
    };
    let lane_state = state.lane(lane);
    lane_state.response.reasoning_turn = Some(turn_id);
    let agent = lane_state.setup.agent.clone();
    vec![Effect::Emit(lane, Event::ReasoningDelta { turn_id, agent, text })]
}

fn finished(state: &mut RunState, lane: LaneId, reason: FinishReason) -> Vec<Effect> {
    match reason {
        FinishReason::Stop | FinishReason::ToolCalls => {
            if state.lane(lane).response.calls.is_empty() {
                answered(state, lane)
            } else {
                tools::asked_for(state, lane)
            }
        }
        FinishReason::Length => {
            // The text is good as far as it goes, so the model may see it again and go on; calls
            // that came with it may be cut off and never run.
            let fault = Fault::plain(ErrorCode::LimitOutput);
            ending::lane_ended(state, lane, TextStatus::Complete, Some(fault))
        }
        FinishReason::ContentFilter => {
            let message = "The provider stopped the answer by its content filter.";
            let fault = Fault::new(ErrorCode::ProviderRefused, message);
            ending::lane_failed(state, lane, fault)
        }
    }
}

fn answered(state: &mut RunState, lane: LaneId) -> Vec<Effect> {
    let follow_ups = std::mem::take(&mut state.follow_ups);
    state.steering.extend(follow_ups);
    if state.steering.is_empty() {
        return ending::lane_ended(state, lane, TextStatus::Complete, None);
    }
    // The person added something while the answer came: it is part of this run.
    let (mut turns, mut events) = take_turns(state, lane, TextStatus::Complete);
    turns.extend(steering_turns(state));
    events.push(usage_event(state, lane));
    note_usage(state, lane, &mut turns);
    state.lane(lane).phase = Phase::Saving;
    state.append(turns, events, Then::NextStep(lane))
}

pub(super) fn steering_turns(state: &mut RunState) -> Vec<Turn> {
    let waiting = std::mem::take(&mut state.steering);
    waiting.into_iter().map(|words| state.user_turn(words)).collect()
}

/// The turns and durable events of what the model has said, leaving the lane's response empty.
/// Tool calls are not among them: who takes them decides whether they run.
pub(super) fn take_turns(
    state: &mut RunState,
    lane: LaneId,
    status: TextStatus,
) -> (Vec<Turn>, Vec<(LaneId, Event)>) {
    let calls = std::mem::take(&mut state.lane(lane).response.calls);
    let response = std::mem::take(&mut state.lane(lane).response);
    state.lane(lane).response.calls = calls;
    state.spend(lane, &response.usage);

    let (model, origin) = (state.lane(lane).answering.clone(), written_by(state, lane));
    let agent = state.lane(lane).setup.agent.clone();
    let author = Author::Agent(agent.clone());
    let mut turns = Vec::new();
    let mut events = Vec::new();
    for data in response.reasoning {
        let body = TurnBody::Reasoning(ReasoningTurn { model: model.clone(), data });
        turns.push(state.turn(lane, author.clone(), origin, body));
    }
    if let (Some(turn_id), false) = (response.text_turn, response.text.is_empty()) {
        let body = TurnBody::AssistantText(AssistantText {
            content: response.text.clone(),
            status,
            model,
            provider_data: None,
        });
        turns.push(state.turn_with_id(turn_id, lane, author, origin, body));
        state.assistant_turns.push(turn_id);
        events.push((lane, Event::TextComplete { turn_id, agent, text: response.text }));
    }
    (turns, events)
}

pub(super) fn call_turn(
    state: &mut RunState,
    lane: LaneId,
    call: &ToolCall,
    provider_data: Option<Value>,
) -> Turn {
    let author = Author::Agent(state.lane(lane).setup.agent.clone());
    let origin = written_by(state, lane);
    let body = TurnBody::ToolCall(ToolCallTurn {
        tool_use_id: call.id.clone(),
        tool_name: call.name.clone(),
        input: call.input.clone(),
        provider_data,
    });
    state.turn(lane, author, origin, body)
}

pub(super) fn written_by(state: &mut RunState, lane: LaneId) -> Origin {
    match state.lane(lane).setup.taint {
        Taint::Clean => Origin::Agent,
        Taint::Tainted => Origin::AgentTainted,
    }
}

/// The run's usage so far, for whoever closes its books if a crash keeps it from its end.
pub(crate) const USED_SO_FAR: &str = "used_so_far";

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct UsedSoFar {
    pub(crate) usage: Usage,
    /// The last that was asked.
    pub(crate) model: Option<String>,
}

pub(super) fn note_usage(state: &mut RunState, lane: LaneId, turns: &mut [Turn]) {
    let used = UsedSoFar { usage: state.usage, model: Some(state.lane(lane).answering.clone()) };
    if used.usage != Usage::default()
        && let Some(last) = turns.last_mut()
    {
        last.extra.insert(USED_SO_FAR.to_owned(), json!(used));
    }
}

pub(super) fn usage_event(state: &RunState, lane: LaneId) -> (LaneId, Event) {
    (lane, Event::Usage { usage: state.usage })
}
