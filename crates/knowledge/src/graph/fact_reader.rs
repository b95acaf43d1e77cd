//! Looks through texts for facts, with rules in everything that changed and with a model
//! (`reading.rs`).

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use onyx_storage::{ChunkFacts, ChunkId, ChunkStore, Duties, SourceKind, StoredChunk};
use onyx_types::{Clock, Timestamp};

use super::finder::FactFinder;
use super::reading::{ReadingPass, ReadingProgress};
use super::rules::{Passage, RULES, facts_in};
use crate::KnowledgeError;
use crate::chunk::zone_of;

pub(crate) struct FactReader {
    chunks: Arc<dyn ChunkStore>,
    clock: Arc<dyn Clock>,
    finder: RwLock<FinderState>,
    /// This lock is held while the rules look for facts.
    one_at_a_time: tokio::sync::Mutex<()>,
    duties: Arc<dyn Duties>,
    /// How far the model has read. This lock is held while it reads.
    progress: tokio::sync::Mutex<ReadingProgress>,
}

/// The model that finds facts besides the rules, and how many tokens it may use in a day.
#[derive(Clone, Default)]
struct FinderState {
    finder: Option<Arc<dyn FactFinder>>,
    daily_tokens: u64,
}

/// The name of the mark that stores the change up to which the rules have read sources, with the
/// epoch and the version of the rules.
const SEEN: &str = "facts seen";
/// The name of the duty of the gateway whose model reads texts.
const READER: &str = "facts";
const SOURCES_AT_ONCE: u32 = 64;

impl FactReader {
    pub(crate) fn new(
        chunks: Arc<dyn ChunkStore>,
        clock: Arc<dyn Clock>,
        duties: Arc<dyn Duties>,
    ) -> Self {
        Self {
            chunks,
            clock,
            finder: RwLock::default(),
            one_at_a_time: tokio::sync::Mutex::default(),
            duties,
            progress: tokio::sync::Mutex::default(),
        }
    }

    /// Sets the model that finds facts besides the rules; with `None` only the rules find facts.
    pub(crate) fn set_finder(&self, finder: Option<Arc<dyn FactFinder>>, daily_tokens: u64) {
        let mut state = self.finder.write().unwrap_or_else(PoisonError::into_inner);
        *state = FinderState { finder, daily_tokens };
    }

    /// Finds facts in the background: first with the rules in everything that is left, then with
    /// the model.
    pub(crate) async fn find_facts(&self) -> Result<(), KnowledgeError> {
        self.find_by_rules(None).await?;
        self.find_by_model().await
    }

    /// Applies the rules to the sources that changed. Returns whether all of them were read within
    /// the time.
    pub(super) async fn find_by_rules(
        &self,
        patience: Option<Duration>,
    ) -> Result<bool, KnowledgeError> {
        let _one_at_a_time = self.one_at_a_time.lock().await;
        let chunks = &self.chunks;
        let began = Instant::now();
        let epoch = chunks.epoch().await?;
        let mut after = self.rules_seen(epoch).await?;
        loop {
            let changes = chunks.changes(after, SOURCES_AT_ONCE).await?;
            let Some(last) = changes.last().map(|change| change.seq) else { return Ok(true) };
            if patience.is_some_and(|patience| began.elapsed() > patience) {
                return Ok(false);
            }
            // If only the vectors of a source changed, its text still contains the same facts.
            let changed: Vec<_> = changes
                .iter()
                .filter(|change| change.text_seq > after)
                .map(|change| change.source)
                .collect();
            let contents = chunks.contents(&changed).await?.into_iter().flatten();
            let ids: Vec<ChunkId> =
                contents.flat_map(|contents| contents.chunks).map(|(id, _)| id).collect();
            let stored = chunks.stored(&ids).await?;
            let found = stored.iter().filter(|chunk| has_facts(chunk.source.kind));
            let found = found.map(|chunk| by_rules(chunk, &*self.clock));
            chunks.keep_facts(found.filter(|found| !found.facts.is_empty()).collect()).await?;
            after = last;
            chunks.set_mark(SEEN, &format!("{epoch} {after} {RULES}")).await?;
        }
    }

    async fn rules_seen(&self, epoch: u64) -> Result<u64, KnowledgeError> {
        let marks = self.chunks.marks(SEEN).await?;
        let seen = marks.first().and_then(|(_, mark)| {
            let mut parts = mark.splitn(3, ' ');
            let is_same = parts.next()?.parse() == Ok(epoch);
            let seq = parts.next()?.parse().ok()?;
            (is_same && parts.next() == Some(RULES)).then_some(seq)
        });
        Ok(seen.unwrap_or(0))
    }

    /// Lets the model read texts. Only one gateway does this at a time, because two would pay for
    /// the same texts.
    async fn find_by_model(&self) -> Result<(), KnowledgeError> {
        let state = self.finder.read().unwrap_or_else(PoisonError::into_inner).clone();
        let FinderState { finder: Some(finder), daily_tokens } = state else { return Ok(()) };
        let mut progress = self.progress.lock().await;
        let settled = self.chunks.settled_through().await?;
        let Some(owned) = self.duties.own(READER).await? else { return Ok(()) };
        let still_owns = || self.duties.still_owns(&owned);
        let pass = ReadingPass {
            chunks: &*self.chunks,
            clock: &*self.clock,
            maker: finder.name(),
            finder: &*finder,
            daily_tokens,
            still_owns: &still_owns,
            progress: &mut progress,
            settled,
            failed: BTreeMap::new(),
            silent_people: 0,
        };
        let read = pass.run().await;
        self.duties.give_back(&owned).await;
        read
    }
}

/// Whether facts are looked for in sources of this kind. Tasks and shared documents mention many
/// things that nobody asks the graph for.
pub(super) fn has_facts(kind: SourceKind) -> bool {
    match kind {
        SourceKind::Memory
        | SourceKind::Daily
        | SourceKind::Note
        | SourceKind::Page
        | SourceKind::Ref
        | SourceKind::Project
        | SourceKind::Session
        | SourceKind::Source => true,
        SourceKind::Task | SourceKind::Shared => false,
    }
}

pub(super) fn said_at(chunk: &StoredChunk) -> Timestamp {
    let said = chunk.row.message.as_ref().and_then(|message| message.at);
    said.or(chunk.source.dated).unwrap_or(chunk.source.stamp.modified)
}

fn by_rules(chunk: &StoredChunk, clock: &dyn Clock) -> ChunkFacts {
    let person = chunk.source.key.person.as_ref();
    let passage = Passage {
        chunk: &chunk.row,
        title: &chunk.source.title,
        kind: chunk.source.kind,
        person,
        at: said_at(chunk),
        zone: zone_of(clock, person),
    };
    ChunkFacts { chunk: chunk.id, maker: RULES.to_owned(), facts: facts_in(&passage) }
}
