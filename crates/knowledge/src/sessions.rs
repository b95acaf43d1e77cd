//! Conversations, a run at a time: each is indexed from where the last one ended, so that a long
//! session costs no more than a short one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use onyx_storage::{ChunkRow, SessionFilter, SessionMeta, SourceKey, SourceKind, SourceRow, Stamp};
use onyx_types::{
    Author, Hash, Origin, PersonId, RunId, Scope, SessionId, SessionKey, SessionOrigin, TextStatus,
    Timestamp, Turn, TurnBody,
};

use crate::{Document, Index, KnowledgeError, Ruler, indexed_text};

/// Read of a log at once; one longer turn is read whole and let go again.
const PAGE_BYTES: u64 = 512 * 1024;
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
        let session = Indexed { person, meta, scope, ruler: self.ruler() };
        self.file_runs_after(&session, last_run).await?;
        Ok(chunks.set_mark(&mark_name(person, meta.session_id), &mark_of(meta)).await?)
    }

    /// Reads from the end, and keeps no more than what is found of one run.
    async fn file_runs_after(
        &self,
        session: &Indexed<'_>,
        last: Option<RunId>,
    ) -> Result<(), KnowledgeError> {
        let (agent, id) = (session.meta.agent.clone(), session.meta.session_id);
        let key = SessionKey { person: session.person.clone(), agent, session: id };
        let mut open = None::<(RunId, Said)>;
        let mut before = None;
        loop {
            let page = self.inner.store.turns.tail_within(&key, before, PAGE_BYTES).await?;
            for turn in page.turns.iter().rev() {
                let Some(run) = turn.run else { continue };
                if let Some((over, said)) = open.take_if(|(open, _)| *open != run) {
                    self.file_run(session, over, said).await?;
                }
                if Some(run) == last {
                    return Ok(());
                }
                let (_, said) = open.get_or_insert_with(|| (run, Said::default()));
                said.add_before(turn);
            }
            if !page.has_older {
                break;
            }
            before = Some(page.start);
        }
        match open {
            Some((run, said)) => self.file_run(session, run, said).await,
            None => Ok(()),
        }
    }

    async fn file_run(
        &self,
        session: &Indexed<'_>,
        run: RunId,
        said: Said,
    ) -> Result<(), KnowledgeError> {
        let Indexed { person, meta, scope, ruler } = session;
        let title = title_of(meta);
        let chunking = &self.inner.settings.chunking;
        let (text, message_of) = said.rendered();
        let rows =
            Document::read(&text, chunking, ruler).pieces.into_iter().map(|piece| ChunkRow {
                hash: Hash::of(indexed_text(&title, &piece.heading, &piece.text).as_bytes()),
                start_line: message_of(piece.start_line),
                end_line: message_of(piece.end_line),
                heading: piece.heading,
                origin: said.origin,
                text: piece.text,
            });
        let rows: Vec<ChunkRow> = rows.collect();
        let path = format!("{}{run}", prefix(meta.session_id));
        let row = SourceRow {
            key: SourceKey { person: Some((*person).clone()), path },
            kind: SourceKind::Session,
            scope: scope.clone(),
            origin: said.origin,
            checksum: Hash::of(text.as_bytes()),
            stamp: Stamp { size: text.len() as u64, modified: said.at },
            chunking: ruler.fingerprint(chunking),
            problem: None,
            indexed_at: self.inner.clock.wall(),
            title: title.clone(),
        };
        self.inner.store.chunks.replace(&row, &rows).await?;
        Ok(())
    }
}

/// A session on its way into the index.
struct Indexed<'a> {
    person: &'a PersonId,
    meta: &'a SessionMeta,
    scope: Scope,
    ruler: Ruler,
}

/// Of a longer message only the beginning is found: nobody says so much, and indexing it all would take
/// many times its memory.
const LONGEST_MESSAGE: usize = 256 * 1024;
/// Of a longer run only the end.
const LONGEST_RUN: usize = 2 * 1024 * 1024;

/// What was said in a run.
struct Said {
    /// The last one first.
    messages: Vec<String>,
    bytes: usize,
    origin: Origin,
    at: Timestamp,
}

impl Default for Said {
    fn default() -> Self {
        let at = Timestamp::from_millis(0);
        Self { messages: Vec::new(), bytes: 0, origin: Origin::Person, at }
    }
}

impl Said {
    /// Turns come from the end.
    fn add_before(&mut self, turn: &Turn) {
        let words = match &turn.body {
            TurnBody::User(user) => Cow::from(user.content.text()),
            TurnBody::AssistantText(text) if text.status != TextStatus::Error => {
                Cow::from(&text.content)
            }
            _ => return,
        };
        self.at = self.at.max(turn.ts);
        let who = match &turn.author {
            Author::Person(_) => "person",
            Author::Agent(agent) => agent.as_str(),
            Author::System => "system",
        };
        let words = beginning(words.trim());
        if words.is_empty() {
            return;
        }
        self.origin = self.origin.max(turn.origin);
        // Its place is kept, so that the others are cited by theirs.
        let fits = self.bytes + words.len() <= LONGEST_RUN;
        let message = if fits { format!("{who}: {words}\n\n") } else { String::new() };
        self.bytes += message.len();
        self.messages.push(message);
    }

    /// The messages as one text, and which message stands at a line: people know conversations by
    /// these, and nobody sees the lines.
    fn rendered(&self) -> (String, impl Fn(u32) -> u32 + use<>) {
        let mut text = String::with_capacity(self.bytes);
        let mut starts = Vec::with_capacity(self.messages.len());
        let mut line = 1_u32;
        for message in self.messages.iter().rev() {
            starts.push(line);
            line += u32::try_from(message.matches('\n').count()).unwrap_or(u32::MAX);
            text.push_str(message);
        }
        let message_of = move |line: u32| {
            u32::try_from(starts.partition_point(|start| *start <= line)).unwrap_or(u32::MAX)
        };
        (text, message_of)
    }
}

fn beginning(words: &str) -> &str {
    &words[..words.floor_char_boundary(LONGEST_MESSAGE)]
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
