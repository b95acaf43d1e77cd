//! `/api/threads/{id}/events`: the answers of coworkers as they grow. Text is gathered until it is
//! flushed, so that a fast model does not cause a frame for every word.

use onyx_surface::{Encoder, Part, RunFold};
use onyx_types::{
    AgentId, AsksFor, DraftId, Envelope, ErrorCode, Fault, LaneId, Preview, RunStatus, Timestamp,
    TurnId,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::sse::SseFrame;
use crate::messages::MessageStatus;
use crate::wire::FieldNames;

/// The data of an event; the event's name is its kind.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ThreadEvent<'a> {
    Chunk {
        message_id: &'a str,
        text: &'a str,
        full_content: &'a str,
    },
    Complete {
        message_id: &'a str,
        content: &'a str,
        status: MessageStatus,
    },
    Error {
        message_id: &'a str,
        error: Reason<'a>,
    },
    Confirm(ThreadConfirm<'a>),
    /// The last event of a deleted thread.
    Deleted {
        error: Reason<'a>,
    },
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ThreadConfirm")]
pub(crate) struct ThreadConfirm<'a> {
    message_id: &'a str,
    pending_change_id: DraftId,
    tool: &'a str,
    summary: &'a str,
    preview: &'a Preview,
    asks_for: AsksFor,
    expires_at: Timestamp,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ThreadError")]
pub(crate) struct Reason<'a> {
    code: ErrorCode,
    message: &'a str,
    hint: &'a str,
}

impl<'a> Reason<'a> {
    fn of(fault: &'a Fault) -> Self {
        Self { code: fault.code, message: &fault.message, hint: fault.hint() }
    }
}

/// The id of a coworker's answer to a message; it is known before the answer exists.
pub(crate) fn answer_id(question: TurnId, agent: &AgentId) -> String {
    format!("{question}.{agent}")
}

#[derive(Debug)]
struct LaneAnswer {
    message_id: String,
    content: String,
    /// How many bytes of the content were sent.
    sent: usize,
    has_whole_text: bool,
    fault: Option<Fault>,
    /// Whether a person stopped this answer while others continued; that was sent already.
    is_cancelled: bool,
}

#[derive(Debug)]
pub struct ThreadFrames {
    question: TurnId,
    names: FieldNames,
    fold: RunFold,
    /// The answers in the order of their lanes.
    answers: Vec<LaneAnswer>,
    id: String,
}

impl ThreadFrames {
    /// Frames of a run that answers this message.
    pub fn new(question: TurnId) -> Self {
        let (names, fold) = (FieldNames::default(), RunFold::default());
        Self { question, names, fold, answers: Vec::new(), id: String::new() }
    }

    #[must_use]
    pub fn named(mut self, names: FieldNames) -> Self {
        self.names = names;
        self
    }

    /// Reports that a message was withdrawn, once for each agent that would have answered it.
    pub fn taken_back(names: FieldNames, message: TurnId, agents: &[AgentId]) -> Vec<SseFrame> {
        let complete = |agent: &AgentId| {
            let data = ThreadEvent::Complete {
                message_id: &answer_id(message, agent),
                content: "",
                status: MessageStatus::Cancelled,
            };
            SseFrame::new(names, String::new(), "chat:complete", &data)
        };
        agents.iter().map(complete).collect()
    }

    /// Reports that the thread was deleted.
    pub fn deleted() -> Vec<SseFrame> {
        let fault = Fault::new(ErrorCode::NotFound, "This thread was deleted.")
            .with_hint("Continue in another thread.");
        let data = ThreadEvent::Deleted { error: Reason::of(&fault) };
        vec![SseFrame::new(FieldNames::default(), String::new(), "chat:deleted", &data)]
    }

    fn begin_answers(&mut self, agents: &[AgentId]) {
        let question = self.question;
        let answer = |agent: &AgentId| LaneAnswer {
            message_id: answer_id(question, agent),
            content: String::new(),
            sent: 0,
            has_whole_text: false,
            fault: None,
            is_cancelled: false,
        };
        self.answers = agents.iter().map(answer).collect();
    }

    /// The text that was gathered since the last time.
    pub fn flush(&mut self) -> Vec<SseFrame> {
        let mut frames = Vec::new();
        for answer in self.answers.iter_mut().filter(|answer| answer.sent < answer.content.len()) {
            let chunk = ThreadEvent::Chunk {
                message_id: &answer.message_id,
                text: &answer.content[answer.sent..],
                full_content: &answer.content,
            };
            frames.push(SseFrame::new(self.names, self.id.clone(), "chat:chunk", &chunk));
            answer.sent = answer.content.len();
        }
        frames
    }

    pub fn has_unsaid(&self) -> bool {
        self.answers.iter().any(|answer| answer.sent < answer.content.len())
    }

    /// Marks all gathered text as sent, for a reader who has it already.
    pub fn skip(&mut self) {
        self.answers.iter_mut().for_each(|answer| answer.sent = answer.content.len());
    }

    fn answer(&mut self, lane: LaneId) -> Option<&mut LaneAnswer> {
        self.answers.get_mut(usize::from(lane.0))
    }

    /// One of several answers was stopped: it ends before the others.
    fn cancelled(&mut self, lane: LaneId) -> Vec<SseFrame> {
        let mut frames = self.flush();
        let (names, id) = (self.names, self.id.clone());
        if let Some(answer) = self.answer(lane) {
            answer.is_cancelled = true;
            let data = ThreadEvent::Complete {
                message_id: &answer.message_id,
                content: &answer.content,
                status: MessageStatus::Cancelled,
            };
            frames.push(SseFrame::new(names, id, "chat:complete", &data));
        }
        frames
    }

    fn end(&mut self, status: RunStatus) -> Vec<SseFrame> {
        let mut frames = self.flush();
        let several = self.answers.len() > 1;
        for answer in self.answers.iter().filter(|answer| !answer.is_cancelled) {
            // Where several agents answer, a failed one does not affect the others.
            let answered = several && answer.has_whole_text && answer.fault.is_none();
            let status = match status {
                RunStatus::Done | RunStatus::AwaitingClient => MessageStatus::Complete,
                RunStatus::Cancelled | RunStatus::Error | RunStatus::Interrupted if answered => {
                    MessageStatus::Complete
                }
                RunStatus::Cancelled => MessageStatus::Cancelled,
                RunStatus::Error | RunStatus::Interrupted => {
                    let fault = answer.fault.clone();
                    let fault = fault.unwrap_or_else(|| Fault::plain(ErrorCode::Interrupted));
                    frames.push(failed(self.names, &self.id, &answer.message_id, &fault));
                    continue;
                }
            };
            let data = ThreadEvent::Complete {
                message_id: &answer.message_id,
                content: &answer.content,
                status,
            };
            frames.push(SseFrame::new(self.names, self.id.clone(), "chat:complete", &data));
        }
        frames
    }
}

fn failed(names: FieldNames, id: &str, message_id: &str, fault: &Fault) -> SseFrame {
    let data = ThreadEvent::Error { message_id, error: Reason::of(fault) };
    SseFrame::new(names, id.to_owned(), "chat:error", &data)
}

impl ThreadFrames {
    fn add(&mut self, lane: LaneId, part: &Part<'_>) -> Vec<SseFrame> {
        match part {
            Part::Start { agents, .. } => self.begin_answers(agents),
            Part::Text { turn_id: _, words } => {
                if let Some(answer) = self.answer(lane) {
                    answer.content.push_str(words.lead_in_answer());
                    answer.content.push_str(words.text);
                }
            }
            Part::TextComplete { .. } => {
                if let Some(answer) = self.answer(lane) {
                    answer.has_whole_text = true;
                }
            }
            Part::Error { code: ErrorCode::Cancelled, .. } => return self.cancelled(lane),
            Part::Error { code, message, hint, .. } => {
                if let Some(answer) = self.answer(lane) {
                    answer.fault = Some(Fault::new(*code, *message).with_hint(*hint));
                }
            }
            Part::Proposal {
                draft_id,
                tool,
                summary,
                preview,
                asks_for,
                expires_at: Some(expires_at),
            } => {
                let mut frames = self.flush();
                let message_id = self.answer(lane).map(|answer| answer.message_id.clone());
                let confirm = ThreadConfirm {
                    message_id: message_id.as_deref().unwrap_or_default(),
                    pending_change_id: *draft_id,
                    tool,
                    summary,
                    preview,
                    asks_for: *asks_for,
                    expires_at: *expires_at,
                };
                let confirm = ThreadEvent::Confirm(confirm);
                frames.push(SseFrame::new(self.names, self.id.clone(), "confirm", &confirm));
                return frames;
            }
            Part::Done { status, .. } => return self.end(*status),
            // The surface has no events for these parts.
            Part::Proposal { expires_at: None, .. }
            | Part::Reasoning { .. }
            | Part::ToolCall { .. }
            | Part::ToolOutput { .. }
            | Part::ToolResult { .. }
            | Part::Context { .. }
            | Part::Status { .. }
            | Part::Usage(_) => {}
        }
        Vec::new()
    }
}

impl Encoder for ThreadFrames {
    type Frame = SseFrame;

    fn encode(&mut self, envelope: &Envelope) -> Vec<SseFrame> {
        self.id = format!("{}:{}", envelope.run_id, envelope.seq);
        let parts = self.fold.parts(envelope);
        parts.flat_map(|part| self.add(envelope.lane, &part)).collect()
    }

    /// Sends the end of the run if the feed ended without one. That is enough, because here each
    /// answer has an end of its own.
    fn finish(&mut self) -> Vec<SseFrame> {
        let parts = self.fold.finish();
        let ends = parts.filter(|part| matches!(part, Part::Done { .. }));
        ends.flat_map(|part| self.add(LaneId(0), &part)).collect()
    }
}
