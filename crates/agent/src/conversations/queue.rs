//! Messages that wait for their answer. A message is on disk before it is acknowledged, and a message
//! that is sent twice is kept once. Promised messages are answered in their turn, also when no client
//! is connected.

use std::collections::BTreeSet;
use std::time::Duration;

use onyx_storage::{Delivery, InboxRow, LeftMessage, ShortLivedClaim};
use onyx_types::{
    ErrorCode, Fault, PersonId, SessionId, SessionKey, SessionOrigin, TurnBody, TurnId,
    UserContent, UserTurn, View,
};

use super::Conversations;
use super::answers::{AfterFailure, LOOK};
use super::promises::is_to_be_answered;
use crate::notices::NoticeKind;
use crate::runs::{StopTarget, check_content};

/// A message that is to be stored until it is answered.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    pub content: String,
    pub view: Option<View>,
    /// The sender's key for the message, by which a repeat is recognised.
    pub client_id: Option<String>,
    pub delivery: Delivery,
}

#[derive(Clone, Debug, PartialEq)]
pub enum KeptMessage {
    New(InboxRow),
    /// The message was sent before with the same client id.
    Known(TurnId),
}

/// How often a request looks for the message that another request stores.
const STORED_SOON: Duration = Duration::from_millis(20);
/// The longest pause before a promised message is tried again. The pauses double up to it.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What a client id stands for.
enum FirstOrRepeat {
    First(ShortLivedClaim),
    Repeat(TurnId, Box<UserTurn>),
}

fn used_for_another() -> Fault {
    Fault::new(ErrorCode::InvalidRequest, "This key was used for another message.")
        .with_field("Idempotency-Key")
        .with_hint("Use a new key for each message, and the same only to repeat it.")
}

impl Conversations {
    /// Stores a message on disk. It is answered once its answer is promised or asked for.
    pub async fn keep_message(
        &self,
        person: &PersonId,
        session: SessionId,
        message: NewMessage,
    ) -> Result<KeptMessage, Fault> {
        let NewMessage { content, view, client_id, delivery } = message;
        let content = UserContent::Text(content);
        check_content(&content, self.shared.roster.get().limits().max_prompt_bytes)?;
        let key = self.shared.sessions.key(person, session).await?;
        let content = self.shared.mask.content(content);
        let claim = match &client_id {
            None => None,
            Some(name) => match self.known_or_claimed(&key, name).await? {
                FirstOrRepeat::First(claim) => Some(claim),
                FirstOrRepeat::Repeat(known, words) if words.content == content => {
                    return Ok(KeptMessage::Known(known));
                }
                FirstOrRepeat::Repeat(..) => return Err(used_for_another()),
            },
        };
        let (turn, now) = (self.shared.ids.turn(), self.shared.ids.now());
        let words = UserTurn { view, client_id, ..content.into() };
        let row = InboxRow { turn, delivery, words, received_at: now };
        self.shared.ledger.put_inbox(&key, row.clone()).await?;
        if let Some(claim) = claim {
            claim.done();
        }
        Ok(KeptMessage::New(row))
    }

    /// Returns the message with this client id, or the right to store it. This waits while another request stores
    /// one with this id.
    async fn known_or_claimed(&self, key: &SessionKey, name: &str) -> Result<FirstOrRepeat, Fault> {
        loop {
            // The claim comes before the look, so that no other request stores the message after it.
            let claim = self.shared.sent.claim(key, name).await?;
            if let Some((known, words)) = self.known_as(key, name).await? {
                return Ok(FirstOrRepeat::Repeat(known, Box::new(words)));
            }
            match claim {
                Some(claim) => return Ok(FirstOrRepeat::First(claim)),
                None => self.shared.clock.sleep(STORED_SOON).await,
            }
        }
    }

    /// The message that was sent before with this client id. Only the inbox and the newest turns of
    /// the log are searched, because clients repeat a message soon after they sent it.
    async fn known_as(
        &self,
        key: &SessionKey,
        name: &str,
    ) -> Result<Option<(TurnId, UserTurn)>, Fault> {
        const NEWEST: usize = 256;
        let is_it = |words: &UserTurn| words.client_id.as_deref() == Some(name);
        let rows = self.shared.ledger.inbox(key).await?;
        if let Some(row) = rows.into_iter().find(|row| is_it(&row.words)) {
            return Ok(Some((row.turn, row.words)));
        }
        let page = self.shared.sessions.turns(&key.person, key.session, None, NEWEST).await?;
        Ok(page.turns.into_iter().find_map(|turn| match turn.body {
            TurnBody::User(words) if is_it(&words) => Some((turn.id, words)),
            _ => None,
        }))
    }

    /// Messages that no run answers yet, oldest first.
    pub async fn unanswered(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<Vec<InboxRow>, Fault> {
        let key = self.shared.sessions.key(person, session).await?;
        Ok(self.shared.ledger.inbox(&key).await?)
    }

    /// Promises that the message is answered in its turn, whether or not a client is connected.
    pub fn promise(&self, person: &PersonId, session: SessionId, message: TurnId) {
        self.shared.promises.add(message, person.clone(), session);
        let (conversations, person) = (self.clone(), person.clone());
        tokio::spawn(async move { conversations.keep_promise(&person, session, message).await });
    }

    async fn keep_promise(&self, person: &PersonId, session: SessionId, message: TurnId) {
        let promises = &self.shared.promises;
        let mut pause = LOOK;
        while promises.is_promised(message) {
            match self.answer_to(person, session, message, AfterFailure::Replay).await {
                Ok(_) => {
                    promises.finish(message);
                    break;
                }
                // The gateway is busy, so this waits and tries again.
                Err(fault) if fault.code == ErrorCode::Overloaded => {
                    self.shared.clock.sleep(LOOK).await;
                }
                // Other gateways take over what could not be answered here. A gateway that is alone
                // tries again itself, because the message would wait until the next start otherwise.
                Err(fault) if may_be_answered_later(&fault) && !self.shared.runs.has_others() => {
                    tracing::warn!(%session, %fault, "a waiting message could not be answered yet");
                    self.shared.clock.sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(fault) => {
                    if fault.code != ErrorCode::Cancelled {
                        tracing::warn!(%session, %fault, "a waiting message could not be answered");
                    }
                    if !may_be_answered_later(&fault) {
                        promises.finish(message);
                    }
                    break;
                }
            }
        }
        promises.remove(message);
    }

    /// Renews the promises of an earlier process whose runs had not begun.
    pub(crate) async fn resume_promises(&self) -> Result<(), Fault> {
        let left = self.left_messages().await?;
        self.promise_again(&left).await
    }

    /// Renews the promises of gateways that are gone, or that could not keep them. A message that
    /// has just come is left for half a second to the gateway that received it. Where several
    /// gateways promise the same message, the one that takes the session answers it.
    pub(crate) async fn take_over_promises(&self) -> Result<(), Fault> {
        let left = self.left_messages().await?;
        if left.is_empty() {
            return Ok(());
        }
        self.shared.clock.sleep(LOOK).await;
        let mut still_left = self.left_messages().await?;
        still_left.retain(|message| left.contains(message));
        self.promise_again(&still_left).await
    }

    /// Messages that wait in sessions on which no gateway works, without those that this process
    /// promised or has finished.
    async fn left_messages(&self) -> Result<Vec<LeftMessage>, Fault> {
        let promises = &self.shared.promises;
        let mut left = self.shared.ledger.left_messages().await?;
        left.retain(|left| !promises.is_promised(left.turn) && !promises.is_finished(left.turn));
        Ok(left)
    }

    /// Promises these messages in the order in which they came. Only companions and threads promise
    /// answers, so the messages of other sessions wait for the next run there.
    async fn promise_again(&self, messages: &[LeftMessage]) -> Result<(), Fault> {
        let turns: BTreeSet<TurnId> = messages.iter().map(|message| message.turn).collect();
        let sessions: BTreeSet<_> =
            messages.iter().map(|message| (message.person.clone(), message.session)).collect();
        for (person, session) in sessions {
            let Some(meta) = self.shared.sessions.find(&person, session).await? else { continue };
            let promises_answers =
                matches!(meta.origin, SessionOrigin::Companion | SessionOrigin::Thread);
            let key = SessionKey { person: person.clone(), agent: meta.agent, session };
            for row in self.shared.ledger.inbox(&key).await? {
                if !turns.contains(&row.turn) {
                    continue;
                }
                if promises_answers && is_to_be_answered(&row) {
                    self.promise(&person, session, row.turn);
                } else {
                    self.shared.promises.finish(row.turn);
                }
            }
        }
        Ok(())
    }

    /// Withdraws a waiting message, so that no run answers it, not even after a restart. `false`:
    /// no answer was promised for it.
    pub async fn withdraw(&self, person: &PersonId, message: TurnId) -> Result<bool, Fault> {
        let promises = &self.shared.promises;
        let is_promised_here = promises.is_promised(message);
        let Some(session) = self.waits_in(person, message).await? else { return Ok(false) };
        let key = self.shared.sessions.key(person, session).await?;
        promises.withdraw(message);
        let ledger = &self.shared.ledger;
        let mut rows = ledger.inbox(&key).await?.into_iter();
        let mut was_waiting = false;
        if let Some(mut row) = rows.find(|row| row.turn == message) {
            row.words.withdrawn = true;
            was_waiting = ledger.change_inbox(&key, row).await?;
        }
        if promises.remove(message) || (!is_promised_here && was_waiting) {
            let kind = NoticeKind::MessageWithdrawn(message);
            self.shared.notices.tell(person, session, kind);
            return Ok(true);
        }
        // A run has taken the message already, so that run is stopped.
        match self.shared.runs.answering_anywhere(person, message).await? {
            Some(run) => self.shared.runs.stop(person, StopTarget::Run(run)).await,
            None => Ok(false),
        }
    }

    /// The session in which the message waits for its turn. `None`: it does not wait.
    async fn waits_in(
        &self,
        person: &PersonId,
        message: TurnId,
    ) -> Result<Option<SessionId>, Fault> {
        if let Some((owner, session)) = self.shared.promises.find(message) {
            return Ok((owner == *person).then_some(session));
        }
        if !self.shared.runs.has_others() {
            return Ok(None);
        }
        for (owner, session) in self.shared.ledger.spoken_to().await? {
            if owner == *person {
                let rows = self.unanswered(person, session).await?;
                if rows.iter().any(|row| row.turn == message && self.is_awaited(row)) {
                    return Ok(Some(session));
                }
            }
        }
        Ok(None)
    }

    /// Whether the message gets an answer in its turn. What other gateways promised is not known
    /// here, but one of them answers each message that they keep for that.
    pub fn is_awaited(&self, row: &InboxRow) -> bool {
        let promises = &self.shared.promises;
        promises.is_promised(row.turn)
            || (self.shared.runs.has_others()
                && is_to_be_answered(row)
                && !promises.is_finished(row.turn))
    }
}

/// Whether the message may be answered when it is tried again, here or at another gateway.
fn may_be_answered_later(fault: &Fault) -> bool {
    matches!(fault.code, ErrorCode::SessionBusy | ErrorCode::StorageUnavailable)
}
