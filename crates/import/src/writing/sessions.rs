//! Writes sessions: a log that is written as one batch, the details beside it, and the ledger's
//! row.

use std::collections::HashMap;
use std::time::Duration;

use onyx_storage::{
    Lease, Messages, SessionMarks, SessionMeta, SessionStatus, StoreError, TitleSource,
    keep_details, title_of,
};
use onyx_types::{
    AgentId, Fault, LaneOrder, RunStatus, SessionKey, SessionOrigin, Timestamp, Turn, TurnBody,
    TurnId,
};

use super::turns::{Participants, message_ids, turns};
use super::{ItemOutcome, Mode, Writer};
use crate::form::ImportedSession;
use crate::ids::session_id;
use crate::report::Outcome;

const LEASE: Duration = Duration::from_secs(60);
const PAGE: usize = 256;

/// How much of an imported session a log already holds.
enum Progress {
    Nothing,
    /// The log holds this many of the messages, and no others follow.
    UpTo(usize),
    /// The log holds all messages, perhaps with others after them.
    All,
    /// Other turns follow a part of the messages, or the log holds none of them.
    Elsewhere,
}

impl Writer<'_> {
    pub(super) async fn session(&self, session: &ImportedSession) -> Result<ItemOutcome, Fault> {
        let agent = session.agent.as_ref().unwrap_or(&self.default_agent);
        let id = session_id(self.source, &session.key);
        let row = self.store.ledger.session(&self.person, id).await?;
        let agent = row.as_ref().map_or(agent, |row| &row.agent).clone();
        let key = SessionKey { person: self.person.clone(), agent, session: id };
        let ids = message_ids(self.source, session);
        let first = match self.progress(&key, &ids).await? {
            Progress::Nothing => 0,
            Progress::UpTo(count) => count,
            Progress::All => {
                // The log exists without its row, because an earlier import was interrupted between
                // the two.
                if row.is_none() && self.mode == Mode::Write {
                    let all = self.turns_of(session, &ids, 0, &key.agent);
                    self.store.ledger.put_session(&self.person, &meta(session, &key, &all)).await?;
                }
                return Ok(Outcome::AlreadyThere.into());
            }
            Progress::Elsewhere => {
                return Ok(ItemOutcome::kept("it was continued here, so nothing was added"));
            }
        };
        let outcome = if first == 0 { Outcome::New } else { Outcome::Added };
        if self.mode == Mode::Write {
            let lease = self.store.leases.acquire(&key, LEASE).await?;
            let written = self.append(session, &ids, first, &lease).await;
            self.store.leases.release(&lease).await?;
            written?;
        }
        Ok(outcome.into())
    }

    fn turns_of(
        &self,
        session: &ImportedSession,
        ids: &[TurnId],
        first: usize,
        agent: &AgentId,
    ) -> Vec<Turn> {
        let who = Participants { source: self.source, person: &self.person, agent };
        turns(session, ids, first, &who)
    }

    /// Writes the details before the log: a session exists as soon as its log does, and the log is
    /// written as one batch.
    async fn append(
        &self,
        session: &ImportedSession,
        ids: &[TurnId],
        first: usize,
        lease: &Lease,
    ) -> Result<(), StoreError> {
        let (store, key) = (self.store, &lease.key);
        let batch = self.turns_of(session, ids, first, &key.agent);
        let meta = if first == 0 {
            let meta = meta(session, key, &batch);
            keep_details(&*store.files, key, &meta).await?;
            meta
        } else {
            let row = store.ledger.session(&self.person, key.session).await?;
            let all = || meta(session, key, &self.turns_of(session, ids, 0, &key.agent));
            grown(row.unwrap_or_else(all), &batch)
        };
        store.turns.append(lease, &batch).await?;
        store.ledger.put_session(&self.person, &meta).await
    }

    async fn progress(&self, key: &SessionKey, ids: &[TurnId]) -> Result<Progress, StoreError> {
        let places: HashMap<TurnId, usize> =
            ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        let (mut before, mut went_on, mut is_empty) = (None, false, true);
        loop {
            let page = self.store.turns.tail(key, before, PAGE).await?;
            for turn in page.turns.iter().rev() {
                is_empty = false;
                match places.get(&turn.id) {
                    Some(place) if place + 1 == ids.len() => return Ok(Progress::All),
                    Some(_) if went_on => return Ok(Progress::Elsewhere),
                    Some(place) => return Ok(Progress::UpTo(place + 1)),
                    None => went_on |= !matches!(turn.body, TurnBody::RunEnd(_)),
                }
            }
            if !page.has_older {
                return Ok(if is_empty { Progress::Nothing } else { Progress::Elsewhere });
            }
            before = Some(page.start);
        }
    }
}

fn meta(session: &ImportedSession, key: &SessionKey, turns: &[Turn]) -> SessionMeta {
    let mut messages = Messages::default();
    turns.iter().for_each(|turn| messages.add(turn));
    let named = session.title.as_deref().and_then(title_of);
    let (title, titled_by) = match named {
        // The other program's title counts as the person's, so no model is asked for one.
        Some(title) => (Some(title), TitleSource::Person),
        None => (first_words(turns), TitleSource::Words),
    };
    SessionMeta {
        session_id: key.session,
        agent: key.agent.clone(),
        origin: SessionOrigin::Chat,
        agents: vec![key.agent.clone()],
        mode: LaneOrder::default(),
        title,
        titled_by,
        status: if session.archived { SessionStatus::Archived } else { SessionStatus::Active },
        created_at: session.created_at,
        updated_at: newest(turns).unwrap_or(session.created_at),
        message_count: messages.count,
        token_count: 0,
        preview: messages.preview.unwrap_or_default(),
        root: key.session,
        fork_turn: None,
        last_run: turns.last().and_then(|turn| turn.run),
        last_run_status: turns.last().map(|_| RunStatus::Done),
        marks: SessionMarks::default(),
    }
}

fn grown(row: SessionMeta, batch: &[Turn]) -> SessionMeta {
    let mut messages = Messages::default();
    batch.iter().for_each(|turn| messages.add(turn));
    SessionMeta {
        updated_at: newest(batch).unwrap_or(row.updated_at).max(row.updated_at),
        message_count: row.message_count + messages.count,
        preview: messages.preview.unwrap_or(row.preview),
        last_run: batch.last().and_then(|turn| turn.run).or(row.last_run),
        ..row
    }
}

fn newest(turns: &[Turn]) -> Option<Timestamp> {
    turns.iter().map(|turn| turn.ts).max()
}

fn first_words(turns: &[Turn]) -> Option<String> {
    turns.iter().find_map(|turn| match &turn.body {
        TurnBody::User(user) => title_of(&user.content.text()),
        _ => None,
    })
}
