//! Reads the logs of sessions and writes their messages to the table, with many sessions in one
//! transaction.

use std::collections::BTreeSet;

use onyx_storage::{ChunkRow, SessionMeta, SourceKey, SourceKind, SourceRow, Stamp, TurnLog};
use onyx_types::{PersonId, RunId, Scope, SessionId, SessionKey};

use super::mark::{Mark, NO_RUN, by_message, mark_name, prefix};
use super::run_text::RunText;
use super::title_of;
use crate::indexing::Indexing;
use crate::{KnowledgeError, Ruler};

/// How many bytes of a log are read at once. A single longer turn is read whole.
const PAGE_BYTES: u64 = 512 * 1024;
/// How many runs, and how many bytes of text, are written to the table together. A search waits for
/// at most one such batch.
const SOURCES_AT_ONCE: usize = 512;
const BYTES_AT_ONCE: usize = 512 * 1024;

/// What the index holds of a session.
#[derive(Debug)]
pub(super) enum IndexedSession {
    Nothing,
    /// The index holds something, but its mark cannot be continued, so the whole session is indexed
    /// again.
    Something,
    UpTo(Mark),
}

impl IndexedSession {
    pub(super) fn read(mark: &str) -> Self {
        Mark::read(mark).map_or(Self::Something, Self::UpTo)
    }
}

/// Sessions that are being indexed. Nothing else is indexed while a batch is open.
pub(super) struct Batch<'a> {
    indexing: &'a Indexing,
    turns: &'a dyn TurnLog,
    ruler: Ruler,
    _one_at_a_time: tokio::sync::MutexGuard<'a, ()>,
    sources: Vec<(SourceRow, Vec<ChunkRow>)>,
    bytes: usize,
    gone: Vec<SourceKey>,
    marks: Vec<(String, String)>,
}

/// A session that is being read.
struct Reading<'a> {
    person: &'a PersonId,
    meta: &'a SessionMeta,
    scope: Scope,
    title: String,
}

impl<'a> Batch<'a> {
    pub(super) async fn new(indexing: &'a Indexing, turns: &'a dyn TurnLog) -> Self {
        let one_at_a_time = indexing.lock().await;
        Self {
            indexing,
            turns,
            ruler: indexing.ruler(),
            _one_at_a_time: one_at_a_time,
            sources: Vec::new(),
            bytes: 0,
            gone: Vec::new(),
            marks: Vec::new(),
        }
    }

    pub(super) async fn flush(mut self) -> Result<(), KnowledgeError> {
        self.write().await
    }

    async fn write(&mut self) -> Result<(), KnowledgeError> {
        let chunks = &self.indexing.chunks;
        self.bytes = 0;
        let sources = std::mem::take(&mut self.sources);
        if !sources.is_empty() {
            chunks.replace_all(sources).await?;
        }
        for key in std::mem::take(&mut self.gone) {
            chunks.remove(&key).await?;
        }
        // The marks are written last, so that everything that is marked as indexed is indexed.
        let marks = std::mem::take(&mut self.marks);
        if !marks.is_empty() {
            chunks.set_marks(marks).await?;
        }
        Ok(())
    }

    pub(super) async fn forget(
        &mut self,
        person: &PersonId,
        session: SessionId,
    ) -> Result<(), KnowledgeError> {
        let chunks = &self.indexing.chunks;
        chunks.remove_under(Some(person), &prefix(session)).await?;
        self.marks.push((mark_name(person, session), String::new()));
        Ok(())
    }

    pub(super) async fn index_new_runs(
        &mut self,
        person: &PersonId,
        meta: &SessionMeta,
        known: IndexedSession,
        scope: Scope,
    ) -> Result<(), KnowledgeError> {
        let known_run = match &known {
            IndexedSession::UpTo(mark) => mark.run,
            IndexedSession::Nothing | IndexedSession::Something => None,
        };
        let title = title_of(meta);
        let mark = Mark {
            // A run that is still at work is not marked, because more messages will follow in it.
            run: meta.last_run.filter(|_| meta.last_run_status.is_some()).or(known_run),
            title: title.clone(),
            scope: scope.clone(),
            chunking: by_message(&self.ruler.fingerprint(&self.indexing.chunking)),
        };
        let session = Reading { person, meta, scope, title };
        let indexed = self.index_runs_after(&session, known_run).await?;
        if matches!(known, IndexedSession::Something) {
            self.drop_others(person, meta.session_id, &indexed).await?;
        }
        self.marks.push((mark_name(person, meta.session_id), mark.written()));
        Ok(())
    }

    /// Removes the runs of a session that are no longer in its log.
    async fn drop_others(
        &mut self,
        person: &PersonId,
        session: SessionId,
        indexed: &BTreeSet<String>,
    ) -> Result<(), KnowledgeError> {
        let chunks = &self.indexing.chunks;
        let start = prefix(session);
        for path in chunks.paths_under(Some(person), &start).await? {
            if !indexed.contains(&path[start.len()..]) {
                self.gone.push(SourceKey { person: Some(person.clone()), path });
            }
        }
        Ok(())
    }

    /// Reads the log from its end, and keeps at most one run in memory. Returns the names of the
    /// runs that were indexed.
    async fn index_runs_after(
        &mut self,
        session: &Reading<'_>,
        last: Option<RunId>,
    ) -> Result<BTreeSet<String>, KnowledgeError> {
        let mut indexed = BTreeSet::new();
        let (agent, id) = (session.meta.agent.clone(), session.meta.session_id);
        let key = SessionKey { person: session.person.clone(), agent, session: id };
        let mut open = None::<(RunId, RunText)>;
        let mut of_no_run = RunText::default();
        let mut before = None;
        'log: loop {
            let page = self.turns.tail_within(&key, before, PAGE_BYTES).await?;
            // The position grows with every turn, whichever page contains the turn, because each
            // turn takes more than one byte of the log.
            for (place, turn) in page.turns.iter().enumerate().rev() {
                let position = page.start.0 + place as u64;
                let Some(run) = turn.run else {
                    of_no_run.add_before(turn, position);
                    continue;
                };
                if let Some((over, said)) = open.take_if(|(open, _)| *open != run) {
                    self.add(session, over.to_string(), said, &mut indexed).await?;
                }
                if Some(run) == last {
                    break 'log;
                }
                let (_, said) = open.get_or_insert_with(|| (run, RunText::default()));
                said.add_before(turn, position);
            }
            if !page.has_older {
                break;
            }
            before = Some(page.start);
        }
        if let Some((run, said)) = open {
            self.add(session, run.to_string(), said, &mut indexed).await?;
        }
        if of_no_run.is_empty() {
            return Ok(indexed);
        }
        if last.is_some() {
            // The turns outside all runs form one source, so all of them must be read.
            return Box::pin(self.index_runs_after(session, None)).await;
        }
        self.add(session, NO_RUN.to_owned(), of_no_run, &mut indexed).await?;
        Ok(indexed)
    }

    async fn add(
        &mut self,
        session: &Reading<'_>,
        name: String,
        said: RunText,
        indexed: &mut BTreeSet<String>,
    ) -> Result<(), KnowledgeError> {
        let Reading { person, meta, scope, title } = session;
        let chunking = &self.indexing.chunking;
        let row = SourceRow {
            key: SourceKey {
                person: Some((*person).clone()),
                path: format!("{}{name}", prefix(meta.session_id)),
            },
            kind: SourceKind::Session,
            scope: scope.clone(),
            origin: said.origin,
            checksum: said.checksum(),
            stamp: Stamp { size: said.bytes as u64, modified: said.at },
            chunking: self.ruler.fingerprint(chunking),
            problem: None,
            indexed_at: self.indexing.clock.wall(),
            title: title.clone(),
            conversation: Some(meta.session_id.to_string()),
            dated: None,
        };
        indexed.insert(name);
        self.bytes += said.bytes;
        self.sources.push((row, said.rows(chunking, &self.ruler)));
        if self.sources.len() >= SOURCES_AT_ONCE || self.bytes >= BYTES_AT_ONCE {
            self.write().await?;
        }
        Ok(())
    }
}
