//! Indexes conversations by run and message. Each is continued from where the last indexing ended,
//! so that a long session costs no more than a short one. The sessions that changed are read from
//! the ledger's sequence of changes, so that the others cost nothing.

mod batch;
mod mark;
mod run_text;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use onyx_storage::{Files, Ledger, SessionFilter, SessionMeta, SessionSequence, Spaces, TurnLog};
use onyx_types::{PersonId, Scope, SessionId, SessionOrigin, SpaceId};

use crate::KnowledgeError;
use crate::backlog::Backlog;
use crate::indexing::{Indexing, RereadScope};
use batch::{Batch, IndexedSession};
use mark::{
    Mark, SEEN, SESSIONS, SessionsMark, by_message, chunking_of, companions_name, mark_name,
    mark_start,
};

const SESSIONS_AT_ONCE: u32 = 200;

/// The space whose companion a session is, by the first session of its family.
type Companions = HashMap<SessionId, SpaceId>;

/// Brings the chunk table up to date with sessions.
pub(crate) struct SessionIndexer {
    indexing: Arc<Indexing>,
    files: Arc<dyn Files>,
    ledger: Arc<dyn Ledger>,
    turns: Arc<dyn TurnLog>,
    backlog: Arc<Backlog>,
    /// This lock is held while sessions that are known to have changed are indexed.
    one_at_a_time: tokio::sync::Mutex<()>,
}

impl SessionIndexer {
    pub(crate) fn new(
        indexing: Arc<Indexing>,
        files: Arc<dyn Files>,
        ledger: Arc<dyn Ledger>,
        turns: Arc<dyn TurnLog>,
        backlog: Arc<Backlog>,
    ) -> Self {
        let one_at_a_time = tokio::sync::Mutex::default();
        Self { indexing, files, ledger, turns, backlog, one_at_a_time }
    }

    /// Indexes the sessions that are known to have changed. When it returns all of them are
    /// indexed, even if another task began some of them.
    pub(crate) async fn index_waiting(&self) -> Result<(), KnowledgeError> {
        while self.backlog.has_sessions() {
            let _one_at_a_time = self.one_at_a_time.lock().await;
            let Some(taken) = self.backlog.take_sessions().await else { break };
            let mut batch = self.batch().await;
            let mut spaces = HashMap::new();
            for (person, session) in &taken.sessions {
                self.index_session(person, *session, &mut spaces, &mut batch).await?;
            }
            batch.flush().await?;
            taken.mark_indexed();
        }
        Ok(())
    }

    async fn batch(&self) -> Batch<'_> {
        Batch::new(&self.indexing, &*self.turns).await
    }

    /// Indexes one session in its present state, or removes it if it was deleted.
    async fn index_session(
        &self,
        person: &PersonId,
        session: SessionId,
        spaces: &mut HashMap<PersonId, Companions>,
        batch: &mut Batch<'_>,
    ) -> Result<(), KnowledgeError> {
        let marks = self.indexing.chunks.marks(&mark_name(person, session)).await?;
        let known = marks.first().map(|(_, mark)| mark.as_str()).filter(|mark| !mark.is_empty());
        let known = known.map_or(IndexedSession::Nothing, IndexedSession::read);
        let Some(meta) = self.ledger.session(person, session).await? else {
            if !matches!(known, IndexedSession::Nothing) {
                batch.forget(person, session).await?;
            }
            return Ok(());
        };
        if meta.origin == SessionOrigin::Companion && !spaces.contains_key(person) {
            spaces.insert(person.clone(), self.companions(person).await?);
        }
        let none = Companions::new();
        let scope = scope_of(&meta, spaces.get(person).unwrap_or(&none));
        self.index_if_behind(person, &meta, known, scope, batch).await
    }

    /// Indexes the sessions that changed since the last look, or all sessions if that is unknown.
    pub(crate) async fn look_through(&self, how: RereadScope) -> Result<(), KnowledgeError> {
        // The position is read first, so that sessions that change meanwhile are looked at next
        // time.
        let sequence = self.ledger.session_sequence().await?;
        let seen = match sequence.filter(|_| how == RereadScope::Changes) {
            Some(sequence) => self.sessions_seen(sequence).await?,
            None => None,
        };
        for person in self.files.people().await? {
            let companions = self.companions(&person).await?;
            if seen.is_none() {
                self.look_through_all(&person, how, &companions).await?;
            }
            self.index_moved_companions(&person, companions).await?;
        }
        if let Some(seen) = seen {
            self.index_moved_sessions(seen.seq).await?;
            if self.has_missed_changes_after(seen.seq).await? {
                // The mark stays, so the next look is at all sessions.
                return Ok(());
            }
        }
        let Some(sequence) = sequence else { return Ok(()) };
        let chunking = self.indexing.ruler().fingerprint(&self.indexing.chunking);
        let seen = SessionsMark::new(sequence, by_message(&chunking));
        Ok(self.indexing.chunks.set_mark(SEEN, &seen.written()).await?)
    }

    /// The change up to which sessions were looked at; `None` if they would be cut in another way
    /// now.
    async fn sessions_seen(
        &self,
        sequence: SessionSequence,
    ) -> Result<Option<SessionsMark>, KnowledgeError> {
        let marks = self.indexing.chunks.marks(SEEN).await?;
        let seen = marks.first().and_then(|(_, mark)| SessionsMark::read(mark, sequence));
        Ok(seen.filter(|seen| self.is_cut_as_now(&seen.chunking)))
    }

    /// Whether changes after this one were removed before they could be read here.
    async fn has_missed_changes_after(&self, seen: u64) -> Result<bool, KnowledgeError> {
        let sequence = self.ledger.session_sequence().await?;
        Ok(sequence.is_some_and(|sequence| sequence.removed > seen))
    }

    fn is_cut_as_now(&self, chunking: &str) -> bool {
        chunking_of(chunking).is_some_and(|chunking| {
            self.indexing.ruler().is_met_by(chunking, &self.indexing.chunking)
        })
    }

    async fn index_moved_sessions(&self, mut after: u64) -> Result<(), KnowledgeError> {
        let mut spaces = HashMap::new();
        loop {
            let moved = self.ledger.moved_sessions(after, SESSIONS_AT_ONCE).await?;
            let Some(last) = moved.last() else { return Ok(()) };
            after = last.seq;
            self.indexing.add_to_total(moved.len());
            let mut batch = self.batch().await;
            for moved in &moved {
                self.index_session(&moved.person, moved.session, &mut spaces, &mut batch).await?;
            }
            batch.flush().await?;
            self.indexing.add_to_done(moved.len() as u64);
        }
    }

    async fn look_through_all(
        &self,
        person: &PersonId,
        how: RereadScope,
        spaces: &Companions,
    ) -> Result<(), KnowledgeError> {
        let ledger = &self.ledger;
        let mut known = self.known_sessions(person, how).await?;
        let mut filter = SessionFilter { limit: SESSIONS_AT_ONCE, ..SessionFilter::default() };
        loop {
            let page = ledger.sessions(person, &filter).await?;
            let Some(last) = page.last() else { break };
            filter.before = Some(last.session_id);
            self.indexing.add_to_total(page.len());
            let mut batch = self.batch().await;
            for meta in &page {
                let known = known.remove(&meta.session_id).unwrap_or(IndexedSession::Nothing);
                let scope = scope_of(meta, spaces);
                self.index_if_behind(person, meta, known, scope, &mut batch).await?;
            }
            batch.flush().await?;
            self.indexing.add_to_done(page.len() as u64);
        }
        let mut batch = self.batch().await;
        for (session, known) in known {
            // Lists of sessions leave out older forks, which may still exist.
            match ledger.session(person, session).await? {
                Some(meta) => {
                    let scope = scope_of(&meta, spaces);
                    self.index_if_behind(person, &meta, known, scope, &mut batch).await?;
                }
                None => batch.forget(person, session).await?,
            }
        }
        batch.flush().await
    }

    /// The sessions that the index holds, and how far each is indexed.
    async fn known_sessions(
        &self,
        person: &PersonId,
        how: RereadScope,
    ) -> Result<BTreeMap<SessionId, IndexedSession>, KnowledgeError> {
        let chunks = &self.indexing.chunks;
        let start = mark_start(person);
        let mut known = BTreeMap::new();
        for (name, mark) in chunks.marks(&start).await? {
            let session = name[start.len()..].parse().ok().filter(|_| !mark.is_empty());
            let mark = match how {
                RereadScope::Changes => IndexedSession::read(&mark),
                RereadScope::Anew => IndexedSession::Something,
            };
            known.extend(session.map(|session| (session, mark)));
        }
        if how == RereadScope::Anew {
            let paths = chunks.paths_under(Some(person), SESSIONS).await?;
            let sessions = paths.iter().filter_map(|path| path.split('/').nth(1)?.parse().ok());
            known.extend(sessions.map(|session| (session, IndexedSession::Something)));
        }
        Ok(known)
    }

    async fn companions(&self, person: &PersonId) -> Result<Companions, KnowledgeError> {
        let spaces = Spaces::new(&*self.files, person)?.list().await?;
        let companion = |space: onyx_storage::Space| Some((space.companion?, space.id));
        Ok(spaces.into_iter().filter_map(companion).collect())
    }

    /// Indexes companions that belong to another space than before. The ledger does not report such
    /// a change, because it is written in the space's file.
    async fn index_moved_companions(
        &self,
        person: &PersonId,
        now: Companions,
    ) -> Result<(), KnowledgeError> {
        let name = companions_name(person);
        let marks = self.indexing.chunks.marks(&name).await?;
        let before: Companions = marks
            .iter()
            .find(|(found, _)| *found == name)
            .and_then(|(_, mark)| serde_json::from_str(mark).ok())
            .unwrap_or_default();
        if before == now {
            return Ok(());
        }
        let moved =
            before.keys().chain(now.keys()).filter(|root| before.get(root) != now.get(root));
        let mut batch = self.batch().await;
        let mut spaces = HashMap::from([(person.clone(), now.clone())]);
        for root in moved {
            for meta in self.ledger.family(person, *root).await? {
                self.index_session(person, meta.session_id, &mut spaces, &mut batch).await?;
            }
        }
        batch.flush().await?;
        let written = serde_json::to_string(&now).unwrap_or_default();
        Ok(self.indexing.chunks.set_mark(&name, &written).await?)
    }

    async fn index_if_behind(
        &self,
        person: &PersonId,
        meta: &SessionMeta,
        known: IndexedSession,
        scope: Option<Scope>,
        batch: &mut Batch<'_>,
    ) -> Result<(), KnowledgeError> {
        // A session without a scope may not be found by any search.
        let Some(scope) = scope else { return Ok(()) };
        let known = match known {
            IndexedSession::UpTo(mark) if self.continues(&mark, meta, &scope) => {
                if mark.run.is_some() && mark.run == meta.last_run {
                    return Ok(());
                }
                IndexedSession::UpTo(mark)
            }
            IndexedSession::UpTo(_) | IndexedSession::Something => IndexedSession::Something,
            IndexedSession::Nothing => IndexedSession::Nothing,
        };
        batch.index_new_runs(person, meta, known, scope).await
    }

    /// Whether indexing can continue after the mark. Every chunk of a session holds its title and
    /// scope, so if one of these changes the whole session is indexed again.
    fn continues(&self, mark: &Mark, meta: &SessionMeta, scope: &Scope) -> bool {
        mark.title == title_of(meta) && mark.scope == *scope && self.is_cut_as_now(&mark.chunking)
    }
}

/// The scope whose searches may see a session; `None` if no search may. Messages of a thread are
/// found in that thread, and messages to a companion in its space.
fn scope_of(meta: &SessionMeta, spaces: &Companions) -> Option<Scope> {
    // The id of a thread is that of its session. A companion whose space was deleted is treated as
    // a thread, so that its owner still finds it and no other conversation does.
    let alone = || meta.root.to_string().parse().ok().map(Scope::Thread);
    match meta.origin {
        // Sessions of API clients and temporary chats are not kept.
        SessionOrigin::Api | SessionOrigin::Temporary => None,
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
