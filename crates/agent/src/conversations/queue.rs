//! The queue of promised messages: each is answered in its turn, also when nobody watches.

use onyx_storage::Delivery;
use onyx_types::{ErrorCode, Fault, PersonId, SessionId, SessionKey, SessionOrigin, TurnId};

use super::Conversations;
use super::answers::{AfterFailure, LOOK};
use crate::notices::NoticeKind;
use crate::runs::StopTarget;

impl Conversations {
    /// Has the message answered in its turn, whoever watches.
    pub fn promise(&self, person: &PersonId, session: SessionId, message: TurnId) {
        self.shared.promises.add(message, person.clone(), session);
        let (conversations, person) = (self.clone(), person.clone());
        tokio::spawn(async move { conversations.keep_promise(&person, session, message).await });
    }

    async fn keep_promise(&self, person: &PersonId, session: SessionId, message: TurnId) {
        let promises = &self.shared.promises;
        while promises.is_promised(message) {
            match self.answer_to(person, session, message, AfterFailure::Replay).await {
                Ok(_) => break,
                // There is room again later.
                Err(fault) if fault.code == ErrorCode::Overloaded => {
                    self.shared.clock.sleep(LOOK).await;
                }
                Err(fault) if fault.code == ErrorCode::Cancelled => break,
                Err(fault) => {
                    tracing::warn!(%session, %fault, "a message is not answered by itself");
                    break;
                }
            }
        }
        promises.remove(message);
    }

    /// Promises again what an earlier process had promised and not begun.
    pub(crate) async fn resume_promises(&self) -> Result<(), Fault> {
        let ledger = &self.shared.ledger;
        for (person, session) in ledger.spoken_to().await? {
            let Some(meta) = self.shared.sessions.find(&person, session).await? else { continue };
            if !matches!(meta.origin, SessionOrigin::Companion | SessionOrigin::Thread) {
                continue;
            }
            let key = SessionKey { person: person.clone(), agent: meta.agent, session };
            for row in ledger.inbox(&key).await? {
                if row.delivery == Delivery::FollowUp && !row.words.withdrawn {
                    self.promise(&person, session, row.turn);
                }
            }
        }
        Ok(())
    }

    /// Withdraws a message that waits: nobody answers it, not in its turn, not after a restart, and
    /// not with another message. `false`: it was not promised.
    pub async fn withdraw(&self, person: &PersonId, message: TurnId) -> Result<bool, Fault> {
        let promises = &self.shared.promises;
        let promised = promises.find(message).filter(|(owner, _)| owner == person);
        let Some((_, session)) = promised else { return Ok(false) };
        let key = self.shared.sessions.key(person, session).await?;
        promises.withdraw(message);
        let ledger = &self.shared.ledger;
        let mut rows = ledger.inbox(&key).await?.into_iter();
        if let Some(mut row) = rows.find(|row| row.turn == message) {
            row.words.withdrawn = true;
            ledger.change_inbox(&key, row).await?;
        }
        if promises.remove(message) {
            let kind = NoticeKind::MessageWithdrawn(message);
            self.shared.notices.tell(person, session, kind);
            return Ok(true);
        }
        // Its run was quicker.
        match self.shared.runs.answering(person, message) {
            Some(run) => self.shared.runs.stop(person, StopTarget::Run(run)).await,
            None => Ok(false),
        }
    }

    pub fn is_promised(&self, message: TurnId) -> bool {
        self.shared.promises.is_promised(message)
    }
}
