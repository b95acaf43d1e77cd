//! `/api/threads/{id}/events`: every answer of a thread as it comes, run after run.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::stream::unfold;
use onyx_agent::{Happened, RunManager};
use onyx_types::{PersonId, RunId, SessionId};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::threads::session_of;
use crate::encode::{Encoder, SseFrame, ThreadFrames};
use crate::routes::conversations::{Seen, seen};
use crate::{ApiState, AuthContext, Problem};

const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Text is told this often at most.
const COALESCED: Duration = Duration::from_millis(100);
/// Frames that a slow reader has not taken; beyond it the telling waits, the run does not.
const MOST_UNREAD: usize = 64;

pub(in crate::routes) async fn events(
    State(state): State<ApiState>,
    caller: AuthContext,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let session = session_of(&state, &caller, &id).await?.session_id;
    let seen = seen(&headers)?;
    if let Some(Seen { run, .. }) = &seen
        && state.runs.session_of(&caller.person, *run).await? != Some(session)
    {
        return Err(Problem::field("Last-Event-ID", "is not one of this thread"));
    }
    let (told, frames) = mpsc::channel(MOST_UNREAD);
    let runs = state.runs.clone();
    // Heard from here on: what begins before the task does is not missed.
    let notices = runs.notices();
    let person = caller.person.clone();
    let follower = Follower { runs, person, session, told, followed: None };
    tokio::spawn(follower.follow(notices, seen));
    let frames = unfold(frames, |mut frames: mpsc::Receiver<SseFrame>| async move {
        let frame = frames.recv().await?;
        Some((Ok(Event::from(frame)), frames))
    });
    Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Ends when the client has gone; the runs go on.
struct Follower {
    runs: RunManager,
    person: PersonId,
    session: SessionId,
    told: mpsc::Sender<SseFrame>,
    /// The last run that was told of.
    followed: Option<RunId>,
}

impl Follower {
    async fn follow(
        mut self,
        mut notices: tokio::sync::broadcast::Receiver<onyx_agent::Notice>,
        seen: Option<Seen>,
    ) {
        if let Some(Seen { run, after, .. }) = seen {
            self.run(run, after).await;
            let later = self.runs.runs_after(&self.person, self.session, run).await;
            for later in later.unwrap_or_default() {
                self.run(later, 0).await;
            }
        }
        loop {
            if let Some(run) = self.runs.run_of(&self.person, self.session) {
                self.run(run, 0).await;
            }
            let happened = tokio::select! {
                () = self.told.closed() => return,
                heard = notices.recv() => match heard {
                    Ok(notice) if notice.session == self.session => Some(notice.happened),
                    // Whatever was missed: the run at work is looked for again.
                    Ok(_) | Err(RecvError::Lagged(_)) => None,
                    Err(RecvError::Closed) => return,
                },
            };
            match happened {
                Some(Happened::RunStarted(run)) => self.run(run, 0).await,
                Some(Happened::Deleted) => return,
                Some(Happened::RunEnded(_) | Happened::Changed | Happened::Draft(_)) | None => {}
            }
        }
    }

    /// Tells what a run told after that, to its end.
    async fn run(&mut self, run: RunId, after: u64) {
        if self.followed.replace(run) == Some(run) || self.told.is_closed() {
            return;
        }
        let Ok(Some(question)) = self.runs.question_of_run(&self.person, run).await else { return };
        let mut frames = ThreadFrames::new(question);
        let Ok(mut events) = self.runs.events(&self.person, run, 0).await else {
            return self.tell_log(run, frames).await;
        };
        let mut due: Option<Instant> = None;
        let mut next_flush = Instant::now();
        loop {
            let flush = async {
                match due {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let ready = tokio::select! {
                () = self.told.closed() => return,
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
                    told
                }
            };
            if self.tell(ready).await.is_err() {
                return;
            }
        }
    }

    /// A run whose events are no longer kept: how it ended is.
    async fn tell_log(&self, run: RunId, mut frames: ThreadFrames) {
        let Ok(events) = self.runs.replay(&self.person, self.session, run).await else { return };
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
