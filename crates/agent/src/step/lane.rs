use std::collections::VecDeque;
use std::sync::Arc;

use onyx_storage::ModelUse;
use onyx_tools::Offering;
use onyx_types::{
    AgentId, ErrorCode, Event, Fault, LaneId, LaneOrder, Message, ModelRequest, ResponseFormat,
    Role, StatusCode, Taint, TokenCounter, ToolCall, ToolOffer, ToolOutcome, ToolUse, ToolUseId,
    TurnId, Usage,
};

use super::compaction::{self, Compacting, Room};
use super::ending;
use super::input::Effect;
use super::response::Response;
use super::state::RunState;
use crate::prompt::{self, PromptSnapshot};

/// One answering agent, resolved for this run.
pub struct LaneSetup {
    pub agent: AgentId,
    /// `<provider>/<model>`.
    pub model_id: String,
    pub context_window: Option<u32>,
    /// How the model counts.
    pub tokens: Arc<dyn TokenCounter>,
    pub temperature: Option<f32>,
    pub max_output_tokens: u32,
    pub snapshot: Arc<PromptSnapshot>,
    pub tools: Arc<Offering>,
    /// Calls of these end the run: its client performs them.
    pub client_tools: Vec<ToolOffer>,
    pub tool_use: ToolUse,
    pub response_format: Option<ResponseFormat>,
    /// Set when the agent cannot answer at all (no such model, provider disabled).
    pub unable: Option<Fault>,
    pub taint: Taint,
}

pub(super) struct Lane {
    pub(super) id: LaneId,
    pub(super) setup: LaneSetup,
    pub(super) phase: Phase,
    pub(super) response: Response,
    /// Which model answers now: the configured one or a fallback.
    pub(super) answering: String,
    /// The newest tool call and how often it came in a row.
    pub(super) last_call: Option<(String, serde_json::Value)>,
    pub(super) identical_calls: u32,
    pub(super) room: Room,
    /// How often the provider said that the prompt was too long.
    pub(super) overflows: u32,
    /// Memory was given its chance to be written in this run.
    pub(super) flushed: bool,
    /// What goes on now is not for people to see.
    pub(super) silent: bool,
    /// What every prompt weighs, whatever was said.
    pub(super) fixed_tokens: usize,
    /// What each of its models has used in this run, silent turns included.
    pub(super) used: Vec<ModelUse>,
}

pub(super) enum Phase {
    Waiting,
    Calling,
    /// The response, or the results, are on their way to disk.
    Saving,
    Tools(ToolRound),
    Compacting(Compacting),
    Over,
}

/// The tool calls of one response.
#[derive(Default)]
pub(super) struct ToolRound {
    pub(super) queue: VecDeque<ToolCall>,
    /// Left to the client once the others are done.
    pub(super) for_client: Vec<ToolCall>,
    pub(super) running: Vec<ToolUseId>,
    /// Of those, the ones for which a person must decide.
    pub(super) awaiting: Vec<ToolUseId>,
    /// In the order of the calls.
    pub(super) calls: Vec<(TurnId, ToolCall)>,
    pub(super) outcomes: Vec<(ToolUseId, ToolOutcome)>,
}

impl Lane {
    pub(super) fn new(id: LaneId, setup: LaneSetup) -> Self {
        Self {
            id,
            answering: setup.model_id.clone(),
            fixed_tokens: compaction::fixed_tokens(&setup),
            setup,
            phase: Phase::Waiting,
            response: Response::default(),
            last_call: None,
            identical_calls: 0,
            room: Room::default(),
            overflows: 0,
            flushed: false,
            silent: false,
            used: Vec::new(),
        }
    }

    /// Counts for the model that answers now.
    pub(super) fn spend(&mut self, usage: &Usage) {
        self.spend_on(self.answering.clone(), usage);
    }

    pub(super) fn spend_on(&mut self, model: String, usage: &Usage) {
        match self.used.iter_mut().find(|used| used.model == model) {
            Some(used) => used.usage.add(usage),
            None if *usage == Usage::default() => {}
            None => {
                let agent = self.setup.agent.clone();
                self.used.push(ModelUse { agent, model, usage: *usage });
            }
        }
    }

    pub(super) fn is_clients(&self, call: &ToolCall) -> bool {
        self.setup.client_tools.iter().any(|tool| tool.name == call.name)
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }
}

pub(super) fn start_lanes(state: &mut RunState) -> Vec<Effect> {
    let count = match state.order {
        LaneOrder::Sequential => 1,
        LaneOrder::Parallel => state.lanes.len(),
    };
    (0..count).flat_map(|index| next_step(state, LaneId(index as u16))).collect()
}

/// Calls the model once more, unless a limit says no; makes room first where it is needed.
pub(super) fn next_step(state: &mut RunState, lane: LaneId) -> Vec<Effect> {
    if let Some(effects) = cannot_go_on(state, lane) {
        return effects;
    }
    compaction::if_needed(state, lane).unwrap_or_else(|| call(state, lane))
}

/// From here on another model answers. What the one before has thought is not shown to it.
pub(super) fn change_model(
    state: &mut RunState,
    lane: LaneId,
    model: String,
    window: Option<u32>,
) -> Vec<Effect> {
    let message = format!("{model} answers from here on.");
    let lane_state = state.lane(lane);
    lane_state.answering.clone_from(&model);
    lane_state.setup.model_id = model;
    lane_state.setup.context_window = window;
    vec![Effect::Emit(lane, Event::Status { message, code: StatusCode::Fallback })]
}

fn cannot_go_on(state: &mut RunState, lane: LaneId) -> Option<Vec<Effect>> {
    if state.is_ending() {
        return Some(Vec::new());
    }
    let unable = state.lane(lane).setup.unable.clone();
    let fault = unable.or_else(|| limit_met(state))?;
    Some(ending::lane_failed(state, lane, fault))
}

/// Calls the model with what there is.
pub(super) fn call(state: &mut RunState, lane: LaneId) -> Vec<Effect> {
    if let Some(effects) = cannot_go_on(state, lane) {
        return effects;
    }
    state.steps += 1;
    let request = request(state, lane);
    let lane = state.lane(lane);
    lane.silent = false;
    lane.phase = Phase::Calling;
    lane.response = Response::default();
    vec![Effect::CallModel(lane.id, Box::new(request))]
}

fn limit_met(state: &RunState) -> Option<Fault> {
    let limits = &state.limits;
    if state.steps >= limits.max_steps {
        let message = format!("The run met its limit of {} steps.", limits.max_steps);
        return Some(Fault::new(ErrorCode::LimitSteps, message));
    }
    let cost = state.cost();
    if limits.max_cost > 0.0 && cost >= limits.max_cost {
        let message = format!("The run cost {cost:.4}; its limit is {:.2}.", limits.max_cost);
        return Some(Fault::new(ErrorCode::LimitBudget, message));
    }
    None
}

/// A prompt ends with the model's own words when an answer that was broken off is asked for again;
/// many providers refuse that, and others would go on in the middle of a sentence.
const AGAIN: &str = "[The answer above was broken off. Answer the message before it again.]";

pub(super) fn request(state: &mut RunState, lane: LaneId) -> ModelRequest {
    let lane = &state.lanes[usize::from(lane.0)];
    let setup = &lane.setup;
    let mut messages = match lane.room {
        Room::Enough => state.history.messages(&setup.agent, &lane.answering),
        Room::CutToFit => {
            let window = prompt::window(setup.context_window);
            let room = (window * 6 / 10) as f64 / setup.tokens.scale();
            let budget = (room as usize).saturating_sub(lane.fixed_tokens);
            state.history.messages_within(&setup.agent, &lane.answering, budget)
        }
    };
    if messages.last().is_some_and(|message| message.role == Role::Assistant) {
        Arc::make_mut(&mut messages).push(Message::user(AGAIN));
    }
    ModelRequest {
        system: Arc::clone(&setup.snapshot.system),
        messages,
        tools: offers(setup),
        tool_use: setup.tool_use.clone(),
        max_output_tokens: setup.max_output_tokens.min(state.limits.max_output_tokens),
        temperature: setup.temperature,
        response_format: setup.response_format.clone(),
        cache_key: Some(state.key.session.to_string()),
    }
}

/// Everything the model may call, whoever performs it.
fn offers(setup: &LaneSetup) -> Arc<[ToolOffer]> {
    let own = setup.tools.offers();
    match setup.client_tools.as_slice() {
        [] => Arc::clone(own),
        of_client => own.iter().chain(of_client).cloned().collect(),
    }
}
