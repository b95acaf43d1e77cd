//! How a message gets its answer. The run begins when the message's turn comes; a reader joins an
//! answer that is still being given, and gets a finished one replayed.

use std::time::Duration;

use onyx_storage::{InboxRow, SessionMeta};
use onyx_types::{
    Attendance, Envelope, ErrorCode, Fault, PersonId, RunId, RunStatus, SessionId, SessionKey,
    Turn, TurnBody, TurnId, View,
};
use tokio::sync::broadcast;

use super::Conversations;
use crate::feed::EventReader;
use crate::notices::Notice;
use crate::runs::{DryRun, RunHandle, RunInput, RunRequest, RunTerms, SessionRef};
use crate::sessions::no_such_session;

/// The answer to a message.
#[derive(Debug)]
pub enum MessageAnswer {
    /// The run is at work, or its events are still kept.
    Live { run: RunId, events: EventReader },
    /// The run is over, and its events come from the log.
    Logged { run: RunId, events: Vec<Envelope> },
}

/// What happens to a message whose run failed, was stopped or broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// The message is run again.
    RunAgain,
    /// The failed run's events are replayed.
    Replay,
}

/// A waiting message looks again after this time, because it may have missed a notice.
pub(super) const LOOK: Duration = Duration::from_millis(500);
/// How many times an idle session must refuse before the refusal is believed.
const MOST_REFUSALS: usize = 20;

/// How far a message has come on its way to an answer.
enum Stage {
    /// No run has taken the message. `behind` says whether earlier messages are to be answered
    /// first.
    Waiting {
        behind: bool,
    },
    Logged {
        turns: Vec<Turn>,
        run: RunId,
        status: Option<RunStatus>,
    },
}

impl Conversations {
    /// The answer to a message. The run is begun when the message's turn comes, joined while it
    /// works, and replayed when it is over. A run is repeated only if it failed, was stopped or
    /// broke off, and the caller asks for that.
    pub async fn answer_to(
        &self,
        person: &PersonId,
        session: SessionId,
        message: TurnId,
        after_failure: AfterFailure,
    ) -> Result<MessageAnswer, Fault> {
        let runs = &self.shared.runs;
        let key = self.shared.sessions.key(person, session).await?;
        let mut notices = self.shared.notices.listen();
        let _asked = self.shared.promises.ask(message);
        let mut refused = 0;
        loop {
            if let Some(run) = runs.answering(person, message)
                && let Ok(events) = runs.events(person, run, 0).await
            {
                return Ok(MessageAnswer::Live { run, events });
            }
            if self.shared.promises.is_closed(session) {
                return Err(no_such_session(session));
            }
            let begin = match self.stage(&key, message).await? {
                Stage::Waiting { behind: true } => None,
                Stage::Waiting { behind: false } => Some(RunInput::Queued(message)),
                Stage::Logged { turns, run, status } => {
                    if runs.on_session(person, session) == Some(run)
                        || (status.is_none() && runs.is_elsewhere(run).await?)
                    {
                        let events = runs.events(person, run, 0).await?;
                        return Ok(MessageAnswer::Live { run, events });
                    }
                    let failed = status.is_none_or(RunStatus::may_run_again);
                    if after_failure == AfterFailure::Replay || !failed {
                        return self.past_answer(person, session, run, &turns).await;
                    }
                    Some(RunInput::Stored(message))
                }
            };
            // Another gateway may work on the session for as long as it likes. It is asked for only
            // after a refusal, because this costs a query.
            if let Some(input) = begin
                && runs.on_session(person, session).is_none()
                && (refused == 0 || !runs.holds_elsewhere(&key).await?)
            {
                match self.begin_answer(person, session, input).await {
                    Err(fault) if fault.code == ErrorCode::SessionBusy => {
                        refused += 1;
                        if refused > MOST_REFUSALS {
                            return Err(fault);
                        }
                    }
                    Err(fault) => return Err(fault),
                    Ok(handle) => {
                        self.shared.promises.remove(message);
                        if self.shared.promises.is_withdrawn(message) {
                            // The message was withdrawn while its run began.
                            handle.canceller().cancel();
                        }
                        let (run, events) = (handle.run_id, handle.events);
                        return Ok(MessageAnswer::Live { run, events });
                    }
                }
            }
            self.shared.clock.within(LOOK, notice_of(&mut notices, session)).await;
        }
    }

    /// `NotFound` unless the message is in the conversation.
    pub async fn check_message(
        &self,
        person: &PersonId,
        session: SessionId,
        message: TurnId,
    ) -> Result<(), Fault> {
        let key = self.shared.sessions.key(person, session).await?;
        self.stage(&key, message).await.map(drop)
    }

    /// The newest message of the person's in the conversation.
    pub async fn latest_message(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<TurnId, Fault> {
        let key = self.shared.sessions.key(person, session).await?;
        let rows = self.shared.ledger.inbox(&key).await?;
        if let Some(row) = rows.iter().rfind(|row| !row.words.withdrawn) {
            return Ok(row.turn);
        }
        let none = || Fault::new(ErrorCode::NotFound, "Nothing has been said here yet.");
        let page = self.shared.sessions.turns(person, session, None, 1).await?;
        let newest = page.turns.last().map(|turn| turn.id).ok_or_else(none)?;
        Ok(self.shared.sessions.question_of(&key, newest).await?.id)
    }

    async fn past_answer(
        &self,
        person: &PersonId,
        session: SessionId,
        run: RunId,
        turns: &[Turn],
    ) -> Result<MessageAnswer, Fault> {
        match self.shared.runs.events(person, run, 0).await {
            Ok(events) => Ok(MessageAnswer::Live { run, events }),
            Err(_) => {
                let events = self.shared.replay.of_turns(person, session, run, turns).await?;
                Ok(MessageAnswer::Logged { run, events })
            }
        }
    }

    async fn begin_answer(
        &self,
        person: &PersonId,
        session: SessionId,
        input: RunInput,
    ) -> Result<RunHandle, Fault> {
        let meta = self.shared.sessions.meta(person, session).await?;
        let (text, view) = self.words_of(person, &meta, &input).await?;
        let agents = self.answerers(person, &meta, &text).await?;
        let request = RunRequest {
            person: person.clone(),
            session: SessionRef::Asking { session, agents },
            input,
            view,
            model: None,
            terms: RunTerms::default(),
            attendance: Attendance::Attended,
            dry_run: DryRun::Off,
        };
        self.shared.runs.start(request).await
    }

    async fn words_of(
        &self,
        person: &PersonId,
        meta: &SessionMeta,
        input: &RunInput,
    ) -> Result<(String, Option<View>), Fault> {
        let key = SessionKey {
            person: person.clone(),
            agent: meta.agent.clone(),
            session: meta.session_id,
        };
        let words = match input {
            RunInput::Queued(message) => {
                let rows = self.shared.ledger.inbox(&key).await?;
                rows.into_iter().find(|row| row.turn == *message).map(|row| row.words)
            }
            RunInput::Stored(message) => {
                match self.shared.sessions.question_of(&key, *message).await?.body {
                    TurnBody::User(words) => Some(words),
                    _ => None,
                }
            }
            RunInput::New(_)
            | RunInput::Regenerate(_)
            | RunInput::Waiting
            | RunInput::Client(_) => None,
        };
        let words = words.ok_or_else(|| Fault::plain(ErrorCode::SessionBusy))?;
        Ok((words.content.text(), words.view))
    }

    async fn stage(&self, key: &SessionKey, message: TurnId) -> Result<Stage, Fault> {
        // The inbox must be read before the log: a message is in the log before it leaves the
        // inbox, so one of the two reads finds it.
        let rows = self.shared.ledger.inbox(key).await?;
        if let Some(turns) = self.turns_from(key, message).await? {
            if let Some(TurnBody::User(words)) = turns.first().map(|message| &message.body)
                && words.withdrawn
            {
                return Err(withdrawn());
            }
            let (run, status) = last_run(&turns);
            return match run {
                Some(run) => Ok(Stage::Logged { turns, run, status }),
                // No run has taken this message: it belongs to a fork, or was written by hand.
                None => Err(Fault::plain(ErrorCode::NotFound)),
            };
        }
        let Some(at) = rows.iter().position(|row| row.turn == message) else {
            let what = format!("There is no message {message} in this conversation.");
            return Err(Fault::new(ErrorCode::NotFound, what));
        };
        if rows[at].words.withdrawn {
            return Err(withdrawn());
        }
        let is_first = |row: &InboxRow| {
            self.is_awaited(row)
                || (!row.words.withdrawn && self.shared.promises.is_asked(row.turn))
        };
        let behind = rows[..at].iter().any(is_first);
        Ok(Stage::Waiting { behind })
    }

    /// The message and everything after it, once it is in the log.
    async fn turns_from(
        &self,
        key: &SessionKey,
        message: TurnId,
    ) -> Result<Option<Vec<Turn>>, Fault> {
        const PAGE: usize = 64;
        let is_message = |turn: &Turn| turn.id == message;
        let sessions = &self.shared.sessions;
        let (turns, found) =
            sessions.turns_since(&key.person, key.session, PAGE, is_message).await?;
        Ok(found.then_some(turns))
    }
}

fn withdrawn() -> Fault {
    Fault::new(ErrorCode::Cancelled, "This message was withdrawn before it was answered.")
        .with_hint("Send it again to have it answered.")
}

/// The run that last answered the message, and how it ended. The first of `turns` is the message.
fn last_run(turns: &[Turn]) -> (Option<RunId>, Option<RunStatus>) {
    let mut run = turns.first().and_then(|message| message.run);
    let mut status = None;
    let mut begun = None;
    for turn in turns.iter().skip(1) {
        match &turn.body {
            // The start of a run is logged before the words that the run answers. Until the next
            // turn shows it, this run may belong to another message.
            TurnBody::RunStart(_) => begun = turn.run,
            TurnBody::User(_) if turn.run == run => {}
            TurnBody::User(_) => break,
            body => {
                if begun.is_some() && turn.run == begun {
                    (run, status, begun) = (begun.take(), None, None);
                }
                if let TurnBody::RunEnd(end) = body
                    && turn.run == run
                {
                    status = Some(end.status);
                }
            }
        }
    }
    (run, status)
}

async fn notice_of(notices: &mut broadcast::Receiver<Notice>, session: SessionId) {
    loop {
        match notices.recv().await {
            Ok(notice) if notice.session != session => {}
            // An error means that notices were missed, and one of them may have been about this
            // session.
            Ok(_) | Err(_) => return,
        }
    }
}
