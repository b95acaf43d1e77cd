//! Taint: a lane that has read content from outside is tainted from then on.

use onyx_types::{Event, LaneId, Origin, StatusCode, Taint, Turn, TurnBody};

use super::input::Effect;
use super::state::RunState;

/// Taints a lane and sends an event, unless the lane was tainted before.
pub(super) fn lane(state: &mut RunState, lane: LaneId, effects: &mut Vec<Effect>) {
    let setup = &mut state.lane(lane).setup;
    if setup.taint == Taint::Clean {
        setup.taint = Taint::Tainted;
        effects.push(Effect::Emit(lane, event()));
    }
}

pub(super) fn all_lanes(state: &mut RunState, effects: &mut Vec<Effect>) {
    for index in 0..state.lanes.len() {
        lane(state, LaneId(index as u16), effects);
    }
}

/// Taints all lanes after a tainted answer, because each agent's text is in the others' next prompts.
pub(super) fn by_others(state: &mut RunState, turns: &[Turn], effects: &mut Vec<Effect>) {
    let said =
        |turn: &Turn| turn.origin.taints() && matches!(turn.body, TurnBody::AssistantText(_));
    if turns.iter().any(said) {
        all_lanes(state, effects);
    }
}

/// The origin of the text that a lane writes.
pub(super) fn origin_of(state: &mut RunState, lane: LaneId) -> Origin {
    match state.lane(lane).setup.taint {
        Taint::Clean => Origin::Agent,
        Taint::Tainted => Origin::AgentTainted,
    }
}

pub(super) fn event() -> Event {
    Event::Status {
        message: "This run has read content from outside; reaching out now needs your approval."
            .to_owned(),
        code: StatusCode::Tainted,
    }
}
