//! Reading a session's log.

use onyx_storage::{Page, Pos, StoreError};
use onyx_types::{
    ErrorCode, Fault, PersonId, RunId, SessionId, SessionKey, Turn, TurnBody, TurnId,
};

use super::Sessions;

impl Sessions {
    /// Some turns, oldest first; the newest page without `before`.
    pub async fn turns(
        &self,
        person: &PersonId,
        session: SessionId,
        before: Option<Pos>,
        limit: usize,
    ) -> Result<Page, Fault> {
        let key = self.key(person, session).await?;
        match self.shared.turns.tail(&key, before, limit).await {
            Ok(page) => Ok(page),
            // A session that was made and not yet written to.
            Err(StoreError::NotFound) => {
                Ok(Page { turns: Vec::new(), start: Pos(0), has_older: false, damage: Vec::new() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The turn that matches and all turns after it. The second value says whether one matched;
    /// where none did, the turns are the whole log.
    pub(crate) async fn turns_since(
        &self,
        person: &PersonId,
        session: SessionId,
        page_size: usize,
        is_first: impl Fn(&Turn) -> bool,
    ) -> Result<(Vec<Turn>, bool), Fault> {
        let mut newer: Vec<Turn> = Vec::new();
        let mut before = None;
        loop {
            let page = self.turns(person, session, before, page_size).await?;
            let found = page.turns.iter().position(&is_first);
            let mut turns = page.turns;
            turns.drain(..found.unwrap_or(0));
            turns.append(&mut newer);
            if found.is_some() || !page.has_older {
                return Ok((turns, found.is_some()));
            }
            newer = turns;
            before = Some(page.start);
        }
    }

    /// The user turn that an answer (or a message itself) belongs to.
    pub(crate) async fn question_of(&self, key: &SessionKey, turn: TurnId) -> Result<Turn, Fault> {
        let mut seen = false;
        let found = self
            .walk_back(key, |candidate| {
                seen |= candidate.id == turn;
                let is_question = seen && matches!(candidate.body, TurnBody::User(_));
                is_question.then(|| candidate.clone())
            })
            .await?;
        found.ok_or_else(|| no_such_turn(turn))
    }

    /// The message that a run answers.
    pub async fn question_of_run(
        &self,
        person: &PersonId,
        run: RunId,
    ) -> Result<Option<TurnId>, Fault> {
        let row = self.shared.ledger.run(person, run).await?;
        Ok(row.map(|row| row.input_turn))
    }

    /// Shows turns from the newest back until the visitor has what it wants.
    pub(crate) async fn walk_back<T>(
        &self,
        key: &SessionKey,
        mut visit: impl FnMut(&Turn) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        const PAGE: usize = 256;
        let mut before = None;
        loop {
            let page = self.shared.turns.tail(key, before, PAGE).await?;
            if let Some(found) = page.turns.iter().rev().find_map(&mut visit) {
                return Ok(Some(found));
            }
            if !page.has_older {
                return Ok(None);
            }
            before = Some(page.start);
        }
    }
}

pub(super) fn no_such_turn(turn: TurnId) -> Fault {
    Fault::new(ErrorCode::NotFound, format!("There is no turn {turn} in this session."))
}
