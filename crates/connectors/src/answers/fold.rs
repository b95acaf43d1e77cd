//! Folds a run's events into what a chat shows of the run, the same for every network and for a
//! run that is read from its log after a crash.

use onyx_surface::{Part, RunFold};
use onyx_types::{AsksFor, DraftId, Envelope, Preview, RunStatus, Timestamp};

/// What an event changes in the chat.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerStep {
    /// The answer has grown, or the run has begun another activity.
    Grew,
    /// The run needs a decision by a person.
    Proposal(Proposal),
    Ended,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub draft: DraftId,
    pub summary: String,
    pub preview: Preview,
    pub asks_for: AsksFor,
    /// The time until which the run waits for the answer.
    pub expires_at: Option<Timestamp>,
}

/// Builds the answer from the events of a run that were read so far.
#[derive(Debug, Default)]
pub struct AnswerFold {
    fold: RunFold,
    text: String,
    /// What the run is doing while it writes no text.
    activity: Option<String>,
    trouble: Option<String>,
    status: Option<RunStatus>,
}

impl AnswerFold {
    pub fn read(&mut self, envelope: &Envelope) -> Vec<AnswerStep> {
        let parts: Vec<Part<'_>> = self.fold.parts(envelope).collect();
        parts.iter().filter_map(|part| self.add(part)).collect()
    }

    /// Marks the end of the events. If they do not contain the end of the run, it counts as
    /// interrupted.
    pub fn finish(&mut self) {
        let parts: Vec<Part<'static>> = self.fold.finish().collect();
        for part in &parts {
            self.add(part);
        }
    }

    fn add(&mut self, part: &Part<'_>) -> Option<AnswerStep> {
        match part {
            Part::Text { words, .. } => {
                self.text.push_str(&words.in_run());
                self.activity = None;
                Some(AnswerStep::Grew)
            }
            Part::ToolCall { summary, .. } => {
                self.activity = Some((*summary).to_owned());
                Some(AnswerStep::Grew)
            }
            Part::ToolResult { .. } => {
                self.activity = None;
                None
            }
            Part::Proposal { draft_id, summary, preview, asks_for, expires_at, .. } => {
                Some(AnswerStep::Proposal(Proposal {
                    draft: *draft_id,
                    summary: (*summary).to_owned(),
                    preview: (*preview).clone(),
                    asks_for: *asks_for,
                    expires_at: *expires_at,
                }))
            }
            Part::Error { message, hint, .. } => {
                self.trouble = Some(if hint.is_empty() {
                    (*message).to_owned()
                } else {
                    format!("{message} {hint}")
                });
                None
            }
            Part::Done { status, .. } => {
                self.status = Some(*status);
                self.activity = None;
                Some(AnswerStep::Ended)
            }
            Part::Start { .. }
            | Part::TextComplete { .. }
            | Part::Reasoning { .. }
            | Part::ToolOutput { .. }
            | Part::Context { .. }
            | Part::Status { .. }
            | Part::Usage(_) => None,
        }
    }

    /// The text that is shown while the run works. It ends with a mark that a finished answer never
    /// has, so that nobody takes a part for the whole.
    pub fn growing(&self) -> String {
        match &self.activity {
            Some(activity) if self.text.is_empty() => format!("_{activity}_ …"),
            Some(activity) => format!("{}\n\n_{activity}_ …", self.text),
            None => format!("{} …", self.text),
        }
    }

    /// The whole answer, with the error if there was one. It is never empty, because every message
    /// gets an answer.
    pub fn answer(&self) -> String {
        let note = match self.status {
            Some(RunStatus::Done | RunStatus::AwaitingClient) => None,
            Some(RunStatus::Cancelled) => Some("Stopped.".to_owned()),
            Some(RunStatus::Interrupted) | None => Some(
                "⚠ The server stopped while I was working on this, so the answer is incomplete. \
                 Send it again if you still need it."
                    .to_owned(),
            ),
            Some(RunStatus::Error) => {
                let why = self.trouble.as_deref().unwrap_or("Something went wrong.");
                Some(format!("⚠ {why}"))
            }
        };
        match (self.text.trim(), note) {
            ("", None) => "Done.".to_owned(),
            ("", Some(note)) => note,
            (text, None) => text.to_owned(),
            (text, Some(note)) => format!("{text}\n\n{note}"),
        }
    }
}
