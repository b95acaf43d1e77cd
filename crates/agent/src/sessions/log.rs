//! Reads sessions' logs, and writes what a person adds to them without a run: feedback on an
//! answer.

use onyx_storage::{Page, Pos, StoreError};
use onyx_types::{
    Author, ErrorCode, Fault, Feedback, LaneId, Origin, PersonId, RunId, SessionId, SessionKey,
    Turn, TurnBody, TurnId,
};
use serde_json::Map;

use super::Sessions;
use crate::notices::NoticeKind;

/// The most bytes of a note, which is a remark and not a document.
const LONGEST_NOTE: usize = 4_000;

impl Sessions {
    /// A page of turns, oldest first. Without `before` these are the newest turns.
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
            // The session exists, but nothing was written to its log yet.
            Err(StoreError::NotFound) => {
                Ok(Page { turns: Vec::new(), start: Pos(0), has_older: false, damage: Vec::new() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The turn that matches and all later turns. The second value says whether a turn matched; if
    /// none did, the turns are the whole log.
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

    /// Appends a person's feedback on an answer as a turn of its own, so that exports contain it
    /// and it outlives the database. No prompt contains it. `SessionBusy` while a run writes to the
    /// log.
    pub async fn give_feedback(
        &self,
        person: &PersonId,
        session: SessionId,
        mut feedback: Feedback,
    ) -> Result<Feedback, Fault> {
        feedback.note = checked_note(feedback.note)?;
        let key = self.key(person, session).await?;
        let about = feedback.about;
        let found = self
            .walk_back(&key, |turn| {
                let is_it = turn.id == about;
                is_it.then_some(matches!(turn.body, TurnBody::AssistantText(_)))
            })
            .await?;
        if !found.ok_or_else(|| no_such_turn(about))? {
            let message = "Only an agent's answer can be rated.";
            return Err(Fault::new(ErrorCode::NotFound, message).with_field("turn"));
        }
        let turn = Turn {
            id: self.shared.ids.turn(),
            ts: self.shared.ids.now(),
            run: None,
            lane: LaneId::default(),
            author: Author::Person(person.clone()),
            origin: Origin::Person,
            body: TurnBody::Feedback(feedback.clone()),
            extra: Map::new(),
        };
        let lease = self.acquire_lease(&key).await?;
        let written = self.shared.turns.append(&lease, &[turn]).await;
        lease.release().await;
        written?;
        self.shared.notices.tell(person, session, NoticeKind::SessionChanged);
        Ok(feedback)
    }

    /// Passes turns to the visitor, from the newest back, until it returns a value.
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

fn checked_note(note: Option<String>) -> Result<Option<String>, Fault> {
    let note = note.map(|note| note.trim().to_owned()).filter(|note| !note.is_empty());
    let length = note.as_deref().map_or(0, |note| note.chars().count());
    if length > LONGEST_NOTE {
        let message = format!("note: it has {length} characters; {LONGEST_NOTE} are allowed");
        return Err(Fault::new(ErrorCode::InvalidRequest, message).with_field("note"));
    }
    Ok(note)
}
