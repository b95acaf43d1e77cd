//! The single fold over a run's events.

use std::collections::HashMap;
use std::time::Duration;

use onyx_types::{
    ActionRun, AgentId, AsksFor, CallLabel, CallReport, ContextPiece, DraftId, Envelope, ErrorCode,
    Event, LaneId, Preview, RunId, RunStatus, SessionId, StatusCode, Timestamp, ToolUseId, TurnId,
    Usage,
};
use serde_json::Value;

use crate::words::{LaneTexts, Words};

/// A part of a run that a surface can show.
#[derive(Clone, Debug, PartialEq)]
pub enum Part<'a> {
    Start {
        session_id: SessionId,
        agents: &'a [AgentId],
        model: &'a str,
        action: Option<&'a ActionRun>,
    },
    /// New text of an answer.
    Text {
        turn_id: TurnId,
        words: Words<'a>,
    },
    /// Says that the text of a turn is complete. The whole text was sent before.
    TextComplete {
        turn_id: TurnId,
        text: &'a str,
    },
    Reasoning {
        turn_id: TurnId,
        text: &'a str,
    },
    ToolCall {
        turn_id: TurnId,
        id: &'a ToolUseId,
        tool: &'a str,
        input: &'a Value,
        /// One line for people.
        summary: &'a str,
        label: &'a CallLabel,
    },
    /// Output that a tool prints while it works.
    ToolOutput {
        id: &'a ToolUseId,
        chunk: &'a str,
    },
    ToolResult {
        turn_id: TurnId,
        id: &'a ToolUseId,
        tool: &'a str,
        ok: bool,
        output: &'a str,
        /// One line for people about the result of the call.
        summary: &'a str,
        /// The line of the call itself, for surfaces that show both as one.
        call_summary: String,
        /// The call's label for people; `None` if the call itself had no event.
        call_label: Option<Box<CallLabel>>,
        duration_ms: u64,
        report: &'a CallReport,
    },
    /// A draft that waits for a person. If `expires_at` is set, the run waits for the answer too.
    Proposal {
        draft_id: DraftId,
        tool: &'a str,
        summary: &'a str,
        preview: &'a Preview,
        asks_for: AsksFor,
        expires_at: Option<Timestamp>,
    },
    Context {
        pieces: &'a [ContextPiece],
    },
    Status {
        message: &'a str,
        code: StatusCode,
    },
    Usage(&'a Usage),
    Error {
        code: ErrorCode,
        message: &'a str,
        hint: &'a str,
        /// When a retry may succeed.
        retry_after: Option<Duration>,
    },
    /// The end of the run, which is always the last part.
    Done {
        status: RunStatus,
        assistant_turn_ids: &'a [TurnId],
        usage: Usage,
    },
}

/// Reads a run from its first event, so that it knows all earlier parts.
#[derive(Debug, Default)]
pub struct RunFold {
    run: Option<RunId>,
    session: Option<SessionId>,
    /// The agents in the order of their lanes.
    agents: Vec<AgentId>,
    texts: LaneTexts,
    /// The label of each call.
    calls: HashMap<ToolUseId, CallLabel>,
    first_turn: Option<TurnId>,
    is_over: bool,
}

impl RunFold {
    /// The parts of an event for a surface, in order: none, one or two.
    pub fn parts<'a>(
        &mut self,
        envelope: &'a Envelope,
    ) -> impl Iterator<Item = Part<'a>> + use<'a> {
        self.run = Some(envelope.run_id);
        self.read(envelope.lane, &envelope.event).into_iter().flatten()
    }

    /// The parts that remain when the events end. There are none after a run's own end; otherwise
    /// the run is reported as interrupted, because no reader may take half an answer for a whole
    /// one.
    pub fn finish(&mut self) -> impl Iterator<Item = Part<'static>> + use<> {
        let was_over = std::mem::replace(&mut self.is_over, true);
        let code = ErrorCode::Interrupted;
        let error =
            Part::Error { code, message: code.sentence(), hint: code.hint(), retry_after: None };
        let done = Part::Done {
            status: RunStatus::Interrupted,
            assistant_turn_ids: &[],
            usage: Usage::default(),
        };
        [error, done].into_iter().filter(move |_| !was_over)
    }

    /// The run's id; `None` before the first event.
    pub fn run(&self) -> Option<RunId> {
        self.run
    }

    /// The session's id; `None` before the run's start.
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// The agents that answer, in the order of their lanes.
    pub fn agents(&self) -> &[AgentId] {
        &self.agents
    }

    pub fn agent(&self, lane: LaneId) -> Option<&AgentId> {
        self.agents.get(usize::from(lane.0))
    }

    /// The first turn of the answer, whose id identifies the answer.
    pub fn first_turn(&self) -> Option<TurnId> {
        self.first_turn
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn read<'a>(&mut self, lane: LaneId, event: &'a Event) -> [Option<Part<'a>>; 2] {
        let part = match event {
            Event::Start { session_id, agents, model, action } => {
                self.session = Some(*session_id);
                self.agents.clone_from(agents);
                Part::Start { session_id: *session_id, agents, model, action: action.as_ref() }
            }
            Event::TextDelta { turn_id, agent: _, text } => {
                let words = self.texts.delta(lane, *turn_id, text);
                return [self.grown(*turn_id, words), None];
            }
            Event::TextComplete { turn_id, agent: _, text } => {
                let words = self.texts.complete(lane, *turn_id, text);
                let whole = Part::TextComplete { turn_id: *turn_id, text };
                return [self.grown(*turn_id, words), Some(whole)];
            }
            Event::ReasoningDelta { turn_id, agent: _, text } => {
                Part::Reasoning { turn_id: *turn_id, text }
            }
            Event::ToolCall { turn_id, agent: _, tool_use_id: id, tool, input, summary, label } => {
                self.first_turn.get_or_insert(*turn_id);
                self.calls.insert(id.clone(), (**label).clone());
                Part::ToolCall { turn_id: *turn_id, id, tool, input, summary, label }
            }
            Event::ToolOutput { tool_use_id: id, chunk } => Part::ToolOutput { id, chunk },
            Event::ToolResult {
                turn_id,
                tool_use_id: id,
                tool,
                ok,
                output,
                summary,
                duration_ms,
                report,
            } => {
                let call_label = self.calls.get(id).cloned().map(Box::new);
                Part::ToolResult {
                    turn_id: *turn_id,
                    id,
                    tool,
                    ok: *ok,
                    output,
                    summary,
                    call_summary: call_label.as_deref().map(CallLabel::summary).unwrap_or_default(),
                    call_label,
                    duration_ms: *duration_ms,
                    report,
                }
            }
            Event::Draft { draft_id, tool, summary, preview, asks_for } => {
                let (draft_id, asks_for, expires_at) = (*draft_id, *asks_for, None);
                Part::Proposal { draft_id, tool, summary, preview, asks_for, expires_at }
            }
            Event::Confirm { draft_id, tool, summary, preview, asks_for, expires_at } => {
                let (draft_id, asks_for, expires_at) = (*draft_id, *asks_for, Some(*expires_at));
                Part::Proposal { draft_id, tool, summary, preview, asks_for, expires_at }
            }
            Event::Context { pieces } => Part::Context { pieces },
            Event::Status { message, code } => Part::Status { message, code: *code },
            Event::Usage { usage } => Part::Usage(usage),
            Event::Error { code, message, hint, retry_after_seconds } => Part::Error {
                code: *code,
                message,
                hint,
                retry_after: retry_after_seconds.map(Duration::from_secs),
            },
            Event::Done { session_id, status, assistant_turn_ids, usage } => {
                self.is_over = true;
                // A run whose question could not be written reports its end without a start.
                self.session.get_or_insert(*session_id);
                Part::Done { status: *status, assistant_turn_ids, usage: *usage }
            }
        };
        [Some(part), None]
    }

    fn grown<'a>(&mut self, turn_id: TurnId, words: Option<Words<'a>>) -> Option<Part<'a>> {
        self.first_turn.get_or_insert(turn_id);
        words.map(|words| Part::Text { turn_id, words })
    }
}
