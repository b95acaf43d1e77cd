//! `/api/threads/{id}/events`: all answers of a thread as they are written, run after run.

use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use futures::Stream;
use futures::stream::unfold;
use onyx_agent::{AgentServices, Notice, NoticeKind};
use onyx_surface::Encoder;
use onyx_types::{ErrorCode, Event, PersonId, RunId, SessionId, TurnId};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::threads::session_of;
use crate::routes::conversations::{StreamPosition, last_position};
use crate::wire::FieldNames;
use crate::wire::encode::{SseFrame, ThreadFrames};
use crate::{ApiState, AuthContext, Problem};

const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The shortest time between two frames of text.
const COALESCED: Duration = Duration::from_millis(100);
/// How long after sending a message a client may connect and still get its answer.
const JUST_NOW: Duration = Duration::from_secs(10);
/// How many frames a slow reader may leave unread. Beyond it the stream waits, but the run does
/// not.
const MOST_UNREAD: usize = 64;

pub(in crate::routes) async fn events(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    names: FieldNames,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Frame, Infallible>>>, Problem> {
    let session = session_of(&state, &caller, &id).await?.session_id;
    let seen = last_position(&headers)?;
    if let Some(StreamPosition { run, .. }) = &seen
        && state.agent.sessions.of_run(&caller.person, *run).await? != Some(session)
    {
        return Err(Problem::field("Last-Event-ID", "does not belong to this thread"));
    }
    let (sender, frames) = mpsc::channel(MOST_UNREAD);
    let agent = state.agent.clone();
    // The subscription begins here, so that nothing that happens before the task starts is missed.
    let notices = agent.notices();
    let person = caller.person.clone();
    let (later, followed) = (VecDeque::new(), HashSet::new());
    let follower = Follower { agent, person, session, names, sender, notices, later, followed };
    tokio::spawn(follower.follow(seen));
    let frames = unfold(frames, |mut frames: mpsc::Receiver<SseFrame>| async move {
        let frame = frames.recv().await?;
        Some((Ok(Frame::from(frame)), frames))
    });
    Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Streams a thread to one client until the client or the thread is gone; the runs continue.
struct Follower {
    agent: AgentServices,
    person: PersonId,
    session: SessionId,
    names: FieldNames,
    sender: mpsc::Sender<SseFrame>,
    notices: Receiver<Notice>,
    /// Notices that arrived while a run was being streamed.
    later: VecDeque<ThreadNotice>,
    /// Runs that were streamed already, because the notice of a run's beginning may arrive after
    /// its end.
    followed: HashSet<RunId>,
}

enum ThreadNotice {
    Notice(NoticeKind),
    /// Notices were missed.
    Missed,
    /// No more notices come.
    Over,
}

impl Follower {
    async fn follow(mut self, seen: Option<StreamPosition>) {
        if let Some(StreamPosition { run, after, .. }) = seen {
            self.run(run, after).await;
            let later = self.agent.replay.runs_after(&self.person, self.session, run).await;
            for later in later.unwrap_or_default() {
                self.run(later, 0).await;
            }
        } else if let Some(run) = self.newest().await {
            self.run(run, 0).await;
        }
        loop {
            if let Some(run) = self.agent.runs.on_session(&self.person, self.session) {
                self.run(run, 0).await;
            }
            let notice = match self.later.pop_front() {
                Some(notice) => notice,
                None => tokio::select! {
                    () = self.sender.closed() => return,
                    notice = next_notice(&mut self.notices, self.session) => notice,
                },
            };
            match notice {
                ThreadNotice::Over => return,
                ThreadNotice::Notice(NoticeKind::RunStarted(run)) => self.run(run, 0).await,
                ThreadNotice::Notice(NoticeKind::MessageWithdrawn(message)) => {
                    self.withdrawn(message).await
                }
                ThreadNotice::Notice(NoticeKind::SessionDeleted) => break,
                // The end of the thread may have been missed; the newest run is looked up again.
                ThreadNotice::Missed => {
                    let there = self.agent.sessions.meta(&self.person, self.session).await;
                    if there.is_err_and(|fault| fault.code == ErrorCode::NotFound) {
                        break;
                    }
                }
                ThreadNotice::Notice(
                    NoticeKind::RunEnded(_) | NoticeKind::SessionChanged | NoticeKind::Draft(_),
                ) => {}
            }
        }
        // Sending fails only when the client has gone.
        let _ = self.tell(ThreadFrames::deleted()).await;
    }

    /// The run at work, or the newest one if the client has missed it. A client may connect after
    /// it sent its message and the answer was faster.
    async fn newest(&self) -> Option<RunId> {
        // The run in progress is looked up first, so that it is streamed even if it ends before it
        // is followed.
        let at_work = self.agent.runs.on_session(&self.person, self.session);
        self.agent.pause("thread.listen").await;
        if at_work.is_some() {
            return at_work;
        }
        // An error of the thread is reported by every other route to it.
        let ended = self.agent.replay.newest_ended(&self.person, self.session).await;
        let (run, at) = ended.ok().flatten()?;
        if at.saturating_add(JUST_NOW) < self.agent.clock().wall() {
            return None;
        }
        let events = self.agent.runs.events_here(&self.person, run, 0).await.ok().flatten();
        (!events.is_some_and(|events| events.was_heard())).then_some(run)
    }

    async fn withdrawn(&self, message: TurnId) {
        let (person, session) = (&self.person, self.session);
        let agents = async {
            let rows = self.agent.conversations.unanswered(person, session).await?;
            let text = rows.iter().find(|row| row.turn == message);
            let text = text.map(|row| row.words.content.text()).unwrap_or_default();
            let meta = self.agent.sessions.meta(person, session).await?;
            self.agent.conversations.answerers(person, &meta, &text).await
        };
        // A deleted thread needs no frame here, because its own notice follows.
        if let Ok(agents) = agents.await {
            let _ = self.tell(ThreadFrames::taken_back(self.names, message, &agents)).await;
        }
    }

    /// Streams the events of a run after `after`, up to its end.
    async fn run(&mut self, run: RunId, after: u64) {
        if self.followed.contains(&run) || self.sender.is_closed() {
            return;
        }
        // A run is at work a moment before its question is stored, and `RunStarted` comes after
        // that. Until then it counts as not streamed.
        let Ok(Some(question)) = self.agent.sessions.question_of_run(&self.person, run).await
        else {
            return;
        };
        self.followed.insert(run);
        let mut frames = ThreadFrames::new(question).named(self.names);
        let Ok(events) = self.agent.runs.events(&self.person, run, 0).await else {
            return self.read_log(run, frames).await;
        };
        let mut events = events.parted_at(after);
        let mut due: Option<Instant> = None;
        let mut next_flush = Instant::now();
        let mut is_counted = false;
        loop {
            let flush = async {
                match due {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let ready = tokio::select! {
                () = self.sender.closed() => return,
                notice = next_notice(&mut self.notices, self.session) => match notice {
                    ThreadNotice::Over => return,
                    ThreadNotice::Notice(NoticeKind::MessageWithdrawn(message)) => {
                        self.withdrawn(message).await;
                        continue;
                    }
                    notice => {
                        self.later.push_back(notice);
                        continue;
                    }
                },
                () = flush => {
                    due = None;
                    next_flush = Instant::now() + COALESCED;
                    frames.flush()
                }
                envelope = events.next() => {
                    let Some(envelope) = envelope else {
                        let _ = self.tell(frames.finish()).await;
                        return;
                    };
                    let encoded = frames.encode(&envelope);
                    if envelope.seq <= after {
                        frames.skip();
                        continue;
                    }
                    due = frames.has_unsaid().then_some(next_flush);
                    // Recorded before the event is sent, because the client may connect again at
                    // once.
                    if matches!(envelope.event, Event::Done { .. }) {
                        events.count_as_heard();
                        is_counted = true;
                    }
                    encoded
                }
            };
            if self.tell(ready).await.is_err() {
                if is_counted {
                    events.count_as_unheard();
                }
                return;
            }
        }
    }

    /// A run whose events are no longer kept: its end is read from the log.
    async fn read_log(&self, run: RunId, mut frames: ThreadFrames) {
        let Ok(events) = self.agent.replay.of_run(&self.person, self.session, run).await else {
            return;
        };
        for envelope in &events {
            let encoded = frames.encode(envelope);
            if self.tell(encoded).await.is_err() {
                return;
            }
        }
    }

    /// Sends frames to the client; fails when the client has disconnected.
    async fn tell(&self, frames: Vec<SseFrame>) -> Result<(), mpsc::error::SendError<SseFrame>> {
        for frame in frames {
            self.sender.send(frame).await?;
        }
        Ok(())
    }
}

/// The next notice about a session.
async fn next_notice(notices: &mut Receiver<Notice>, session: SessionId) -> ThreadNotice {
    loop {
        match notices.recv().await {
            Ok(notice) if notice.session == session => return ThreadNotice::Notice(notice.kind),
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return ThreadNotice::Missed,
            Err(RecvError::Closed) => return ThreadNotice::Over,
        }
    }
}
