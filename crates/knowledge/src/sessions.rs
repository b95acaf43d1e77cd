//! Conversations, a run at a time: each is indexed from where the last one ended, so that a long
//! session costs no more than a short one.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use onyx_storage::{
    ChunkRow, SessionFilter, SessionMeta, SourceKey, SourceKind, SourceRow, Spaces, Stamp,
};
use onyx_types::{
    Author, Hash, Origin, PersonId, RunId, Scope, SessionId, SessionKey, SessionOrigin, SpaceId,
    TextStatus, Timestamp, Turn, TurnBody,
};
use serde::{Deserialize, Serialize};

use crate::files::sync::Look;
use crate::{Document, Index, KnowledgeError, Ruler, indexed_text};

/// Read of a log at once; one longer turn is read whole and let go again.
const PAGE_BYTES: u64 = 512 * 1024;
const SESSIONS_AT_ONCE: u32 = 200;

/// A session that is being filed. It waits to be filed again unless it was: the caller may have
/// failed, or gone away in the middle.
struct TakenSession<'a> {
    index: &'a Index,
    person: PersonId,
    session: SessionId,
}

impl<'a> TakenSession<'a> {
    fn first(index: &'a Index) -> Option<Self> {
        let mut pending = index.pending();
        let (person, session) = pending.sessions.pop_first()?;
        pending.session = Some((person.clone(), session));
        Some(Self { index, person, session })
    }

    fn filed(self) {
        self.index.pending().session = None;
    }
}

impl Drop for TakenSession<'_> {
    fn drop(&mut self) {
        let mut pending = self.index.pending();
        let unfiled = pending.session.take();
        pending.sessions.extend(unfiled);
    }
}

impl Index {
    /// Sessions that are known to have changed. When it returns all of them are filed, whoever has
    /// begun that.
    pub(crate) async fn settle_sessions(&self) -> Result<(), KnowledgeError> {
        while self.pending().has_sessions() {
            let _one_at_a_time = self.inner.settling_sessions.lock().await;
            let Some(taken) = TakenSession::first(self) else { break };
            self.pause("index.session").await;
            self.file_session(&taken.person, taken.session).await?;
            taken.filed();
        }
        Ok(())
    }

    async fn file_session(
        &self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<(), KnowledgeError> {
        match self.inner.store.ledger.session(person, session).await? {
            Some(meta) => {
                let marks = self.inner.store.chunks.marks(&mark_name(person, session)).await?;
                let known = marks.first().and_then(|(_, mark)| Mark::read(mark));
                let spaces = match meta.origin == SessionOrigin::Companion {
                    true => self.companions(person).await?,
                    false => Companions::default(),
                };
                self.file_new_runs(person, &meta, known, &spaces).await
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

    /// Sessions that are not as they were indexed, and those that are gone.
    pub(crate) async fn look_through_sessions(
        &self,
        person: &PersonId,
        how: Look,
    ) -> Result<(), KnowledgeError> {
        let store = &self.inner.store;
        let mut known = self.known_sessions(person, how).await?;
        let spaces = self.companions(person).await?;
        let mut filter = SessionFilter { limit: SESSIONS_AT_ONCE, ..SessionFilter::default() };
        loop {
            let page = store.ledger.sessions(person, &filter).await?;
            let Some(last) = page.last() else { break };
            filter.before = Some(last.session_id);
            for meta in &page {
                let mark = known.remove(&meta.session_id).flatten();
                self.file_if_behind(person, meta, mark, &spaces).await?;
            }
        }
        for (session, mark) in known {
            // Lists leave out older forks; these are still there.
            match store.ledger.session(person, session).await? {
                Some(meta) => self.file_if_behind(person, &meta, mark, &spaces).await?,
                None => self.forget_session(person, session).await?,
            }
        }
        Ok(())
    }

    /// Sessions of which there is something in the index, and how far they were indexed, where
    /// that is to be believed.
    async fn known_sessions(
        &self,
        person: &PersonId,
        how: Look,
    ) -> Result<BTreeMap<SessionId, Option<Mark>>, KnowledgeError> {
        let chunks = &self.inner.store.chunks;
        let start = mark_start(person);
        let mut known = BTreeMap::new();
        for (name, mark) in chunks.marks(&start).await? {
            let session = name[start.len()..].parse().ok().filter(|_| !mark.is_empty());
            let mark = Mark::read(&mark).filter(|_| how == Look::Changes);
            known.extend(session.map(|session| (session, mark)));
        }
        if how == Look::Anew {
            let paths = chunks.paths_under(Some(person), SESSIONS).await?;
            let sessions = paths.iter().filter_map(|path| path.split('/').nth(1)?.parse().ok());
            known.extend(sessions.map(|session| (session, None)));
        }
        Ok(known)
    }

    async fn companions(&self, person: &PersonId) -> Result<Companions, KnowledgeError> {
        let spaces = Spaces::new(&*self.inner.store.files, person)?.list().await?;
        let companion = |space: onyx_storage::Space| Some((space.companion?, space.id));
        Ok(spaces.into_iter().filter_map(companion).collect())
    }

    async fn file_if_behind(
        &self,
        person: &PersonId,
        meta: &SessionMeta,
        known: Option<Mark>,
        spaces: &Companions,
    ) -> Result<(), KnowledgeError> {
        let is_current = |mark: &Mark| {
            mark.run == meta.last_run && self.goes_on(mark, meta, scope_of(meta, spaces).as_ref())
        };
        match known.as_ref().is_some_and(is_current) {
            true => Ok(()),
            false => self.file_new_runs(person, meta, known, spaces).await,
        }
    }

    /// Is what was indexed of a session still as it would be now? Name and scope are on every
    /// chunk of it.
    fn goes_on(&self, mark: &Mark, meta: &SessionMeta, scope: Option<&Scope>) -> bool {
        mark.title == title_of(meta)
            && Some(&mark.scope) == scope
            && self.ruler().is_met_by(&mark.chunking, &self.inner.settings.chunking)
    }

    async fn file_new_runs(
        &self,
        person: &PersonId,
        meta: &SessionMeta,
        known: Option<Mark>,
        spaces: &Companions,
    ) -> Result<(), KnowledgeError> {
        let Some(scope) = scope_of(meta, spaces) else { return Ok(()) };
        let chunks = &self.inner.store.chunks;
        let _filing = self.inner.filing.lock().await;
        let known = known.filter(|mark| self.goes_on(mark, meta, Some(&scope)));
        let known_run = known.as_ref().and_then(|mark| mark.run);
        let ruler = self.ruler();
        let mark = Mark {
            // More will be said in a run that is not over.
            run: meta.last_run.filter(|_| meta.last_run_status.is_some()).or(known_run),
            title: title_of(meta),
            scope: scope.clone(),
            chunking: ruler.fingerprint(&self.inner.settings.chunking),
        };
        let session = Indexed { person, meta, scope, ruler };
        let filed = self.file_runs_after(&session, known_run).await?;
        if known.is_none() {
            self.drop_others(person, meta.session_id, &filed).await?;
        }
        Ok(chunks.set_mark(&mark_name(person, meta.session_id), &mark.written()).await?)
    }

    /// Runs of a session that its log does not hold.
    async fn drop_others(
        &self,
        person: &PersonId,
        session: SessionId,
        filed: &BTreeSet<RunId>,
    ) -> Result<(), KnowledgeError> {
        let chunks = &self.inner.store.chunks;
        let start = prefix(session);
        for path in chunks.paths_under(Some(person), &start).await? {
            if !path[start.len()..].parse().is_ok_and(|run| filed.contains(&run)) {
                chunks.remove(&SourceKey { person: Some(person.clone()), path }).await?;
            }
        }
        Ok(())
    }

    /// Reads from the end, and keeps no more than what is found of one run. Which were filed?
    async fn file_runs_after(
        &self,
        session: &Indexed<'_>,
        last: Option<RunId>,
    ) -> Result<BTreeSet<RunId>, KnowledgeError> {
        let mut filed = BTreeSet::new();
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
                    filed.insert(over);
                }
                if Some(run) == last {
                    return Ok(filed);
                }
                let (_, said) = open.get_or_insert_with(|| (run, Said::default()));
                said.add_before(turn);
            }
            if !page.has_older {
                break;
            }
            before = Some(page.start);
        }
        if let Some((run, said)) = open {
            self.file_run(session, run, said).await?;
            filed.insert(run);
        }
        Ok(filed)
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

/// Which space's companion a session is, by the first of its family.
type Companions = HashMap<SessionId, SpaceId>;

/// Whose searches may see a session; `None`: nobody's. What is said in a space stays in it: in a
/// thread for that thread, with a companion for the space.
fn scope_of(meta: &SessionMeta, spaces: &Companions) -> Option<Scope> {
    // A thread goes by the id of its session. The companion of a space that is gone is found by
    // its owner, and by no other conversation.
    let alone = || meta.root.to_string().parse().ok().map(Scope::Thread);
    match meta.origin {
        // Passing clients' words are not kept for anybody.
        SessionOrigin::Api => None,
        SessionOrigin::Thread => alone(),
        SessionOrigin::Companion => {
            spaces.get(&meta.root).cloned().map(Scope::Space).or_else(alone)
        }
        SessionOrigin::Chat
        | SessionOrigin::AgentEditor
        | SessionOrigin::Connector
        | SessionOrigin::Job => Some(Scope::Agent(meta.agent.clone())),
    }
}

fn title_of(meta: &SessionMeta) -> String {
    let title = meta.title.as_deref().unwrap_or("Conversation");
    format!("{title} ({})", meta.created_at.utc_date())
}

/// What is remembered of a session: up to which run it was indexed, and as what.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    run: Option<RunId>,
    title: String,
    scope: Scope,
    chunking: String,
}

impl Mark {
    /// `None`: it says nothing that can be gone by, as those of older versions.
    fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    fn written(&self) -> String {
        // Names and numbers: that cannot fail, and nothing written is indexed again.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn mark_start(person: &PersonId) -> String {
    format!("session:{person}:")
}

fn mark_name(person: &PersonId, session: SessionId) -> String {
    format!("{}{session}", mark_start(person))
}

const SESSIONS: &str = "sessions/";

/// Paths of a session's runs begin so.
fn prefix(session: SessionId) -> String {
    format!("{SESSIONS}{session}/")
}
