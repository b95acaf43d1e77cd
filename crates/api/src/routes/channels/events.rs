//! `/api/threads/{id}/events`: every answer of a thread as it comes, run after run.

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
use crate::routes::conversations::{StreamPosition, seen};
use crate::wire::FieldNames;
use crate::wire::encode::{SseFrame, ThreadFrames};
use crate::{ApiState, AuthContext, Problem};

const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Text is told this often at most.
const COALESCED: Duration = Duration::from_millis(100);
/// How long it may take from sending words to listening.
const JUST_NOW: Duration = Duration::from_secs(10);
/// Frames that a slow reader has not taken; beyond it the telling waits, the run does not.
const MOST_UNREAD: usize = 64;

pub(in crate::routes) async fn events(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    names: FieldNames,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Frame, Infallible>>>, Problem> {
    let session = session_of(&state, &caller, &id).await?.session_id;
    let seen = seen(&headers)?;
    if let Some(StreamPosition { run, .. }) = &seen
        && state.agent.sessions.of_run(&caller.person, *run).await? != Some(session)
    {
        return Err(Problem::field("Last-Event-ID", "is not one of this thread"));
    }
    let (told, frames) = mpsc::channel(MOST_UNREAD);
    let agent = state.agent.clone();
    // Heard from here on: what begins before the task does is not missed.
    let notices = agent.notices();
    let person = caller.person.clone();
    let (later, followed) = (VecDeque::new(), HashSet::new());
    let follower = Follower { agent, person, session, names, told, notices, later, followed };
    tokio::spawn(follower.follow(seen));
    let frames = unfold(frames, |mut frames: mpsc::Receiver<SseFrame>| async move {
        let frame = frames.recv().await?;
        Some((Ok(Frame::from(frame)), frames))
    });
    Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Ends when the client or the thread has gone; the runs go on.
struct Follower {
    agent: AgentServices,
    person: PersonId,
    session: SessionId,
    names: FieldNames,
    told: mpsc::Sender<SseFrame>,
    notices: Receiver<Notice>,
    /// Heard while a run was told.
    later: VecDeque<Heard>,
    /// Runs that were told of: that one began may be heard after its end was told.
    followed: HashSet<RunId>,
}

enum Heard {
    Notice(NoticeKind),
    /// Nobody knows what.
    Missed,
    /// Nothing more will be.
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
            let heard = match self.later.pop_front() {
                Some(heard) => heard,
                None => tokio::select! {
                    () = self.told.closed() => return,
                    heard = hear(&mut self.notices, self.session) => heard,
                },
            };
            match heard {
                Heard::Over => return,
                Heard::Notice(NoticeKind::RunStarted(run)) => self.run(run, 0).await,
                Heard::Notice(NoticeKind::MessageWithdrawn(message)) => {
                    self.withdrawn(message).await
                }
                Heard::Notice(NoticeKind::SessionDeleted) => break,
                // It may have been the thread's end; what else it was is looked for again.
                Heard::Missed => {
                    let there = self.agent.sessions.meta(&self.person, self.session).await;
                    if there.is_err_and(|fault| fault.code == ErrorCode::NotFound) {
                        break;
                    }
                }
                Heard::Notice(
                    NoticeKind::RunEnded(_) | NoticeKind::SessionChanged | NoticeKind::Draft(_),
                ) => {}
            }
        }
        // Who cannot be told has gone.
        let _ = self.tell(ThreadFrames::deleted()).await;
    }

    /// The run at work, or the one that a client has missed which sent its words first and then came to listen: the
    /// answer was quicker, and nobody was told of it.
    async fn newest(&self) -> Option<RunId> {
        // Looked at once: a run that is at work now is told also if it is over by the time it is followed.
        let at_work = self.agent.runs.on_session(&self.person, self.session);
        self.agent.pause("thread.listen").await;
        if at_work.is_some() {
            return at_work;
        }
        // A thread that cannot be read says so by every other way to it.
        let ended = self.agent.replay.newest_ended(&self.person, self.session).await;
        let (run, at) = ended.ok().flatten()?;
        if at.saturating_add(JUST_NOW) < self.agent.clock().wall() {
            return None;
        }
        let kept = self.agent.runs.events_here(&self.person, run, 0).await.ok().flatten();
        (!kept.is_some_and(|events| events.was_heard())).then_some(run)
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
        // A thread that is gone tells so by itself.
        if let Ok(agents) = agents.await {
            let _ = self.tell(ThreadFrames::taken_back(self.names, message, &agents)).await;
        }
    }

    /// Tells what a run told after that, to its end.
    async fn run(&mut self, run: RunId, after: u64) {
        if !self.followed.insert(run) || self.told.is_closed() {
            return;
        }
        let Ok(Some(question)) = self.agent.sessions.question_of_run(&self.person, run).await
        else {
            return;
        };
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
                () = self.told.closed() => return,
                heard = hear(&mut self.notices, self.session) => match heard {
                    Heard::Over => return,
                    Heard::Notice(NoticeKind::MessageWithdrawn(message)) => {
                        self.withdrawn(message).await;
                        continue;
                    }
                    heard => {
                        self.later.push_back(heard);
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
                    let told = frames.encode(&envelope);
                    if envelope.seq <= after {
                        frames.skip();
                        continue;
                    }
                    due = frames.has_unsaid().then_some(next_flush);
                    // Before it is told: whoever hears it may come again at once.
                    if matches!(envelope.event, Event::Done { .. }) {
                        events.count_as_heard();
                        is_counted = true;
                    }
                    told
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

    /// A run whose events are no longer kept: how it ended is.
    async fn read_log(&self, run: RunId, mut frames: ThreadFrames) {
        let Ok(events) = self.agent.replay.of_run(&self.person, self.session, run).await else {
            return;
        };
        for envelope in &events {
            let told = frames.encode(envelope);
            if self.tell(told).await.is_err() {
                return;
            }
        }
    }

    /// Fails when the client has gone.
    async fn tell(&self, frames: Vec<SseFrame>) -> Result<(), mpsc::error::SendError<SseFrame>> {
        for frame in frames {
            self.told.send(frame).await?;
        }
        Ok(())
    }
}

/// The next of what happens to a session.
async fn hear(notices: &mut Receiver<Notice>, session: SessionId) -> Heard {
    loop {
        match notices.recv().await {
            Ok(notice) if notice.session == session => return Heard::Notice(notice.kind),
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return Heard::Missed,
            Err(RecvError::Closed) => return Heard::Over,
        }
    }
}
