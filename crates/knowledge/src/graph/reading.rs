//! One pass in which a model looks for facts in texts that it has not read, until the day's budget
//! is used. A text that fails several times is skipped, and people whose texts cannot be read now
//! wait for a later pass, so that neither delays the others.

use std::collections::BTreeMap;
use std::time::Duration;

use onyx_storage::{
    ChunkFacts, ChunkId, ChunkRow, ChunkStore, EntityName, FactRow, Holds, ObjectKind, StoredChunk,
};
use onyx_types::{Clock, Hash, ModelFailure, ModelFailureClass, PersonId};

use super::fact_reader::{has_facts, said_at};
use super::finder::{FactFinder, FactPassage, FoundFact};
use crate::KnowledgeError;

/// The name of the mark that stores up to which chunk a model has read, and which model.
const READ_THROUGH: &str = "facts read through";
/// The name of the mark that stores how many tokens models have used on a day.
const SPENT: &str = "facts spent";
const CHUNKS_AT_ONCE: u32 = 16;
/// The shortest text that a model reads; shorter ones contain nothing that a model is needed for.
const SHORTEST_READ: usize = 24;
/// After this many failures a text is not tried again.
const MOST_FAILURES: u32 = 3;
/// After this many failures in a row the texts of a person wait for a later pass.
const FAILURES_OF_PERSON: usize = 3;
/// If the texts of this many people in a row fail, the model probably does not answer, so the pass
/// ends.
const SILENT_PEOPLE: usize = 3;
/// How long the texts of a person wait after they could not be read.
const READ_AGAIN: Duration = Duration::from_secs(5 * 60);

/// How far a model has read. It is kept in memory; the mark in the store never passes an unread
/// text.
#[derive(Default)]
pub(super) struct ReadingProgress {
    epoch: u64,
    maker: String,
    /// Every text up to this chunk was read, except those that the fields below name.
    through: ChunkId,
    waiting: BTreeMap<PersonId, WaitingPerson>,
    /// How often texts failed while other texts of the same person were read.
    failing: BTreeMap<ChunkId, u32>,
    noted: ChunkId,
}

#[derive(Clone, Copy)]
struct WaitingPerson {
    /// The first text of the person that was not read.
    from: ChunkId,
    again_at: Duration,
}

impl ReadingProgress {
    /// The last chunk up to which no text is unread.
    fn complete_through(&self) -> ChunkId {
        let waiting = self.waiting.values().map(|waiting| waiting.from);
        let unread = waiting.chain(self.failing.keys().copied()).min();
        unread.map_or(self.through, |first| ChunkId(first.0.saturating_sub(1)).min(self.through))
    }
}

pub(super) struct ReadingPass<'a> {
    pub(super) chunks: &'a dyn ChunkStore,
    pub(super) clock: &'a dyn Clock,
    pub(super) maker: String,
    pub(super) finder: &'a dyn FactFinder,
    pub(super) daily_tokens: u64,
    /// Whether this gateway still has the duty to read.
    pub(super) still_owns: &'a (dyn Fn() -> bool + Send + Sync),
    pub(super) progress: &'a mut ReadingProgress,
    /// No chunk with an id up to this one can still appear.
    pub(super) settled: ChunkId,
    /// The texts that failed since one of the same person was read.
    pub(super) failed: BTreeMap<PersonId, Vec<ChunkId>>,
    pub(super) silent_people: usize,
}

/// Whether the pass continues after a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    Stop,
}

/// The result of reading one text.
enum Outcome {
    /// The text needed no model, or its facts were stored already.
    Read,
    /// The model has just read the text.
    Answered,
    /// The day's budget is used, or another gateway has the duty now.
    Stop,
    Failed(ModelFailure),
}

impl ReadingPass<'_> {
    pub(super) async fn run(mut self) -> Result<(), KnowledgeError> {
        self.resume().await?;
        let flow = self.read_everything().await;
        // People whose last texts failed wait until a later pass.
        for (person, failed) in std::mem::take(&mut self.failed) {
            self.wait(person, failed[0]);
        }
        self.note_progress().await?;
        flow.map(drop)
    }

    async fn read_everything(&mut self) -> Result<Flow, KnowledgeError> {
        if self.read_waiting().await? == Flow::Stop || self.read_new().await? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        self.read_failing().await
    }

    /// Continues where this or another process stopped.
    async fn resume(&mut self) -> Result<(), KnowledgeError> {
        let epoch = self.chunks.epoch().await?;
        if (self.progress.epoch, &self.progress.maker) != (epoch, &self.maker) {
            let maker = self.maker.clone();
            *self.progress = ReadingProgress { epoch, maker, ..ReadingProgress::default() };
        }
        let marks = self.chunks.marks(READ_THROUGH).await?;
        let noted = marks.first().and_then(|(_, mark)| mark.split_once(' '));
        let noted = noted.filter(|(_, of)| *of == self.maker).and_then(|(id, _)| id.parse().ok());
        self.progress.noted = noted.map_or_else(ChunkId::default, ChunkId);
        self.progress.through = self.progress.through.max(self.progress.noted);
        Ok(())
    }

    async fn note_progress(&mut self) -> Result<(), KnowledgeError> {
        let through = self.progress.complete_through();
        if through == self.progress.noted {
            return Ok(());
        }
        let mark = format!("{} {}", through.0, self.maker);
        self.chunks.set_mark(READ_THROUGH, &mark).await?;
        self.progress.noted = through;
        Ok(())
    }

    /// Reads the texts of people who have waited long enough.
    async fn read_waiting(&mut self) -> Result<Flow, KnowledgeError> {
        let now = self.clock.now().mono;
        let due = self.progress.waiting.iter().filter(|(_, waiting)| waiting.again_at <= now);
        let due: Vec<_> = due.map(|(person, waiting)| (person.clone(), waiting.from)).collect();
        for (person, from) in due {
            if self.read_of(&person, from).await? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    async fn read_of(&mut self, person: &PersonId, from: ChunkId) -> Result<Flow, KnowledgeError> {
        let mut after = ChunkId(from.0.saturating_sub(1));
        let through = self.progress.through;
        loop {
            let next = self.chunks.chunks_after(after, CHUNKS_AT_ONCE).await?;
            let is_last = next.last().is_none_or(|last| last.id >= through);
            for chunk in next.into_iter().filter(|chunk| chunk.id <= through) {
                after = chunk.id;
                if chunk.source.key.person.as_ref() != Some(person) {
                    continue;
                }
                let waits_until =
                    |progress: &ReadingProgress| progress.waiting.get(person).map(|w| w.again_at);
                let before = waits_until(self.progress);
                if self.read(person, &chunk).await? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                if waits_until(self.progress) != before {
                    return Ok(Flow::Continue);
                }
                let first_failed = self.failed.get(person).and_then(|failed| failed.first());
                let from = first_failed.copied().unwrap_or(ChunkId(chunk.id.0 + 1));
                if let Some(waiting) = self.progress.waiting.get_mut(person) {
                    waiting.from = from;
                }
            }
            if is_last {
                self.progress.waiting.remove(person);
                return Ok(Flow::Continue);
            }
        }
    }

    /// Texts that may still get an unread one before them are looked at again in the next pass; what
    /// was found in them is known then.
    async fn read_new(&mut self) -> Result<Flow, KnowledgeError> {
        let mut after = self.progress.through;
        loop {
            let next = self.chunks.chunks_after(after, CHUNKS_AT_ONCE).await?;
            if next.is_empty() {
                return Ok(Flow::Continue);
            }
            for chunk in next {
                if let Some(person) = chunk.source.key.person.clone()
                    && !self.progress.waiting.contains_key(&person)
                    && self.read(&person, &chunk).await? == Flow::Stop
                {
                    return Ok(Flow::Stop);
                }
                after = chunk.id;
                self.progress.through = self.progress.through.max(after.min(self.settled));
                if self.failed.is_empty() {
                    self.note_progress().await?;
                }
            }
        }
    }

    /// Reads the texts that failed before, once in each pass.
    async fn read_failing(&mut self) -> Result<Flow, KnowledgeError> {
        let failing: Vec<ChunkId> = self.progress.failing.keys().copied().collect();
        for chunk in self.chunks.stored(&failing).await? {
            let Some(person) = chunk.source.key.person.clone() else { continue };
            if self.progress.waiting.contains_key(&person) {
                continue;
            }
            match self.read_one(&person, &chunk).await? {
                Outcome::Read | Outcome::Answered => {
                    self.progress.failing.remove(&chunk.id);
                }
                Outcome::Stop => return Ok(Flow::Stop),
                Outcome::Failed(failure) if concerns_person(&failure.class) => {
                    self.wait(person, chunk.id);
                }
                Outcome::Failed(_) => self.count_failure(chunk.id),
            }
        }
        // Texts that were deleted are no longer tried.
        let stored: Vec<ChunkId> =
            self.chunks.stored(&failing).await?.iter().map(|chunk| chunk.id).collect();
        self.progress.failing.retain(|id, _| stored.contains(id));
        Ok(Flow::Continue)
    }

    /// Reads one text. If that fails, the text is tried again later or its person waits.
    async fn read(
        &mut self,
        person: &PersonId,
        chunk: &StoredChunk,
    ) -> Result<Flow, KnowledgeError> {
        match self.read_one(person, chunk).await? {
            Outcome::Read => {}
            Outcome::Answered => {
                self.silent_people = 0;
                // The model reads other texts of this person, so the failures are caused by these
                // texts themselves.
                for failed in self.failed.remove(person).unwrap_or_default() {
                    self.count_failure(failed);
                }
            }
            Outcome::Stop => return Ok(Flow::Stop),
            Outcome::Failed(failure) => return Ok(self.note_failure(person, chunk.id, &failure)),
        }
        Ok(Flow::Continue)
    }

    fn note_failure(&mut self, person: &PersonId, chunk: ChunkId, failure: &ModelFailure) -> Flow {
        tracing::warn!(
            maker = self.maker,
            reason = failure.message,
            "facts could not be read from a text; trying again later"
        );
        let failed = self.failed.entry(person.clone()).or_default();
        failed.push(chunk);
        let (first, count) = (failed[0], failed.len());
        if concerns_person(&failure.class) {
            self.failed.remove(person);
            self.wait(person.clone(), first);
        } else if count >= FAILURES_OF_PERSON {
            self.failed.remove(person);
            self.wait(person.clone(), first);
            self.silent_people += 1;
        }
        if self.silent_people >= SILENT_PEOPLE { Flow::Stop } else { Flow::Continue }
    }

    fn wait(&mut self, person: PersonId, from: ChunkId) {
        let again_at = self.clock.now().mono + READ_AGAIN;
        let waiting = self.progress.waiting.entry(person);
        let waiting = waiting.or_insert(WaitingPerson { from, again_at });
        *waiting = WaitingPerson { from: from.min(waiting.from), again_at };
    }

    fn count_failure(&mut self, chunk: ChunkId) {
        let failures = self.progress.failing.entry(chunk).or_default();
        *failures += 1;
        if *failures >= MOST_FAILURES {
            self.progress.failing.remove(&chunk);
            tracing::warn!(maker = self.maker, chunk = chunk.0, "a text is not read for facts");
        }
    }

    async fn read_one(
        &self,
        person: &PersonId,
        chunk: &StoredChunk,
    ) -> Result<Outcome, KnowledgeError> {
        if !has_facts(chunk.source.kind) || chunk.row.text.len() < SHORTEST_READ {
            return Ok(Outcome::Read);
        }
        // Facts are stored by the content of the text, so a renamed file is not read again.
        let text = Hash::of(chunk.row.text.as_bytes());
        if let Some(known) = self.chunks.reading(text, &self.maker).await? {
            self.keep(chunk.id, known).await?;
            return Ok(Outcome::Read);
        }
        let today = self.clock.wall().utc_date();
        if self.spent_on(&today).await? >= self.daily_tokens || !(self.still_owns)() {
            return Ok(Outcome::Stop);
        }
        let found = match self.finder.find(passage(person, chunk)).await {
            Ok(found) => found,
            Err(failure) => return Ok(Outcome::Failed(failure)),
        };
        self.chunks.add_to_mark(SPENT, &today, found.tokens).await?;
        let facts = found.facts.into_iter();
        let facts: Vec<_> = facts.filter_map(|fact| believed(fact, &chunk.row)).collect();
        self.chunks.keep_reading(text, &self.maker, &facts).await?;
        self.keep(chunk.id, facts).await?;
        Ok(Outcome::Answered)
    }

    async fn keep(&self, chunk: ChunkId, facts: Vec<FactRow>) -> Result<(), KnowledgeError> {
        if !facts.is_empty() {
            let found = ChunkFacts { chunk, maker: self.maker.clone(), facts };
            self.chunks.keep_facts(vec![found]).await?;
        }
        Ok(())
    }

    async fn spent_on(&self, day: &str) -> Result<u64, KnowledgeError> {
        let marks = self.chunks.marks(SPENT).await?;
        let noted = marks.first().and_then(|(_, mark)| mark.split_once(' '));
        let spent = noted.filter(|(of, _)| *of == day).and_then(|(_, spent)| spent.parse().ok());
        Ok(spent.unwrap_or(0))
    }
}

fn passage(person: &PersonId, chunk: &StoredChunk) -> FactPassage {
    let message = chunk.row.message.as_ref();
    FactPassage {
        text: chunk.row.text.clone(),
        title: if message.is_some() { String::new() } else { chunk.source.title.clone() },
        author: message.map(|message| message.author.clone()),
        at: said_at(chunk),
        person: person.clone(),
    }
}

/// Whether every other text of the person would fail for the same reason.
fn concerns_person(class: &ModelFailureClass) -> bool {
    match class {
        ModelFailureClass::Budget | ModelFailureClass::Auth | ModelFailureClass::SignIn { .. } => {
            true
        }
        ModelFailureClass::RateLimited { .. }
        | ModelFailureClass::Overloaded { .. }
        | ModelFailureClass::ContextLength
        | ModelFailureClass::InvalidRequest
        | ModelFailureClass::Unsupported { .. }
        | ModelFailureClass::ContentFilter
        | ModelFailureClass::Truncated
        | ModelFailureClass::Transport
        | ModelFailureClass::Timeout
        | ModelFailureClass::Cancelled
        | ModelFailureClass::Unavailable
        | ModelFailureClass::Paused { .. } => false,
    }
}

/// The fact, if its quote occurs verbatim in the text.
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
