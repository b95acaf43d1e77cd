//! What a person thinks of an answer. It stands in the session's log as a turn of its own, so that it
//! goes along with exports and outlives the database, and in no prompt.

use onyx_types::{
    Author, ErrorCode, Fault, Feedback, LaneId, Origin, PersonId, SessionId, Turn, TurnBody,
};
use serde_json::Map;

use super::Sessions;
use super::log::no_such_turn;
use crate::notices::NoticeKind;

/// A note is a remark, not a document.
const LONGEST_NOTE: usize = 4_000;

impl Sessions {
    /// Appends what a person thinks of an answer. `SessionBusy` while a run writes to the log.
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
                is_it.then(|| matches!(turn.body, TurnBody::AssistantText(_)))
            })
            .await?;
        if !found.ok_or_else(|| no_such_turn(about))? {
            let message = "Only an agent's answer can be rated.";
            return Err(Fault::new(ErrorCode::InvalidRequest, message).with_field("turn"));
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
