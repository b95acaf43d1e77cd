//! Encodes `/api/v1/chat` with an agent: its run as an AI SDK UI message stream, with tools and
//! approvals.

use std::collections::BTreeSet;

use bytes::Bytes;
use onyx_surface::{Part, RunFold};
use onyx_types::{DraftId, Envelope, RunStatus, ToolUseId, Usage};
use serde_json::{Value, json};

use super::ui_message::{LAST, Part as Kind, UiMessageFrames, counted, frame};

/// The frames of one run. The message is named by the run, so that an answer that continues after
/// an approval continues in the same message.
#[derive(Debug)]
pub(crate) struct UiRunFrames {
    fold: RunFold,
    words: UiMessageFrames,
    step: StepPhase,
    /// Calls that a person rejected.
    denied: BTreeSet<ToolUseId>,
    fault: Option<String>,
}

/// How far the current step is. A step is one call of the model with the results of its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepPhase {
    NotBegun,
    Asking,
    /// A tool has answered, so the model's next words begin another step.
    Answered,
}

impl UiRunFrames {
    pub(crate) fn new(message_id: String) -> Self {
        Self {
            fold: RunFold::default(),
            words: UiMessageFrames::new(message_id),
            step: StepPhase::NotBegun,
            denied: BTreeSet::new(),
            fault: None,
        }
    }

    /// Records that a person rejected this call.
    pub(crate) fn deny(&mut self, call: ToolUseId) {
        self.denied.insert(call);
    }

    /// Drops what was written so far, because the client has it.
    pub(crate) fn drop_told(&mut self) {
        self.words.forget_open();
    }

    pub(crate) fn event(&mut self, envelope: &Envelope) -> Vec<Bytes> {
        let parts: Vec<Part<'_>> = self.fold.parts(envelope).collect();
        self.frames(&parts)
    }

    /// Reports an error if the feed ended without an end.
    pub(crate) fn finish(&mut self) -> Vec<Bytes> {
        let parts: Vec<Part<'_>> = self.fold.finish().collect();
        self.frames(&parts)
    }

    /// Asks the reader to approve or reject a call that was sent before.
    pub(crate) fn ask(draft: DraftId, call: &ToolUseId) -> Bytes {
        frame(&json!({
            "type": "tool-approval-request", "approvalId": draft, "toolCallId": call,
        }))
    }

    /// Ends the stream while the run waits for a person.
    pub(crate) fn pause(&mut self) -> Vec<Bytes> {
        let mut frames = Vec::new();
        self.words.close(&mut frames);
        self.end("tool-calls", &Usage::default(), &mut frames);
        frames
    }

    fn frames(&mut self, parts: &[Part<'_>]) -> Vec<Bytes> {
        let mut frames = Vec::new();
        for part in parts {
            self.part(part, &mut frames);
        }
        frames
    }

    fn part(&mut self, part: &Part<'_>, frames: &mut Vec<Bytes>) {
        match part {
            Part::Start { .. } => frames.push(frame(&json!({
                "type": "start", "messageId": self.words.id(), "messageMetadata": self.place(),
            }))),
            Part::Text { turn_id: _, words } => {
                self.model_speaks(frames);
                self.words.delta(Kind::Text, &words.in_run(), frames);
            }
            Part::Reasoning { text, .. } => {
                self.model_speaks(frames);
                self.words.delta(Kind::Reasoning, text, frames);
            }
            Part::ToolCall { id, tool, input, .. } => {
                self.model_speaks(frames);
                self.words.close(frames);
                frames.push(frame(&json!({
                    "type": "tool-input-available", "toolCallId": id, "toolName": tool,
                    "input": input, "dynamic": true, "providerExecuted": true,
                })));
            }
            Part::ToolResult { id, ok, output, .. } => {
                self.words.close(frames);
                self.step = StepPhase::Answered;
                frames.push(self.result(id, *ok, output));
            }
            Part::Proposal { draft_id, tool, summary, expires_at: None, .. } => {
                let data = json!({"draftId": draft_id, "tool": tool, "summary": summary});
                frames.push(frame(&json!({"type": "data-draft", "id": draft_id, "data": data})));
            }
            Part::Error { message, .. } => self.fault = Some((*message).to_owned()),
            Part::Done { status, usage, .. } => {
                self.words.close(frames);
                self.done(*status, usage, frames);
            }
            // `ask` writes proposals, because it knows the call; the surface has no parts for the
            // others.
            Part::Proposal { .. }
            | Part::TextComplete { .. }
            | Part::ToolOutput { .. }
            | Part::Context { .. }
            | Part::Status { .. }
            | Part::Usage(_) => {}
        }
    }

    fn model_speaks(&mut self, frames: &mut Vec<Bytes>) {
        if self.step == StepPhase::Answered {
            frames.push(frame(&json!({"type": "finish-step"})));
        }
        if self.step != StepPhase::Asking {
            frames.push(frame(&json!({"type": "start-step"})));
            self.step = StepPhase::Asking;
        }
    }

    fn result(&self, call: &ToolUseId, ok: bool, output: &str) -> Bytes {
        let mut body = if self.denied.contains(call) {
            json!({"type": "tool-output-denied"})
        } else if ok {
            json!({
                "type": "tool-output-available", "output": output, "dynamic": true,
                "providerExecuted": true,
            })
        } else {
            json!({
                "type": "tool-output-error", "errorText": output, "dynamic": true,
                "providerExecuted": true,
            })
        };
        body["toolCallId"] = json!(call);
        frame(&body)
    }

    fn done(&mut self, status: RunStatus, usage: &Usage, frames: &mut Vec<Bytes>) {
        match status {
            RunStatus::Done => self.end("stop", usage, frames),
            RunStatus::AwaitingClient => self.end("tool-calls", usage, frames),
            RunStatus::Cancelled => {
                frames.push(frame(&json!({"type": "abort", "reason": "stopped"})));
                frames.push(LAST);
            }
            RunStatus::Error | RunStatus::Interrupted => {
                let text =
                    self.fault.take().unwrap_or_else(|| "The answer ended too early.".to_owned());
                frames.push(frame(&json!({"type": "error", "errorText": text})));
                frames.push(LAST);
            }
        }
    }

    fn end(&mut self, reason: &str, usage: &Usage, frames: &mut Vec<Bytes>) {
        if self.step != StepPhase::NotBegun {
            frames.push(frame(&json!({"type": "finish-step"})));
        }
        let mut metadata = self.place();
        metadata["finishReason"] = reason.into();
        metadata["usage"] = counted(usage);
        frames.push(frame(&json!({"type": "finish", "messageMetadata": metadata})));
        frames.push(LAST);
    }

    fn place(&self) -> Value {
        json!({"sessionId": self.fold.session(), "runId": self.fold.run()})
    }
}
