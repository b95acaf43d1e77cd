//! The handles that a caller gets for a run that it starts.

use std::sync::Arc;
use std::task::Poll;

use onyx_types::{
    Cancel, Envelope, ErrorCode, Event, Fault, Origin, RunId, RunStatus, SessionId, StatusCode,
};

use super::live::RunContact;
use crate::feed::EventReader;

/// A started run. It continues when the handle is dropped.
#[derive(Debug)]
pub struct RunHandle {
    pub run_id: RunId,
    pub session_id: SessionId,
    pub events: EventReader,
    pub(super) cancel: Cancel,
}

/// Stops one run. Surfaces whose client may disconnect hold one.
#[derive(Clone, Debug)]
pub struct Canceller(Cancel);

impl Canceller {
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

impl RunHandle {
    pub(super) fn of(contact: &RunContact) -> Self {
        Self {
            run_id: contact.run,
            session_id: contact.key.session,
            events: contact.feed.read_after(0),
            cancel: contact.cancel.clone(),
        }
    }

    pub fn canceller(&self) -> Canceller {
        Canceller(self.cancel.clone())
    }
}

/// A run that belongs to its caller: dropping the handle before the last event stops the run.
#[derive(Debug)]
pub struct OwnedRun {
    handle: RunHandle,
    ended: bool,
}

impl From<RunHandle> for OwnedRun {
    fn from(handle: RunHandle) -> Self {
        Self { handle, ended: false }
    }
}

impl OwnedRun {
    pub fn run_id(&self) -> RunId {
        self.handle.run_id
    }

    pub fn session_id(&self) -> SessionId {
        self.handle.session_id
    }

    /// Whether the last event was read.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<Arc<Envelope>> {
        let next = self.handle.events.next().await;
        self.ended |= next.is_none();
        next
    }

    /// Returns the next event without waiting for it. `Pending`: there is none yet.
    pub fn next_now(&mut self) -> Poll<Option<Arc<Envelope>>> {
        let next = self.handle.events.next_now();
        self.ended |= matches!(next, Poll::Ready(None));
        next
    }

    /// Reads the run to its end and returns its answer as one text, for a caller inside another
    /// run.
    pub(crate) async fn collect(&mut self) -> CollectedAnswer {
        let mut texts = Vec::new();
        let mut origin = Origin::Agent;
        let mut fault = None;
        let mut ended = RunStatus::Interrupted;
        while let Some(envelope) = self.next().await {
            match &envelope.event {
                Event::TextComplete { text, .. } if !text.is_empty() => texts.push(text.clone()),
                Event::Status { code: StatusCode::Tainted, .. } => origin = Origin::AgentTainted,
                Event::Error { code, message, hint, .. } => {
                    fault = Some(Fault::new(*code, message.clone()).with_hint(hint.clone()));
                }
                Event::Done { status, .. } => ended = *status,
                _ => {}
            }
        }
        let text = match (ended, fault) {
            (RunStatus::Done, _) => Ok(texts.join("\n\n")),
            (_, Some(fault)) => Err(fault),
            (_, None) => Err(Fault::plain(ErrorCode::Interrupted)),
        };
        CollectedAnswer { text, origin }
    }
}

impl Drop for OwnedRun {
    fn drop(&mut self) {
        if !self.ended {
            self.handle.cancel.cancel();
        }
    }
}

pub(crate) struct CollectedAnswer {
    pub(crate) text: Result<String, Fault>,
    /// The origin of the answer: tainted if the run had read content from outside.
    pub(crate) origin: Origin,
}
