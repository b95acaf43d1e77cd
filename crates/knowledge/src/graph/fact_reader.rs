//! Looks through texts for facts: by rules in everything that changed, and by a model one chunk after
//! another until the day's budget is used.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use onyx_storage::{
    ChunkFacts, ChunkId, ChunkRow, ChunkStore, EntityName, FactRow, Group, GroupId, Holds,
    ObjectKind, SourceKind, StoredChunk,
};
use onyx_types::{Clock, Hash, Timestamp};

use super::finder::{FactFinder, FactPassage, FoundFact};
use super::rules::{Passage, RULES, facts_in};
use crate::KnowledgeError;
use crate::chunk::zone_of;

pub(crate) struct FactReader {
    chunks: Arc<dyn ChunkStore>,
    clock: Arc<dyn Clock>,
    finder: RwLock<FinderState>,
    /// Held while rules look for facts.
    one_at_a_time: tokio::sync::Mutex<()>,
}

/// Who finds facts beside the rules, and how many tokens a day it may take.
#[derive(Clone, Default)]
struct FinderState {
    finder: Option<Arc<dyn FactFinder>>,
    daily_tokens: u64,
}

/// Up to which change rules have looked at sources: epoch, sequence and the rules' own version.
const SEEN: &str = "facts seen";
/// Up to which chunk a model has read, and which model.
const READ_THROUGH: &str = "facts read through";
/// What models took on a day.
const SPENT: &str = "facts spent";
const SOURCES_AT_ONCE: u32 = 64;
const CHUNKS_AT_ONCE: u32 = 16;
/// Shorter texts say nothing that a model is needed for.
const SHORTEST_READ: usize = 24;

impl FactReader {
    pub(crate) fn new(chunks: Arc<dyn ChunkStore>, clock: Arc<dyn Clock>) -> Self {
        Self {
            chunks,
            clock,
            finder: RwLock::default(),
            one_at_a_time: tokio::sync::Mutex::default(),
        }
    }

    /// Sets the finder that finds facts besides the rules from now on; `None`: only the rules do.
    pub(crate) fn set_finder(&self, finder: Option<Arc<dyn FactFinder>>, daily_tokens: u64) {
        let mut state = self.finder.write().unwrap_or_else(PoisonError::into_inner);
        *state = FinderState { finder, daily_tokens };
    }

    /// In the background: the rules look at everything that is left, then the model reads.
    pub(crate) async fn find_facts(&self) -> Result<(), KnowledgeError> {
        self.find_by_rules(None).await?;
        self.find_by_model().await
    }

    /// Looks at the sources that changed. Gives back whether it has seen all of them.
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
            // Where only vectors changed, the text holds the same facts.
            let changed: Vec<_> = changes
                .iter()
                .filter(|change| change.text_seq > after)
                .map(|change| change.source)
                .collect();
            let groups: HashMap<GroupId, Group> =
                chunks.groups().await?.into_iter().map(|group| (group.id, group)).collect();
            let ids: Vec<ChunkId> = {
                let contents = chunks.contents(&changed).await?.into_iter().flatten();
                let known = contents.filter(|contents| groups.contains_key(&contents.group));
                known.flat_map(|contents| contents.chunks).map(|(id, _)| id).collect()
            };
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

    /// One chunk after another, until all are read, the budget is spent or the model fails.
    async fn find_by_model(&self) -> Result<(), KnowledgeError> {
        let state = self.finder.read().unwrap_or_else(PoisonError::into_inner).clone();
        let FinderState { finder: Some(finder), daily_tokens } = state else { return Ok(()) };
        let chunks = &self.chunks;
        let maker = finder.name();
        let mut after = self.read_through(&maker).await?;
        loop {
            let next = chunks.chunks_after(after, CHUNKS_AT_ONCE).await?;
            if next.is_empty() {
                return Ok(());
            }
            for chunk in next {
                if !self.read_one(&*finder, &maker, &chunk, daily_tokens).await? {
                    return Ok(());
                }
                after = chunk.id;
                let mark = format!("{} {maker}", after.0);
                chunks.set_mark(READ_THROUGH, &mark).await?;
            }
        }
    }

    /// Reads one chunk. Gives back whether the next may be read.
    async fn read_one(
        &self,
        finder: &dyn FactFinder,
        maker: &str,
        chunk: &StoredChunk,
        daily_tokens: u64,
    ) -> Result<bool, KnowledgeError> {
        let chunks = &self.chunks;
        let Some(person) = chunk.source.key.person.clone() else { return Ok(true) };
        if !has_facts(chunk.source.kind) || chunk.row.text.len() < SHORTEST_READ {
            return Ok(true);
        }
        // What was found is kept by the text, so a renamed file is not read again.
        let text = Hash::of(chunk.row.text.as_bytes());
        let facts = match chunks.reading(text, maker).await? {
            Some(known) => known,
            None => {
                let spent = self.facts_spent().await?;
                if spent >= daily_tokens {
                    return Ok(false);
                }
                let passage = FactPassage {
                    text: chunk.row.text.clone(),
                    title: if chunk.row.message.is_some() {
                        String::new()
                    } else {
                        chunk.source.title.clone()
                    },
                    author: chunk.row.message.as_ref().map(|message| message.author.clone()),
                    at: said_at(chunk),
                    person,
                };
                let found = match finder.find(passage).await {
                    Ok(found) => found,
                    Err(failure) => {
                        tracing::warn!(
                            maker,
                            reason = failure.message,
                            "facts could not be read from a text; trying again later"
                        );
                        return Ok(false);
                    }
                };
                self.note_facts_spent(spent + found.tokens).await?;
                let believed: Vec<FactRow> =
                    found.facts.into_iter().filter_map(|fact| believed(fact, &chunk.row)).collect();
                chunks.keep_reading(text, maker, &believed).await?;
                believed
            }
        };
        if !facts.is_empty() {
            let found = ChunkFacts { chunk: chunk.id, maker: maker.to_owned(), facts };
            chunks.keep_facts(vec![found]).await?;
        }
        Ok(true)
    }

    async fn read_through(&self, maker: &str) -> Result<ChunkId, KnowledgeError> {
        let marks = self.chunks.marks(READ_THROUGH).await?;
        let noted = marks.first().and_then(|(_, mark)| mark.split_once(' '));
        let through = noted.filter(|(_, of)| *of == maker).and_then(|(id, _)| id.parse().ok());
        Ok(through.map_or_else(ChunkId::default, ChunkId))
    }

    fn today(&self) -> String {
        self.clock.wall().utc_date()
    }

    async fn facts_spent(&self) -> Result<u64, KnowledgeError> {
        let marks = self.chunks.marks(SPENT).await?;
        let noted = marks.first().and_then(|(_, mark)| mark.split_once(' '));
        let today = self.today();
        let spent =
            noted.filter(|(day, _)| *day == today).and_then(|(_, spent)| spent.parse().ok());
        Ok(spent.unwrap_or(0))
    }

    async fn note_facts_spent(&self, tokens: u64) -> Result<(), KnowledgeError> {
        let mark = format!("{} {tokens}", self.today());
        Ok(self.chunks.set_mark(SPENT, &mark).await?)
    }
}

/// Tasks and shared documents mention many things that the graph is not asked for.
fn has_facts(kind: SourceKind) -> bool {
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

fn said_at(chunk: &StoredChunk) -> Timestamp {
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

/// The fact, where its quote stands in the text word for word.
fn believed(found: FoundFact, chunk: &ChunkRow) -> Option<FactRow> {
    let FoundFact { subject, relation, object, quote, from, until, has_ended } = found;
    let quote = quote.trim();
    let place = chunk.text.find(quote).filter(|_| !quote.is_empty())?;
    let (subject, object) = (EntityName::new(&subject), EntityName::new(&object));
    let relation = EntityName::new(&relation).key;
    if subject.key.is_empty() || object.key.is_empty() || relation.is_empty() {
        return None;
    }
    let lines = chunk.text[..place].matches('\n').count();
    let line = match chunk.message {
        Some(_) => chunk.start_line,
        None => chunk.start_line + u32::try_from(lines).unwrap_or(0),
    };
    let is_name = object.name.chars().next().is_some_and(char::is_uppercase);
    Some(FactRow {
        subject,
        relation,
        object_kind: if is_name { ObjectKind::Entity } else { ObjectKind::Value },
        object,
        holds: if has_ended { Holds::Ends } else { Holds::Begins },
        line,
        said: quote.to_owned(),
        from,
        until,
    })
}
