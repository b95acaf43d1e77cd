//! Sends one run to one client of `useChat`, up to its end or to where it waits for a person.

use std::collections::BTreeSet;
use std::convert::Infallible;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::stream::unfold;
use onyx_agent::EventReader;
use onyx_storage::Draft;
use onyx_types::{DraftId, DraftState, Envelope, Event, RunId, StatusCode, ToolUseId};

use super::chats::{Reader, UiChats};
use crate::wire::encode::UiRunFrames;
use crate::{ApiState, AuthContext};

pub(super) struct Following {
    state: ApiState,
    caller: AuthContext,
    events: EventReader,
    reader: Reader,
    /// Approval requests that the client has answered: nothing up to the last of them is sent
    /// again.
    answered: BTreeSet<DraftId>,
    denied: Vec<ToolUseId>,
    /// An approval request was sent that is not answered yet.
    asks: bool,
    is_over: bool,
}

impl Following {
    pub(super) async fn of(
        state: &ApiState,
        caller: &AuthContext,
        run: RunId,
        events: EventReader,
    ) -> Self {
        Self {
            state: state.clone(),
            caller: caller.clone(),
            events,
            reader: UiChats::of(state).read(&state.agent.runs, &caller.person, run).await,
            answered: BTreeSet::new(),
            denied: Vec::new(),
            asks: false,
            is_over: false,
        }
    }

    /// Continues after these decisions.
    pub(super) fn after_decisions(mut self, decided: &[Draft]) -> Self {
        for draft in decided {
            self.answered.insert(draft.id);
            if draft.state == DraftState::Rejected {
                self.denied.push(draft.call.clone());
            }
        }
        self
    }

    /// The next frames; none at the end.
    async fn next(&mut self, frames: &mut UiRunFrames) -> Option<Bytes> {
        let mut chunk = BytesMut::new();
        while chunk.is_empty() && !self.is_over {
            let ready = match self.events.next().await {
                Some(envelope) => self.frames_of(&envelope, frames).await,
                None => self.end(frames.finish()),
            };
            for frame in ready {
                chunk.extend_from_slice(&frame);
            }
        }
        (!chunk.is_empty()).then(|| chunk.freeze())
    }

    async fn frames_of(&mut self, envelope: &Envelope, frames: &mut UiRunFrames) -> Vec<Bytes> {
        let mut ready = frames.event(envelope);
        // Requests may be answered out of order, so skipping ends with the last of them.
        let is_silent = !self.answered.is_empty();
        match &envelope.event {
            Event::Confirm { draft_id, .. } => {
                let is_new = !self.answered.remove(draft_id);
                if is_new {
                    ready.extend(self.question(*draft_id).await);
                }
            }
            Event::Status { code: StatusCode::Waiting, .. } if self.asks && !is_silent => {
                ready.extend(frames.pause());
                return self.end(ready);
            }
            Event::Done { .. } => return self.end(ready),
            _ => {}
        }
        // The client has the earlier parts, except for the beginning, which names the message.
        if is_silent && !matches!(envelope.event, Event::Start { .. }) {
            frames.drop_told();
            return Vec::new();
        }
        ready
    }

    /// Sends an approval request. A draft that was already decided does not stop the run.
    async fn question(&mut self, draft: DraftId) -> Option<Bytes> {
        match self.state.agent.approvals.get(&self.caller.person, draft).await {
            Ok(found) => {
                self.asks |= found.state == DraftState::Pending;
                Some(UiRunFrames::ask(draft, &found.call))
            }
            Err(fault) => {
                tracing::warn!(%draft, %fault, "an approval request of a run could not be sent to its reader");
                None
            }
        }
    }

    fn end(&mut self, ready: Vec<Bytes>) -> Vec<Bytes> {
        self.is_over = true;
        self.reader.done();
        ready
    }
}

pub(super) fn stream(following: Following, mut frames: UiRunFrames) -> Body {
    for call in &following.denied {
        frames.deny(call.clone());
    }
    let telling = Box::new((following, frames));
    Body::from_stream(unfold(telling, |mut telling| async move {
        let (following, frames) = &mut *telling;
        let chunk = following.next(frames).await?;
        Some((Ok::<_, Infallible>(chunk), telling))
    }))
}
