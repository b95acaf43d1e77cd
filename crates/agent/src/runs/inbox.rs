//! Messages to a session at work: each is stored at once and delivered when the run can take it.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use onyx_storage::{Delivery, InboxRow, Ledger, TurnLog};
use onyx_types::{ErrorCode, Fault, PersonId, RunId, SessionId, SessionKey, TurnId, UserTurn};

use super::Runs;
use super::elsewhere::RunOrder;
use super::owned::RunHandle;
use super::plan::check_content;
use super::request::{RunInput, RunRequest, SessionRef};
use crate::notices::NoticeKind;
use crate::step::{Speaker, UserInput};

/// How many turns of the log are searched for messages that a crash left in the inbox too.
const LOOK_BACK: usize = 256;

/// What happened to a message that was sent to a session.
#[derive(Debug)]
pub enum SendOutcome {
    Started(RunHandle),
    /// The message is on disk and belongs to the run at work.
    Queued {
        turn: TurnId,
        run: RunId,
    },
}

impl Runs {
    /// Starts a run with this message or, while the session is at work, hands the message to that
    /// run.
    pub async fn send(
        &self,
        request: RunRequest,
        delivery: Delivery,
    ) -> Result<SendOutcome, Fault> {
        let (RunInput::New(content), Some(session)) = (&request.input, request.session.existing())
        else {
            return self.start(request).await.map(SendOutcome::Started);
        };
        let live = &self.shared.table.live;
        let Some(contact) = live.on_session(&request.person, session) else {
            return self.start_or_hand_over(request, session, delivery).await;
        };
        check_content(content, self.shared.roster.get().limits().max_prompt_bytes)?;
        let turn = request.terms.words.unwrap_or_else(|| self.shared.ids.turn());
        let now = self.shared.ids.now();
        let content = self.shared.context.mask.content(content.clone());
        let words = UserTurn { view: request.view.clone(), ..content.into() };
        let row = InboxRow { turn, delivery, words: words.clone(), received_at: now };
        live.expect_words(contact.run);
        self.shared.drive.ledger.put_inbox(&contact.key, row).await?;
        contact.messages.words(delivery, user_input(turn, words));
        // The run ended before it took the message, so the message gets a run of its own.
        if live.on_session(&request.person, session).is_none()
            && let Some(handle) = self.answer_waiting(contact.key, request).await
        {
            return Ok(SendOutcome::Started(handle));
        }
        Ok(SendOutcome::Queued { turn, run: contact.run })
    }

    /// Starts a run or, where another gateway works on the session, hands the message to that
    /// gateway.
    async fn start_or_hand_over(
        &self,
        request: RunRequest,
        session: SessionId,
        delivery: Delivery,
    ) -> Result<SendOutcome, Fault> {
        if !self.shared.elsewhere.are_possible() {
            return self.start(request).await.map(SendOutcome::Started);
        }
        match self.start(request.clone()).await {
            Err(fault) if fault.code == ErrorCode::SessionBusy => {}
            started => return started.map(SendOutcome::Started),
        }
        match self.hand_over(&request, session, delivery).await? {
            Some(queued) => Ok(queued),
            // The other gateway's run ended meanwhile.
            None => self.start(request).await.map(SendOutcome::Started),
        }
    }

    async fn hand_over(
        &self,
        request: &RunRequest,
        session: SessionId,
        delivery: Delivery,
    ) -> Result<Option<SendOutcome>, Fault> {
        let RunInput::New(content) = &request.input else { return Ok(None) };
        check_content(content, self.shared.roster.get().limits().max_prompt_bytes)?;
        let key = self.shared.sessions.key(&request.person, session).await?;
        let open = self.shared.drive.ledger.open_runs(&key).await?;
        let Some(run) = open.last().map(|row| row.run) else { return Ok(None) };
        let turn = request.terms.words.unwrap_or_else(|| self.shared.ids.turn());
        let content = self.shared.context.mask.content(content.clone());
        let words = UserTurn { view: request.view.clone(), ..content.into() };
        let received_at = self.shared.ids.now();
        let row = InboxRow { turn, delivery, words: words.clone(), received_at };
        self.shared.drive.ledger.put_inbox(&key, row).await?;
        let order = RunOrder::Words { session, turn, delivery, words: Box::new(words) };
        let taken = self.shared.elsewhere.ask_holder(&request.person, session, order).await;
        if matches!(taken, Ok(true)) {
            return Ok(Some(SendOutcome::Queued { turn, run }));
        }
        // The sender gets a failure and may send the message again, so this copy must not stay in
        // the inbox.
        self.shared.drive.ledger.clear_inbox(&key, &[turn]).await?;
        taken.map(|_| None)
    }

    /// Hands a message that another gateway put into the inbox to the run at work here. `false` if
    /// there is none.
    pub(super) fn take_words(
        &self,
        person: &PersonId,
        session: SessionId,
        turn: TurnId,
        delivery: Delivery,
        words: UserTurn,
    ) -> bool {
        let live = &self.shared.table.live;
        let Some(contact) = live.on_session(person, session) else { return false };
        live.expect_words(contact.run);
        contact.messages.words(delivery, user_input(turn, words));
        true
    }

    /// Messages that no run has read yet, oldest first.
    pub async fn queued(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Vec<InboxRow>, Fault> {
        let key = self.shared.sessions.key(person, session).await?;
        let drive = &self.shared.drive;
        let waiting = waiting_words(&*drive.ledger, &*drive.turns, &key).await?;
        let open: BTreeSet<_> = waiting
            .iter()
            .filter(|words| !words.withdrawn)
            .filter_map(|words| words.turn)
            .collect();
        let rows = drive.ledger.inbox(&key).await?.into_iter();
        Ok(rows.filter(|row| open.contains(&row.turn)).collect())
    }

    /// Deletes a message that no run has read. `SessionBusy` while a run may still read it.
    pub async fn discard_queued(
        &self,
        person: &PersonId,
        session: SessionId,
        turn: TurnId,
    ) -> Result<(), Fault> {
        if self.shared.table.live.on_session(person, session).is_some() {
            return Err(Fault::plain(ErrorCode::SessionBusy));
        }
        if !self.queued(person, session).await?.iter().any(|row| row.turn == turn) {
            let message = "No such message is waiting.";
            return Err(Fault::new(ErrorCode::NotFound, message));
        }
        let key = self.shared.sessions.key(person, session).await?;
        self.shared.drive.ledger.clear_inbox(&key, &[turn]).await?;
        self.shared.notices.tell(person, session, NoticeKind::MessageWithdrawn(turn));
        Ok(())
    }

    /// Starts a run for messages that no run took, if there are any. The future is boxed, because
    /// the end of a run may start the next one.
    pub(super) fn answer_waiting(
        &self,
        key: SessionKey,
        like: RunRequest,
    ) -> BoxFuture<'_, Option<RunHandle>> {
        Box::pin(async move {
            let drive = &self.shared.drive;
            let waiting = match waiting_words(&*drive.ledger, &*drive.turns, &key).await {
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
                ..like
            };
            match self.start(request).await {
                Ok(handle) => Some(handle),
                // Another run began first and takes the messages.
                Err(fault) if fault.code == ErrorCode::SessionBusy => None,
                Err(fault) => {
                    tracing::warn!(session = %key.session, %fault, "waiting messages begin the next run");
                    None
                }
            }
        })
    }
}

/// Messages of the inbox that are not in the log yet, oldest first.
pub(super) async fn waiting_words(
    ledger: &dyn Ledger,
    turns: &dyn TurnLog,
    key: &SessionKey,
) -> Result<Vec<UserInput>, Fault> {
    let rows = ledger.inbox(key).await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    // After a crash between the two writes a message is in both the log and the inbox; then the log
    // counts.
    let page = turns.tail(key, None, LOOK_BACK).await?;
    let written: BTreeSet<_> = page.turns.iter().map(|turn| turn.id).collect();
    let (done, open): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| written.contains(&row.turn));
    if !done.is_empty() {
        let done: Vec<_> = done.iter().map(|row| row.turn).collect();
        ledger.clear_inbox(key, &done).await?;
    }
    Ok(open.into_iter().map(|row| user_input(row.turn, row.words)).collect())
}

fn user_input(turn: TurnId, words: UserTurn) -> UserInput {
    UserInput {
        turn: Some(turn),
        content: words.content,
        view: words.view,
        context: words.context,
        pieces: words.pieces,
        client_id: words.client_id,
        withdrawn: words.withdrawn,
        by: Speaker::Person,
    }
}
