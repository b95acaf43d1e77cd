use std::collections::BTreeSet;

use onyx_types::{
    ErrorCode, Event, Fault, FinishReason, ModelEvent, RunStatus, ToolUseId, TurnId, Usage,
};
use serde_json::Value;

use crate::encode::text::TextFold;

/// What a client of another wire is told of an answer, in order. The last is `End` or `Failed`.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Begin,
    Text(String),
    Reasoning(String),
    /// A tool that the client is to run.
    Call {
        id: ToolUseId,
        name: String,
        arguments: Value,
    },
    End {
        finish: Finish,
        usage: Usage,
    },
    Failed(Fault),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    Stop,
    ToolCalls,
    Length,
}

/// From a run's events. Work of the agent's own tools is the agent's and is not told.
#[derive(Debug)]
pub struct AnswerFold {
    text: TextFold,
    client_tools: BTreeSet<String>,
    fault: Option<Fault>,
    over: bool,
}

impl AnswerFold {
    pub fn new<T: Into<String>>(client_tools: impl IntoIterator<Item = T>) -> Self {
        Self {
            text: TextFold::default(),
            client_tools: client_tools.into_iter().map(Into::into).collect(),
            fault: None,
            over: false,
        }
    }

    pub fn event(&mut self, event: &Event) -> Vec<Step> {
        match event {
            Event::Start { .. } => vec![Step::Begin],
            Event::TextDelta { turn_id, agent: _, text } => self.words(*turn_id, text, false),
            Event::TextComplete { turn_id, agent: _, text } => self.words(*turn_id, text, true),
            Event::ReasoningDelta { text, .. } => vec![Step::Reasoning(text.clone())],
            Event::ToolCall { tool_use_id, tool, input, .. }
                if self.client_tools.contains(tool) =>
            {
                vec![Step::Call {
                    id: tool_use_id.clone(),
                    name: tool.clone(),
                    arguments: input.clone(),
                }]
            }
            Event::Error { code, message, hint } => {
                self.fault = Some(Fault::new(*code, message.clone()).with_hint(hint.clone()));
                Vec::new()
            }
            Event::Done { status, usage, .. } => {
                self.over = true;
                vec![self.ending(*status, *usage)]
            }
            Event::ToolCall { .. }
            | Event::ToolOutput { .. }
            | Event::ToolResult { .. }
            | Event::Draft { .. }
            | Event::Confirm { .. }
            | Event::Context { .. }
            | Event::Status { .. }
            | Event::Usage { .. } => Vec::new(),
        }
    }

    /// A feed that broke off is told as such: no client may take half an answer for a whole one.
    pub fn finish(&mut self) -> Vec<Step> {
        if std::mem::replace(&mut self.over, true) {
            return Vec::new();
        }
        vec![Step::Failed(Fault::plain(ErrorCode::Interrupted))]
    }

    fn words(&mut self, turn: TurnId, text: &str, whole: bool) -> Vec<Step> {
        let new = if whole { self.text.complete(turn, text) } else { self.text.delta(turn, text) };
        if new.is_empty() { Vec::new() } else { vec![Step::Text(new)] }
    }

    fn ending(&mut self, status: RunStatus, usage: Usage) -> Step {
        let fault = self.fault.take();
        let failed = |code| Step::Failed(fault.clone().unwrap_or_else(|| Fault::plain(code)));
        match status {
            RunStatus::Done => Step::End { finish: Finish::Stop, usage },
            RunStatus::AwaitingClient => Step::End { finish: Finish::ToolCalls, usage },
            // An answer that met its length is an answer in every one of these formats.
            RunStatus::Error if is_length(fault.as_ref()) => {
                Step::End { finish: Finish::Length, usage }
            }
            RunStatus::Error => failed(ErrorCode::Internal),
            RunStatus::Cancelled => failed(ErrorCode::Cancelled),
            RunStatus::Interrupted => failed(ErrorCode::Interrupted),
        }
    }
}

fn is_length(fault: Option<&Fault>) -> bool {
    fault.is_some_and(|fault| fault.code == ErrorCode::LimitOutput)
}

/// From a model's events, for what passes through to a provider of another wire.
#[derive(Debug, Default)]
pub struct ModelFold {
    usage: Usage,
    begun: bool,
}

impl ModelFold {
    pub fn event(&mut self, event: ModelEvent) -> Vec<Step> {
        let step = match event {
            ModelEvent::TextDelta(text) => Step::Text(text),
            ModelEvent::ReasoningDelta(text) => Step::Reasoning(text),
            ModelEvent::ToolCallEnd { id, name, arguments, .. } => {
                Step::Call { id, name, arguments }
            }
            ModelEvent::Usage(usage) => {
                self.usage = usage;
                return Vec::new();
            }
            ModelEvent::Finish(FinishReason::ContentFilter) => Step::Failed(Fault::new(
                ErrorCode::ProviderRefused,
                "The provider stopped the answer by its content filter.",
            )),
            ModelEvent::Finish(reason) => Step::End { finish: finish(reason), usage: self.usage },
            ModelEvent::Failed(failure) => Step::Failed(failure.into()),
            // A call is told when it is whole; retries and fallbacks are this server's business.
            ModelEvent::Reasoning(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallDelta { .. }
            | ModelEvent::Notice { .. }
            | ModelEvent::AnsweredBy { .. } => return Vec::new(),
        };
        if std::mem::replace(&mut self.begun, true) { vec![step] } else { vec![Step::Begin, step] }
    }
}

const fn finish(reason: FinishReason) -> Finish {
    match reason {
        FinishReason::Stop | FinishReason::ContentFilter => Finish::Stop,
        FinishReason::ToolCalls => Finish::ToolCalls,
        FinishReason::Length => Finish::Length,
    }
}
