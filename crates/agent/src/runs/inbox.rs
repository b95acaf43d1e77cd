//! Words for a session that is at work: kept at once, delivered when the run can take them.

use std::collections::BTreeSet;

use onyx_storage::{Delivery, InboxRow};
use onyx_types::{Fault, PersonId, RunId, SessionKey, TurnId, UserTurn};

use crate::runs::{RunHandle, RunManager};
use crate::runs::request::{RunInput, RunRequest, SessionRef};
use crate::step::{Speaker, UserInput};

/// What became of a message.
#[derive(Debug)]
pub enum Sent {
    Started(RunHandle),
    /// It is on disk and belongs to the run under way.
    Queued {
        turn: TurnId,
        run: RunId,
    },
}

impl RunManager {
    /// Starts a run with these words or, while the session is at work, hands them to that run.
    pub async fn send(&self, request: RunRequest, delivery: Delivery) -> Result<Sent, Fault> {
        let (RunInput::New(content), Some(session)) = (&request.input, request.session.existing())
        else {
            return self.start(request).await.map(Sent::Started);
        };
        let Some(live) = self.at_work(&request.person, session) else {
            return self.start(request).await.map(Sent::Started);
        };
        crate::runs::resolve::check_content(content, self.roster().limits().max_prompt_bytes)?;
        let now = self.inner.clock.wall();
        let turn = self.mint().turn(now);
        let content = self.inner.masked_words(content.clone());
        let words = UserTurn { view: request.view.clone(), ..content.into() };
        let row = InboxRow { turn, delivery, words: words.clone(), received_at: now };
        self.expect_words(live.run);
        self.inner.store.ledger.put_inbox(&live.key, row).await?;
        live.tell(delivery, input(turn, words));
        // A run that ended meanwhile did not take them; they get a run of their own.
        if self.at_work(&request.person, session).is_none()
            && let Some(handle) = self.answer_waiting(live.key, &request).await
        {
            return Ok(Sent::Started(handle));
        }
        Ok(Sent::Queued { turn, run: live.run })
    }

    /// Starts a run for words that nobody took, if there are any.
    pub(crate) async fn answer_waiting(
        &self,
        key: SessionKey,
        like: &RunRequest,
    ) -> Option<RunHandle> {
        let waiting = match self.waiting(&key).await {
            Ok(waiting) => waiting,
            Err(fault) => {
                tracing::error!(session = %key.session, %fault, "the inbox could not be read");
                return None;
            }
        };
        if waiting.iter().all(|words| words.withdrawn) {
            return None;
        }
        let request = RunRequest {
            session: SessionRef::Existing(key.session),
            input: RunInput::Waiting,
            view: None,
            ..like.clone()
        };
        match self.start(request).await {
            Ok(handle) => Some(handle),
            // Somebody was quicker: that run takes the words with it.
            Err(fault) if fault.code == onyx_types::ErrorCode::SessionBusy => None,
            Err(fault) => {
                tracing::warn!(session = %key.session, %fault, "waiting words lead the next run");
                None
            }
        }
    }

    /// Words in the inbox that do not stand in the log yet, oldest first.
    pub(crate) async fn waiting(&self, key: &SessionKey) -> Result<Vec<UserInput>, Fault> {
        let rows = self.inner.store.ledger.inbox(key).await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        // A crash between the log and the inbox leaves words in both: the log is right.
        let page = self.inner.store.turns.tail(key, None, 256).await?;
        let written: BTreeSet<_> = page.turns.iter().map(|turn| turn.id).collect();
        let (done, open): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| written.contains(&row.turn));
        if !done.is_empty() {
            let done: Vec<_> = done.iter().map(|row| row.turn).collect();
            self.inner.store.ledger.clear_inbox(key, &done).await?;
        }
        Ok(open.into_iter().map(|row| input(row.turn, row.words)).collect())
    }

    /// The run that works on a session now.
    pub fn run_of(&self, person: &PersonId, session: onyx_types::SessionId) -> Option<RunId> {
        self.at_work(person, session).map(|live| live.run)
    }
}

fn input(turn: TurnId, words: UserTurn) -> UserInput {
    UserInput {
        turn: Some(turn),
        content: words.content,
        view: words.view,
        context: words.context,
        client_id: words.client_id,
        withdrawn: words.withdrawn,
        by: Speaker::Person,
    }
}
