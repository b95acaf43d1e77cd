//! Messages that are answered in their turn, whoever watches; unless they are taken back.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use onyx_storage::Delivery;
use onyx_types::{ErrorCode, Fault, PersonId, SessionId, SessionKey, SessionOrigin, TurnId};

use super::{Again, LOOK};
use crate::RunManager;
use crate::notices::Happened;
use crate::runs::request::StopTarget;

/// Messages that somebody has undertaken to have answered in their turn.
#[derive(Default)]
pub(crate) struct Promised {
    messages: Mutex<HashMap<TurnId, (PersonId, SessionId)>>,
    /// Conversations in which nothing more is begun.
    closing: Mutex<HashSet<SessionId>>,
    /// Messages that people took back since the process began: a few bytes for each.
    taken_back: Mutex<HashSet<TurnId>>,
}

impl Promised {
    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<TurnId, (PersonId, SessionId)>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closing(&self) -> MutexGuard<'_, HashSet<SessionId>> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn taken_back(&self) -> MutexGuard<'_, HashSet<TurnId>> {
        self.taken_back.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_taken_back(&self, message: TurnId) -> bool {
        self.taken_back().contains(&message)
    }

    /// Until the answer is dropped nothing more of the conversation is begun.
    pub(crate) fn close(&self, session: SessionId) -> Closing<'_> {
        self.closing().insert(session);
        self.lock().retain(|_, (_, of)| *of != session);
        Closing { promised: self, session }
    }

    pub(super) fn is_closing(&self, session: SessionId) -> bool {
        self.closing().contains(&session)
    }
}

pub(crate) struct Closing<'a> {
    promised: &'a Promised,
    session: SessionId,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.promised.closing().remove(&self.session);
    }
}

impl RunManager {
    /// Has the message answered in its turn, whoever watches.
    pub fn promise(&self, person: &PersonId, session: SessionId, message: TurnId) {
        self.inner.promised.lock().insert(message, (person.clone(), session));
        let (manager, person) = (self.clone(), person.clone());
        tokio::spawn(async move {
            while manager.inner.promised.lock().contains_key(&message) {
                match manager.answer_to(&person, session, message, Again::Tell).await {
                    Ok(_) => break,
                    // There is room again later.
                    Err(fault) if fault.code == ErrorCode::Overloaded => {
                        let nothing = std::future::pending::<()>();
                        manager.inner.clock.within(LOOK, nothing).await;
                    }
                    Err(fault) if fault.code == ErrorCode::Cancelled => break,
                    Err(fault) => {
                        tracing::warn!(%session, %fault, "a message is not answered by itself");
                        break;
                    }
                }
            }
            manager.inner.promised.lock().remove(&message);
        });
    }

    /// Promises again what an earlier process had promised and not begun.
    pub(crate) async fn take_up_promises(&self) -> Result<(), Fault> {
        let ledger = &self.inner.store.ledger;
        for (person, session) in ledger.spoken_to().await? {
            let Some(meta) = ledger.session(&person, session).await? else { continue };
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

    /// A message that waits is answered by nobody: not in its turn, not after a restart, and not
    /// with another. `false`: nobody had undertaken to.
    pub async fn take_back(&self, person: &PersonId, message: TurnId) -> Result<bool, Fault> {
        let promised = self.inner.promised.lock().get(&message).cloned();
        let Some((_, session)) = promised.filter(|(owner, _)| owner == person) else {
            return Ok(false);
        };
        let key = self.key_of_session(person, session).await?;
        self.inner.promised.taken_back().insert(message);
        let ledger = &self.inner.store.ledger;
        let mut rows = ledger.inbox(&key).await?.into_iter();
        if let Some(mut row) = rows.find(|row| row.turn == message) {
            row.words.withdrawn = true;
            ledger.change_inbox(&key, row).await?;
        }
        if self.inner.promised.lock().remove(&message).is_some() {
            self.tell(person, session, Happened::TakenBack(message));
            return Ok(true);
        }
        // Its run was quicker.
        match self.run_answering(person, message) {
            Some(run) => self.stop(person, StopTarget::Run(run)).await,
            None => Ok(false),
        }
    }

    pub fn is_promised(&self, message: TurnId) -> bool {
        self.inner.promised.lock().contains_key(&message)
    }
}
