//! Follows runs and changes for one connection.

use std::collections::HashMap;

use onyx_agent::{EventReader, JobNotice, Notice, NoticeKind};
use onyx_surface::Encoder;
use onyx_types::{DraftId, ErrorCode, Fault, JobId, PersonId, RunId, SessionId};
use serde::Serialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::AbortHandle;

use super::outbox::Outbox;
use crate::ApiState;
use crate::changes::Change;
use crate::wire::encode::WsFrames;

/// The most runs that one connection may follow at a time.
const MOST: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Following(HashMap<RunId, AbortHandle>);

impl Following {
    /// Sends the events after `after`. `reader` begins at the run's first event, so that the
    /// encoder knows what the client knows. Following a run a second time ends the first following.
    pub(super) fn follow(
        &mut self,
        run: RunId,
        after: u64,
        reader: EventReader,
        outbox: Outbox,
    ) -> Result<(), Fault> {
        self.0.retain(|_, task| !task.is_finished());
        if let Some(old) = self.0.remove(&run) {
            old.abort();
        }
        if self.0.len() >= MOST {
            let message = format!("This connection already follows {MOST} runs, the most it may.");
            return Err(Fault::new(ErrorCode::Overloaded, message));
        }
        let task = tokio::spawn(forward(after, reader, outbox));
        self.0.insert(run, task.abort_handle());
        Ok(())
    }
}

impl Drop for Following {
    /// Stops sending to the client; the runs themselves continue.
    fn drop(&mut self) {
        for task in self.0.values() {
            task.abort();
        }
    }
}

async fn forward(after: u64, mut reader: EventReader, outbox: Outbox) {
    let mut encoder = WsFrames::default();
    while let Some(envelope) = reader.next().await {
        for frame in encoder.encode(&envelope) {
            if frame.seq > after {
                outbox.tell(frame.text).await;
            }
        }
    }
}

#[derive(Serialize)]
struct EventFrame<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    data: EventData<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventData<'a> {
    topic: &'a str,
    change: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    draft_id: Option<DraftId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<JobId>,
    /// A message to show to the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl EventData<'static> {
    const MISSED: Self = Self {
        topic: "sessions",
        change: "missed",
        session_id: None,
        run_id: None,
        draft_id: None,
        job_id: None,
        message: None,
    };
}

/// The changes that a connection is told of, from the moment of the subscription on.
pub(super) struct Subscription {
    notices: Receiver<Notice>,
    changes: Receiver<Change>,
    jobs: Receiver<JobNotice>,
}

impl Subscription {
    pub(super) fn begin(state: &ApiState) -> Self {
        let (notices, changes) = (state.agent.notices(), state.changes.subscribe());
        Self { notices, changes, jobs: state.agent.jobs.notices() }
    }
}

/// Sends changes for this person until the connection ends.
pub(super) async fn broadcasts(
    subscription: Subscription,
    state: ApiState,
    person: PersonId,
    outbox: Outbox,
) {
    let Subscription { mut notices, mut changes, mut jobs } = subscription;
    let is_owner = state.auth.identity().owner().is_ok_and(|owner| owner == person);
    // A connection that only listens must not keep the server's parts alive.
    drop(state);
    loop {
        let events = tokio::select! {
            received = notices.recv() => match received {
                Err(RecvError::Closed) => return,
                // Changes were missed, so the client reloads everything.
                Err(RecvError::Lagged(_)) => vec![EventData::MISSED],
                Ok(notice) if notice.person == person => vec![describe(&notice)],
                // The frame does not name the member's draft: the owner's list shows only drafts
                // that the owner decides.
                Ok(Notice { kind: NoticeKind::Draft(_), .. }) if is_owner => {
                    vec![EventData { topic: "member_drafts", change: "changed", ..EventData::MISSED }]
                }
                Ok(_) => Vec::new(),
            },
            received = jobs.recv() => match received {
                Err(RecvError::Closed) => return,
                Err(RecvError::Lagged(_)) => vec![EventData { topic: "jobs", ..EventData::MISSED }],
                Ok(notice) if notice.person == person => vec![EventData {
                    topic: "jobs",
                    change: if notice.tell.is_some() { "told" } else { "changed" },
                    job_id: Some(notice.job),
                    message: notice.tell,
                    ..EventData::MISSED
                }],
                Ok(_) => Vec::new(),
            },
            received = changes.recv() => match received {
                Err(RecvError::Closed) => return,
                Err(RecvError::Lagged(_)) => Change::TOPICS
                    .iter()
                    .map(|topic| EventData { topic, ..EventData::MISSED })
                    .collect(),
                Ok(change) if change.concerns(&person) => vec![EventData {
                    topic: change.topic(),
                    change: "changed",
                    ..EventData::MISSED
                }],
                Ok(_) => Vec::new(),
            },
            () = outbox.ended.cancelled() => return,
        };
        for data in events {
            let frame = EventFrame { kind: "event", data };
            outbox.tell(serde_json::to_string(&frame).unwrap_or_default()).await;
        }
    }
}

fn describe(notice: &Notice) -> EventData<'static> {
    let unnamed = EventData { session_id: Some(notice.session), ..EventData::MISSED };
    match notice.kind {
        NoticeKind::SessionChanged | NoticeKind::MessageWithdrawn(_) => {
            EventData { change: "changed", ..unnamed }
        }
        NoticeKind::SessionDeleted => EventData { change: "removed", ..unnamed },
        NoticeKind::RunStarted(run) => {
            EventData { change: "run_started", run_id: Some(run), ..unnamed }
        }
        NoticeKind::RunEnded(run) => {
            EventData { change: "run_ended", run_id: Some(run), ..unnamed }
        }
        NoticeKind::Draft(draft) => {
            EventData { topic: "drafts", change: "changed", draft_id: Some(draft), ..unnamed }
        }
    }
}
