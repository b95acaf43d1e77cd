//! One answering agent of a run: its setup and its progress.

use std::collections::VecDeque;
use std::sync::Arc;

use onyx_storage::ModelUse;
use onyx_tools::Offering;
use onyx_types::{
    AgentId, Fault, LaneId, ModelId, ResponseFormat, Sampling, Taint, TokenCounter, ToolCall,
    ToolOffer, ToolOutcome, ToolUse, ToolUseId, TurnId, TurnRange, Usage, estimate_tokens,
};
use serde_json::Value;

use crate::prompt::PromptSnapshot;

/// The only tool of the silent turn before compaction. With it the agent saves what the summary
/// would lose.
pub(super) const FLUSH_TOOL: &str = "memory_write";

/// One answering agent, resolved for this run.
pub struct LaneSetup {
    pub agent: AgentId,
    /// `<provider>/<model>`.
    pub model_id: String,
    pub context_window: Option<u32>,
    /// Counts tokens as the model does.
    pub tokens: Arc<dyn TokenCounter>,
    pub temperature: Option<f32>,
    /// The sampling that the client asked for. Agents have no such settings of their own.
    pub sampling: Sampling,
    pub max_output_tokens: u32,
    pub snapshot: Arc<PromptSnapshot>,
    pub tools: Arc<Offering>,
    /// Tools that the client runs; a call of one of them ends the run.
    pub client_tools: Vec<ToolOffer>,
    pub tool_use: ToolUse,
    pub response_format: Option<ResponseFormat>,
    /// Why the agent cannot answer at all, such as a model that does not exist or a disabled
    /// provider.
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
    pub(super) last_calls: LastCalls,
    pub(super) room: PromptRoom,
    /// How often the provider said that the prompt was too long.
    pub(super) overflows: u32,
    /// Whether the flush took place in this run.
    pub(super) flushed: bool,
    /// Whether the current work is hidden from people.
    pub(super) silent: bool,
    /// The size of every prompt before the conversation is added.
    pub(super) fixed_tokens: usize,
    /// The offering for the next step, if tools have come or gone since the last request.
    pub(super) fresh_tools: Option<Arc<Offering>>,
    /// The usage of each model of the lane in this run, including silent turns.
    pub(super) used: Vec<ModelUse>,
}

pub(super) enum Phase {
    Waiting,
    Calling,
    /// The response or the results are being written to disk.
    Saving,
    Tools(ToolRound),
    Compacting(SummaryUnderWay),
    Over,
}

/// What a model has said in this step so far.
#[derive(Default)]
pub(super) struct Response {
    pub(super) text_turn: Option<TurnId>,
    pub(super) reasoning_turn: Option<TurnId>,
    pub(super) text: String,
    pub(super) reasoning: Vec<Value>,
    pub(super) calls: Vec<(ToolCall, Option<Value>)>,
    pub(super) usage: Usage,
}

/// The tool calls of one response.
#[derive(Default)]
pub(super) struct ToolRound {
    pub(super) queue: VecDeque<ToolCall>,
    /// Calls for the client, which end the run after the agent's own calls are done.
    pub(super) for_client: Vec<ToolCall>,
    pub(super) running: Vec<ToolUseId>,
    /// Running calls that wait for a person's decision.
    pub(super) awaiting: Vec<ToolUseId>,
    /// The calls in the order in which the model asked for them.
    pub(super) calls: Vec<(TurnId, ToolCall)>,
    pub(super) outcomes: Vec<(ToolUseId, ToolOutcome)>,
}

/// The newest tool call and how often it came in a row, to recognise a loop.
#[derive(Default)]
pub(super) struct LastCalls {
    newest: Option<(String, Value)>,
    in_a_row: u32,
}

/// A lane's progress in making room in its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PromptRoom {
    #[default]
    Enough,
    /// A summary failed in this run, so the prompt is cut to fit instead.
    CutToFit,
}

/// A summary that a model is writing.
pub(super) struct SummaryUnderWay {
    /// The turns that the summary replaces.
    pub(super) range: TurnRange,
    pub(super) text: String,
    pub(super) usage: Usage,
}

impl Lane {
    pub(super) fn new(id: LaneId, setup: LaneSetup) -> Self {
        Self {
            id,
            answering: setup.model_id.clone(),
            fixed_tokens: fixed_tokens(&setup),
            setup,
            phase: Phase::Waiting,
            response: Response::default(),
            last_calls: LastCalls::default(),
            room: PromptRoom::default(),
            overflows: 0,
            flushed: false,
            silent: false,
            fresh_tools: None,
            used: Vec::new(),
        }
    }

    /// Takes over the new offering. No call of the previous response is at work at this point.
    pub(super) fn refresh_tools(&mut self) {
        if let Some(tools) = self.fresh_tools.take() {
            self.setup.tools = tools;
            self.fixed_tokens = fixed_tokens(&self.setup);
        }
    }

    /// Adds usage to the model that answers now.
    pub(super) fn spend(&mut self, usage: &Usage) {
        self.spend_on(ModelId::new(&self.answering), usage);
    }

    pub(super) fn spend_on(&mut self, model: ModelId, usage: &Usage) {
        match self.used.iter_mut().find(|used| used.model == model) {
            Some(used) => used.usage.add(usage),
            None if *usage == Usage::default() => {}
            None => {
                let agent = self.setup.agent.clone();
                self.used.push(ModelUse { agent, model, usage: *usage });
            }
        }
    }

    /// Whether the client performs this call.
    pub(super) fn is_clients(&self, call: &ToolCall) -> bool {
        self.setup.client_tools.iter().any(|tool| tool.name == call.name)
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    pub(super) fn awaits_decision(&self) -> bool {
        matches!(&self.phase, Phase::Tools(round) if !round.awaiting.is_empty())
    }
}

impl LastCalls {
    /// How often this call has come in a row, itself included.
    pub(super) fn count(&mut self, call: &ToolCall) -> u32 {
        let same = self.newest.as_ref().is_some_and(|(n, i)| *n == call.name && *i == call.input);
        self.in_a_row = if same { self.in_a_row + 1 } else { 1 };
        self.newest = Some((call.name.clone(), call.input.clone()));
        self.in_a_row
    }
}

/// The size of every prompt of the lane before the conversation is added.
fn fixed_tokens(setup: &LaneSetup) -> usize {
    let of_client = setup
        .client_tools
        .iter()
        .map(|offer| offer.input_schema.tokens() + estimate_tokens(&offer.description));
    setup.snapshot.tokens() + setup.tools.weight() + of_client.sum::<usize>()
}
