//! The last committed state of the index, and counts that are remembered until the next commit.

use std::sync::{Mutex, MutexGuard, PoisonError};

use onyx_storage::GroupId;
use rustc_hash::FxHashMap;
use tantivy::fastfield::Column;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{IndexReader, Searcher, SegmentReader, TantivyError, Term};

use super::words::LANGUAGES;
use super::{CHUNK, Fields, GROUP};
use crate::KnowledgeError;
use crate::visible::VisibleGroups;

/// One in this many texts must be in a language before the words of every question are stemmed in
/// it, because the language of a few texts is often detected wrongly.
const LANGUAGE_SHARE: u64 = 50;
/// The most counts that are remembered.
const MOST_COUNTS: usize = 4_096;

/// The committed state that searches read.
pub(super) struct CommittedIndex {
    pub(super) searcher: Searcher,
    /// The columns that say which chunk each document is, for each segment of the searcher.
    pub(super) columns: Vec<Columns>,
    /// The indexes in `LANGUAGES` of the languages of the texts.
    pub(super) languages: Vec<usize>,
    counts: Mutex<Counts>,
}

pub(super) struct Columns {
    pub(super) chunk: Column<u64>,
    group: Column<u64>,
}

/// Counts that a search asks for several times: to choose the words to look for, to weigh each of
/// them, and to weigh the tokens of its question.
#[derive(Default)]
struct Counts {
    texts_with: FxHashMap<Term, u64>,
    tokens: FxHashMap<Field, u64>,
}

impl CommittedIndex {
    pub(super) fn of(reader: &IndexReader, fields: &Fields) -> Result<Self, KnowledgeError> {
        let searcher = reader.searcher();
        let columns = |part: &SegmentReader| {
            let fields = part.fast_fields();
            Ok(Columns { chunk: fields.u64(CHUNK)?, group: fields.u64(GROUP)? })
        };
        let columns = searcher.segment_readers().iter().map(columns);
        let columns = columns.collect::<Result<_, TantivyError>>()?;
        let mut languages = Vec::new();
        for language in 0..LANGUAGES.len() {
            let term = Term::from_field_u64(fields.language, language as u64);
            if searcher.doc_freq(&term)? * LANGUAGE_SHARE > searcher.num_docs() {
                languages.push(language);
            }
        }
        Ok(Self { searcher, columns, languages, counts: Mutex::default() })
    }

    /// The number of texts that contain a term.
    pub(super) fn texts_with(&self, term: Term) -> tantivy::Result<u64> {
        if let Some(count) = self.counts().texts_with.get(&term) {
            return Ok(*count);
        }
        let count = self.searcher.doc_freq(&term)?;
        let mut counts = self.counts();
        if counts.texts_with.len() >= MOST_COUNTS {
            counts.texts_with.clear();
        }
        counts.texts_with.insert(term, count);
        Ok(count)
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bm25StatisticsProvider for CommittedIndex {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        if let Some(count) = self.counts().tokens.get(&field) {
            return Ok(*count);
        }
        let count = self.searcher.total_num_tokens(field)?;
        self.counts().tokens.insert(field, count);
        Ok(count)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.searcher.total_num_docs()
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        self.texts_with(term.clone())
    }
}

impl Columns {
    pub(super) fn is_seen(&self, document: u32, seen: &VisibleGroups) -> bool {
        let group = self.group.first(document).and_then(|group| u32::try_from(group).ok());
        group.is_some_and(|group| seen.allows(GroupId(group)))
    }
}
