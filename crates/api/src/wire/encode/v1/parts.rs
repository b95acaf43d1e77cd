use std::collections::BTreeSet;

use onyx_surface::{Part, RunFold};
use onyx_types::{
    Envelope, ErrorCode, Fault, FinishReason, ModelEvent, RunStatus, ToolUseId, Usage,
};
use serde_json::Value;

/// The parts of an answer for clients of other formats, in order. The last is `End` or `Failed`.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerPart {
    Begin,
    Text(String),
    Reasoning(String),
    /// A call of a tool that the client has to run.
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

/// Turns a run's events into parts. Calls of the agent's own tools are not included.
#[derive(Debug)]
pub struct AnswerFold {
    fold: RunFold,
    client_tools: BTreeSet<String>,
    fault: Option<Fault>,
}

impl AnswerFold {
    pub fn new<T: Into<String>>(client_tools: impl IntoIterator<Item = T>) -> Self {
        Self {
            fold: RunFold::default(),
            client_tools: client_tools.into_iter().map(Into::into).collect(),
            fault: None,
        }
    }

    pub fn event(&mut self, envelope: &Envelope) -> Vec<AnswerPart> {
        let parts = self.fold.parts(envelope);
        parts.filter_map(|part| self.answer_part(&part)).collect()
    }

    /// Returns a failure if the feed ended without an end, because a client must not take half an
    /// answer for a whole one.
    pub fn finish(&mut self) -> Vec<AnswerPart> {
        let parts = self.fold.finish();
        parts.filter_map(|part| self.answer_part(&part)).collect()
    }

    fn answer_part(&mut self, part: &Part<'_>) -> Option<AnswerPart> {
        match part {
            Part::Start { .. } => Some(AnswerPart::Begin),
            Part::Text { turn_id: _, words } => Some(AnswerPart::Text(words.in_run())),
            Part::Reasoning { text, .. } => Some(AnswerPart::Reasoning((*text).to_owned())),
            Part::ToolCall { id, tool, input, .. } if self.client_tools.contains(*tool) => {
                Some(AnswerPart::Call {
                    id: (*id).clone(),
                    name: (*tool).to_owned(),
                    arguments: (*input).clone(),
                })
            }
            Part::Error { code, message, hint, retry_after } => {
                let mut fault = Fault::new(*code, *message).with_hint(*hint);
                fault.retry_after = *retry_after;
                self.fault = Some(fault);
                None
            }
            Part::Done { status, usage, .. } => Some(self.ending(*status, *usage)),
            Part::TextComplete { .. }
            | Part::ToolCall { .. }
            | Part::ToolOutput { .. }
            | Part::ToolResult { .. }
            | Part::Proposal { .. }
            | Part::Context { .. }
            | Part::Status { .. }
            | Part::Usage(_) => None,
        }
    }

    fn ending(&mut self, status: RunStatus, usage: Usage) -> AnswerPart {
        let fault = self.fault.take();
        let failed = |code| AnswerPart::Failed(fault.clone().unwrap_or_else(|| Fault::plain(code)));
        match status {
            RunStatus::Done => AnswerPart::End { finish: Finish::Stop, usage },
            RunStatus::AwaitingClient => AnswerPart::End { finish: Finish::ToolCalls, usage },
            // An answer that reached its length limit is an answer in all of these formats.
            RunStatus::Error if is_length(fault.as_ref()) => {
                AnswerPart::End { finish: Finish::Length, usage }
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

/// Turns a model's events into parts, for answers of a provider with another format.
#[derive(Debug, Default)]
pub struct ModelFold {
    usage: Usage,
    begun: bool,
}

impl ModelFold {
    pub fn event(&mut self, event: ModelEvent) -> Vec<AnswerPart> {
        let part = match event {
            ModelEvent::TextDelta(text) => AnswerPart::Text(text),
            ModelEvent::ReasoningDelta(text) => AnswerPart::Reasoning(text),
            ModelEvent::ToolCallEnd { id, name, arguments, .. } => {
                AnswerPart::Call { id, name, arguments }
            }
            ModelEvent::Usage(usage) => {
                self.usage = usage;
                return Vec::new();
            }
            ModelEvent::Finish(FinishReason::ContentFilter) => AnswerPart::Failed(Fault::new(
                ErrorCode::ProviderRefused,
                "The provider stopped the answer by its content filter.",
            )),
            ModelEvent::Finish(reason) => {
                AnswerPart::End { finish: finish(reason), usage: self.usage }
            }
            ModelEvent::Failed(failure) => AnswerPart::Failed(failure.into()),
            // A call is sent when it is complete; retries and fallbacks are not shown.
            ModelEvent::Reasoning(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallDelta { .. }
            | ModelEvent::Notice { .. }
            | ModelEvent::AnsweredBy { .. } => return Vec::new(),
        };
        if std::mem::replace(&mut self.begun, true) {
            vec![part]
        } else {
            vec![AnswerPart::Begin, part]
        }
    }
}

const fn finish(reason: FinishReason) -> Finish {
    match reason {
        FinishReason::Stop | FinishReason::ContentFilter => Finish::Stop,
        FinishReason::ToolCalls => Finish::ToolCalls,
        FinishReason::Length => Finish::Length,
    }
}
