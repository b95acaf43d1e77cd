//! Conversations, a run at a time: each is indexed from where the last one ended, so that a long
//! session costs no more than a short one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use onyx_storage::{ChunkRow, SessionFilter, SessionMeta, SourceKey, SourceKind, SourceRow, Stamp};
use onyx_types::{
    Author, Hash, Origin, PersonId, RunId, Scope, SessionId, SessionKey, SessionOrigin, TextStatus,
    Timestamp, Turn, TurnBody,
};

use crate::{Document, Index, KnowledgeError, indexed_text};

const PAGE: usize = 200;
const SESSIONS_AT_ONCE: u32 = 200;

impl Index {
    pub(crate) async fn settle_sessions(&self) -> Result<(), KnowledgeError> {
        loop {
            let Some((person, session)) = self.pending().sessions.pop_first() else {
                return Ok(());
            };
            if let Err(error) = self.file_session(&person, session).await {
                self.pending().sessions.insert((person, session));
                return Err(error);
            }
        }
    }

    async fn file_session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<(), KnowledgeError> {
        match self.inner.store.ledger.session(person, session).await? {
            Some(meta) => {
                let marks = self.inner.store.chunks.marks(&mark_name(person, session)).await?;
                let known = marks.into_iter().next().map(|(_, mark)| mark);
                self.file_new_runs(person, &meta, known.as_deref()).await
            }
            None => self.forget_session(person, session).await,
        }
    }

    async fn forget_session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<(), KnowledgeError> {
        let chunks = &self.inner.store.chunks;
        chunks.remove_under(Some(person), &prefix(session)).await?;
        Ok(chunks.set_mark(&mark_name(person, session), "").await?)
    }

    /// Sessions whose last run or name is not the one that was indexed, and those that are gone.
    pub(crate) async fn look_through_sessions(
        &self,
        person: &PersonId,
    ) -> Result<(), KnowledgeError> {
        let store = &self.inner.store;
        let start = format!("session:{person}:");
        let marks = store.chunks.marks(&start).await?.into_iter();
        let mut marks: BTreeMap<String, String> =
            marks.filter(|(_, mark)| !mark.is_empty()).collect();
        let mut filter = SessionFilter { limit: SESSIONS_AT_ONCE, ..SessionFilter::default() };
        loop {
            let page = store.ledger.sessions(person, &filter).await?;
            let Some(last) = page.last() else { break };
            filter.before = Some(last.session_id);
            for meta in &page {
                let known = marks.remove(&mark_name(person, meta.session_id));
                if known.as_deref() != Some(mark_of(meta).as_str()) {
                    self.file_new_runs(person, meta, known.as_deref()).await?;
                }
            }
        }
        for name in marks.into_keys() {
            let Ok(session) = name[start.len()..].parse() else { continue };
            // Lists leave out older forks; these are still there.
            if store.ledger.session(person, session).await?.is_none() {
                self.forget_session(person, session).await?;
            }
        }
        Ok(())
    }

    async fn file_new_runs(
        &self,
        person: &PersonId,
        meta: &SessionMeta,
        known: Option<&str>,
    ) -> Result<(), KnowledgeError> {
        let Some(scope) = scope_of(meta) else { return Ok(()) };
        let chunks = &self.inner.store.chunks;
        let _filing = self.inner.filing.lock().await;
        let (last_run, last_title) =
            known.and_then(|mark| mark.split_once(' ')).unwrap_or_default();
        // Another name is on every chunk of it.
        let anew = last_title != title_of(meta);
        let last_run = last_run.parse().ok().filter(|_: &RunId| !anew);
        if anew {
            chunks.remove_under(Some(person), &prefix(meta.session_id)).await?;
        }
        for (run, turns) in self.runs_after(person, meta, last_run).await? {
            let rendered = Rendered::of(&turns);
            let (row, rows) = self.run_source(person, meta, &scope, run, &rendered);
            chunks.replace(&row, &rows).await?;
        }
        Ok(chunks.set_mark(&mark_name(person, meta.session_id), &mark_of(meta)).await?)
    }

    /// The turns of each run after one, oldest run first; read from the end.
    async fn runs_after(
        &self,
        person: &PersonId,
        meta: &SessionMeta,
        last: Option<RunId>,
    ) -> Result<Vec<(RunId, Vec<Turn>)>, KnowledgeError> {
        let (agent, session) = (meta.agent.clone(), meta.session_id);
        let key = SessionKey { person: person.clone(), agent, session };
        let mut runs = Vec::<(RunId, Vec<Turn>)>::new();
        let mut before = None;
        loop {
            let page = self.inner.store.turns.tail(&key, before, PAGE).await?;
            for turn in page.turns.into_iter().rev() {
                let Some(run) = turn.run else { continue };
                if Some(run) == last {
                    return Ok(in_order(runs));
                }
                match runs.last_mut().filter(|(open, _)| *open == run) {
                    Some((_, turns)) => turns.push(turn),
                    None => runs.push((run, vec![turn])),
                }
            }
            if !page.has_older {
                return Ok(in_order(runs));
            }
            before = Some(page.start);
        }
    }

    fn run_source(
        &self,
        person: &PersonId,
        meta: &SessionMeta,
        scope: &Scope,
        run: RunId,
        rendered: &Rendered,
    ) -> (SourceRow, Vec<ChunkRow>) {
        let title = title_of(meta);
        let pieces = Document::read(&rendered.text, &self.inner.settings.chunking).pieces;
        let rows = pieces.into_iter().map(|piece| ChunkRow {
            hash: Hash::of(indexed_text(&title, &piece.heading, &piece.text).as_bytes()),
            start_line: piece.start_line,
            end_line: piece.end_line,
            heading: piece.heading,
            origin: rendered.origin,
            text: piece.text,
        });
        let path = format!("{}{run}", prefix(meta.session_id));
        let row = SourceRow {
            key: SourceKey { person: Some(person.clone()), path },
            kind: SourceKind::Session,
            scope: scope.clone(),
            origin: rendered.origin,
            checksum: Hash::of(rendered.text.as_bytes()),
            stamp: Stamp { size: rendered.text.len() as u64, modified: rendered.at },
            chunking: self.inner.settings.chunking.fingerprint(),
            problem: None,
            indexed_at: self.inner.clock.wall(),
            title: title.clone(),
        };
        (row, rows.collect())
    }
}

/// Of a longer message only the beginning is found: nobody says so much, and indexing it all would take
/// many times its memory.
const LONGEST_MESSAGE: usize = 256 * 1024;

/// What was said in a run, as a text.
struct Rendered {
    text: String,
    origin: Origin,
    at: Timestamp,
}

impl Rendered {
    fn of(turns: &[Turn]) -> Self {
        let mut rendered =
            Self { text: String::new(), origin: Origin::Person, at: Timestamp::from_millis(0) };
        for turn in turns {
            let words = match &turn.body {
                TurnBody::User(user) => Cow::from(user.content.text()),
                TurnBody::AssistantText(text) if text.status != TextStatus::Error => {
                    Cow::from(&text.content)
                }
                _ => continue,
            };
            let who = match &turn.author {
                Author::Person(_) => "person",
                Author::Agent(agent) => agent.as_str(),
                Author::System => "system",
            };
            let words = beginning(words.trim());
            if !words.is_empty() {
                rendered.text.push_str(&format!("{who}: {words}\n\n"));
                rendered.origin = rendered.origin.max(turn.origin);
            }
            rendered.at = turn.ts;
        }
        rendered
    }
}

fn beginning(words: &str) -> &str {
    &words[..words.floor_char_boundary(LONGEST_MESSAGE)]
}

fn in_order(mut runs: Vec<(RunId, Vec<Turn>)>) -> Vec<(RunId, Vec<Turn>)> {
    runs.reverse();
    runs.iter_mut().for_each(|(_, turns)| turns.reverse());
    runs
}

/// Whose searches may see a session; `None`: nobody's.
fn scope_of(meta: &SessionMeta) -> Option<Scope> {
    match meta.origin {
        // Passing clients' words are not kept for anybody.
        SessionOrigin::Api => None,
        SessionOrigin::Chat
        | SessionOrigin::Companion
        | SessionOrigin::Thread
        | SessionOrigin::AgentEditor
        | SessionOrigin::Connector
        | SessionOrigin::Job => Some(Scope::Agent(meta.agent.clone())),
    }
}

fn title_of(meta: &SessionMeta) -> String {
    let title = meta.title.as_deref().unwrap_or("Conversation");
    format!("{title} ({})", meta.created_at.utc_date())
}

/// What is remembered of a session: up to which run, under which name.
fn mark_of(meta: &SessionMeta) -> String {
    let run = meta.last_run.map_or_else(|| "-".to_owned(), |run| run.to_string());
    format!("{run} {}", title_of(meta))
}

fn mark_name(person: &PersonId, session: SessionId) -> String {
    format!("session:{person}:{session}")
}

/// Paths of a session's runs begin so.
fn prefix(session: SessionId) -> String {
    format!("sessions/{session}/")
}
