//! Makes the turns for the log and the events about them.

use onyx_types::{
    AssistantText, Author, Event, LaneId, Origin, ReasoningTurn, TextStatus, ToolCall,
    ToolCallTurn, ToolUseId, Turn, TurnBody, TurnId, Usage, UserTurn,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::input::UserInput;
use super::state::RunState;
use super::taint;

pub(super) type Events = Vec<(LaneId, Event)>;

pub(super) fn turn(
    state: &mut RunState,
    lane: LaneId,
    author: Author,
    origin: Origin,
    body: TurnBody,
) -> Turn {
    let id = state.mint.turn(state.clock.now.wall);
    turn_with_id(state, id, lane, author, origin, body)
}

pub(super) fn turn_with_id(
    state: &RunState,
    id: TurnId,
    lane: LaneId,
    author: Author,
    origin: Origin,
    body: TurnBody,
) -> Turn {
    Turn {
        id,
        ts: state.clock.now.wall,
        run: Some(state.run),
        lane,
        author,
        origin,
        body,
        extra: Map::new(),
    }
}

pub(super) fn user_turn(state: &mut RunState, words: UserInput) -> Turn {
    let id = words.turn.unwrap_or_else(|| state.mint.turn(state.clock.now.wall));
    let (author, origin) = (words.by.author(&state.key.person), words.by.origin());
    let body = TurnBody::User(UserTurn {
        content: words.content,
        view: words.view,
        context: words.context,
        pieces: words.pieces,
        client_id: words.client_id,
        withdrawn: words.withdrawn,
    });
    turn_with_id(state, id, LaneId::default(), author, origin, body)
}

/// Turns of the messages that people added since the last step.
pub(super) fn steering_turns(state: &mut RunState) -> Vec<Turn> {
    let waiting = std::mem::take(&mut state.waiting.steering);
    waiting.into_iter().map(|words| user_turn(state, words)).collect()
}

/// Turns of the decisions since the last step.
pub(super) fn decision_turns(state: &mut RunState) -> Vec<Turn> {
    let decided = std::mem::take(&mut state.waiting.decisions);
    let mut turns = Vec::with_capacity(decided.len());
    for decided in decided {
        let author = Author::Person(state.key.person.clone());
        let body = TurnBody::Decision(decided.decision);
        turns.push(turn(state, LaneId::default(), author, decided.origin, body));
    }
    turns
}

/// Takes the turns and durable events of what the model has said out of the lane's response. Tool
/// calls are left out, because the caller decides whether they run.
pub(super) fn take_answer(
    state: &mut RunState,
    lane: LaneId,
    status: TextStatus,
) -> (Vec<Turn>, Events) {
    let calls = std::mem::take(&mut state.lane(lane).response.calls);
    let response = std::mem::take(&mut state.lane(lane).response);
    state.lane(lane).response.calls = calls;
    state.spend(lane, &response.usage);

    let (model, origin) = (state.lane(lane).answering.clone(), taint::origin_of(state, lane));
    let agent = state.lane(lane).setup.agent.clone();
    let author = Author::Agent(agent.clone());
    let mut turns = Vec::new();
    let mut events = Vec::new();
    for data in response.reasoning {
        let body = TurnBody::Reasoning(ReasoningTurn { model: model.clone(), data });
        turns.push(turn(state, lane, author.clone(), origin, body));
    }
    if let Some(turn_id) = response.text_turn
        && !response.text.is_empty()
    {
        let body = TurnBody::AssistantText(AssistantText {
            content: response.text.clone(),
            status,
            model,
            provider_data: None,
        });
        turns.push(turn_with_id(state, turn_id, lane, author, origin, body));
        state.ending.assistant_turns.push(turn_id);
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
    let origin = taint::origin_of(state, lane);
    let body = TurnBody::ToolCall(ToolCallTurn {
        tool_use_id: call.id.clone(),
        tool_name: call.name.clone(),
        input: call.input.clone(),
        provider_data,
    });
    turn(state, lane, author, origin, body)
}

/// Gives a call an id of our own if it has none, or one that an earlier call of this run or of the
/// prompt has. Some servers number the calls of each answer from the beginning, and a result must
/// belong to one call.
pub(super) fn make_id_unique(state: &mut RunState, call: &mut ToolCall) {
    let in_prompt = state.history.turns().iter().any(
        |turn| matches!(&turn.body, TurnBody::ToolCall(earlier) if earlier.tool_use_id == call.id),
    );
    if in_prompt || call.id.0.is_empty() || state.call_ids.contains(&call.id) {
        let fresh = state.mint.uuid(state.clock.now.wall).simple();
        call.id = ToolUseId(format!("call_{fresh}"));
    }
    state.call_ids.insert(call.id.clone());
}

/// Marks a turn so that neither people nor later prompts see it.
pub(super) fn mark_silent(turn: &mut Turn) {
    turn.extra.insert("silent".to_owned(), Value::Bool(true));
}

/// The key of the run's usage so far in a turn. Recovery needs it to close the run after a crash.
pub(crate) const USED_SO_FAR: &str = "used_so_far";

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct UsedSoFar {
    pub(crate) usage: Usage,
    /// The model that was asked last.
    pub(crate) model: Option<String>,
}

pub(super) fn note_usage(state: &mut RunState, lane: LaneId, turns: &mut [Turn]) {
    let model = Some(state.lane(lane).answering.clone());
    let used = UsedSoFar { usage: state.spent.usage, model };
    if used.usage != Usage::default()
        && let Some(last) = turns.last_mut()
    {
        last.extra.insert(USED_SO_FAR.to_owned(), json!(used));
    }
}

pub(super) fn usage_event(state: &RunState, lane: LaneId) -> (LaneId, Event) {
    (lane, Event::Usage { usage: state.spent.usage })
}
