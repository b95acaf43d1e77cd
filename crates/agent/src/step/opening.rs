//! The beginning of a run. Its question is written before any model is called.

use onyx_types::{Author, Event, LaneId, Origin, RunStart, Taint, Turn, TurnBody};

use super::client::ClientTurn;
use super::input::{Effect, Speaker, UserInput};
use super::state::{Next, RunState};
use super::taint;
use super::turns::{Events, decision_turns, turn, user_turn};

pub(super) fn begin(state: &mut RunState, effects: &mut Vec<Effect>) -> Next {
    let mut turns = vec![run_start(state)];
    turns.extend(question(state));
    let events = events(state);
    state.append(turns, events, Next::StartLanes, effects)
}

fn run_start(state: &mut RunState) -> Turn {
    let body = TurnBody::RunStart(RunStart {
        agents: state.agents(),
        model: state.lanes.first().map(|lane| lane.setup.model_id.clone()),
        action: state.opening.action.clone(),
    });
    turn(state, LaneId::default(), Author::System, Origin::Agent, body)
}

/// The turns of the question that are not in the log yet.
fn question(state: &mut RunState) -> Vec<Turn> {
    let client_turns = std::mem::take(&mut state.opening.client_turns);
    let mut turns: Vec<_> = client_turns.into_iter().map(|turn| client_turn(state, turn)).collect();
    turns.extend(decision_turns(state));
    let leading = std::mem::take(&mut state.opening.leading);
    turns.extend(leading.into_iter().map(|words| user_turn(state, words)));
    if let Some(words) = state.opening.input.take() {
        let words = UserInput { turn: Some(state.opening.input_turn), ..words };
        turns.push(user_turn(state, words));
    }
    turns
}

fn client_turn(state: &mut RunState, client_turn: ClientTurn) -> Turn {
    let origin = client_turn.origin();
    let author = match &client_turn {
        ClientTurn::User(content) => {
            let content = content.clone();
            return user_turn(state, UserInput::new(content, Speaker::Person));
        }
        ClientTurn::Assistant(_) | ClientTurn::OwnAnswer(..) | ClientTurn::ToolCall(_) => {
            let agent = state.lanes.first().map(|lane| lane.setup.agent.clone());
            agent.map_or(Author::System, Author::Agent)
        }
        ClientTurn::ToolResult { .. } => Author::System,
    };
    turn(state, LaneId::default(), author, origin, client_turn.into_body())
}

/// The start event, and events about the context that the run was given.
fn events(state: &mut RunState) -> Events {
    let start = Event::Start {
        session_id: state.key.session,
        agents: state.agents(),
        model: state.lanes.first().map(|lane| lane.setup.model_id.clone()).unwrap_or_default(),
        action: state.opening.action.clone(),
    };
    let about_context = std::mem::take(&mut state.opening.events);
    let tainted = state.lanes.iter().any(|lane| lane.setup.taint == Taint::Tainted);
    let all = [start].into_iter().chain(about_context).chain(tainted.then(taint::event));
    all.map(|event| (LaneId::default(), event)).collect()
}
