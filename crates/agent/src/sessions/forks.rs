//! Forks: sessions that begin as a copy of another, for an edited message or another answer.

use onyx_storage::{Lease, Messages, SessionMarks, SessionMeta, SessionStatus};
use onyx_types::{Fault, PersonId, SessionId, SessionKey, TurnId};

use super::Sessions;
use super::log::no_such_turn;

/// Up to where a fork copies its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkPoint {
    /// The fork copies everything up to this turn and the turn itself.
    Through(TurnId),
    /// The fork copies everything before this turn, so that the turn can be said differently.
    Before(TurnId),
}

impl Sessions {
    /// Copies a session up to a turn into a new one of the same family.
    pub async fn fork(
        &self,
        person: &PersonId,
        session: SessionId,
        point: ForkPoint,
    ) -> Result<SessionId, Fault> {
        let original = self.meta(person, session).await?;
        let from = SessionKey { person: person.clone(), agent: original.agent.clone(), session };
        let (turn, last) = match point {
            ForkPoint::Through(turn) => (turn, Some(turn)),
            ForkPoint::Before(turn) => (turn, self.turn_before(&from, turn).await?),
        };
        let (fresh, now) = (self.shared.ids.session(), self.shared.ids.now());
        let key = SessionKey { session: fresh, ..from.clone() };
        let lease = self.acquire_lease(&key).await?;
        let copied = self.copy(&from, last, &lease).await;
        lease.release().await;
        let Messages { count, preview } = copied?;
        let meta = SessionMeta {
            session_id: fresh,
            status: SessionStatus::Active,
            created_at: now,
            updated_at: now,
            message_count: count,
            preview: preview.unwrap_or_default(),
            token_count: 0,
            root: original.root,
            fork_turn: Some(turn),
            last_run: None,
            last_run_status: None,
            marks: SessionMarks::default(),
            ..original
        };
        self.put_new(person, &meta).await?;
        Ok(fresh)
    }

    async fn copy(
        &self,
        from: &SessionKey,
        last: Option<TurnId>,
        to: &Lease,
    ) -> Result<Messages, Fault> {
        let mut messages = Messages::default();
        let Some(last) = last else { return Ok(messages) };
        self.shared.turns.copy_through(from, last, to).await.map_err(|error| match error {
            onyx_storage::StoreError::NotFound => no_such_turn(last),
            other => other.into(),
        })?;
        self.walk_back(&to.key, |turn| {
            messages.add_older(turn);
            None::<()>
        })
        .await?;
        Ok(messages)
    }

    async fn turn_before(&self, key: &SessionKey, turn: TurnId) -> Result<Option<TurnId>, Fault> {
        let mut seen = false;
        let found = self
            .walk_back(key, |candidate| {
                let before = seen.then_some(candidate.id);
                seen |= candidate.id == turn;
                before
            })
            .await?;
        if seen { Ok(found) } else { Err(no_such_turn(turn)) }
    }
}
