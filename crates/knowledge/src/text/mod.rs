//! The full-text part of searches: a tantivy index in `cache/text` that follows the chunk table. It
//! also contains what a search by words needs: parsing queries, cutting and stemming words, and
//! marking what was found. It never decides what a search may see.

mod best;
mod committed;
mod composed;
pub(crate) mod query;
pub(crate) mod snippet;
mod stop_words;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use onyx_storage::{ChunkId, ChunkRow, Contents, SourceId};
use onyx_types::Zone;
use serde::{Deserialize, Serialize};
use tantivy::merge_policy::LogMergePolicy;
use tantivy::query::{
    BooleanQuery, BoostQuery, EnableScoring, FuzzyTermQuery, Occur, PhraseQuery, Query, TermQuery,
};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{
    Index, IndexReader, IndexWriter, ReloadPolicy, SegmentReader, TantivyDocument, TantivyError,
    Term,
};

use crate::KnowledgeError;
use crate::chunk::searched_text;
use crate::visible::VisibleGroups;
use best::TopScores;
use committed::CommittedIndex;
use query::{RequiredWords, TextQuery};
use stop_words::StopWords;
use words::{
    LANGUAGES, LanguageDetector, WordForms, forms, forms_analyzer, in_language, plain_analyzer,
    stem_analyzer, terms,
};

/// The smallest budget that tantivy accepts. Its memory is released when nothing was written for a
/// while.
const WRITER_BYTES: usize = 15_000_000;
/// How many segments of one size are merged, because every search looks into each segment.
const PARTS_MERGED: usize = 4;
/// The most words of a query. More make it slower and no better.
const MOST_TERMS: usize = 48;
/// A word that occurs in more than one in this many texts says little about any of them.
const COMMON: u64 = 8;
/// A common word is not looked for if the query has this many rarer ones, and if there are more
/// than `FEW_TEXTS` texts.
const RARER: usize = 3;
const FEW_TEXTS: u64 = 2_000;

const WORD_WEIGHT: f32 = 0.5;
const TITLE_WEIGHT: f32 = 0.7;
const STEM_WEIGHT: f32 = 1.0;
const PHRASE_WEIGHT: f32 = 2.0;

/// How many changes may be followed without a note in the index if none of them concerns a text, as
/// when vectors are made. The next start follows them again.
const MOST_UNNOTED: u64 = 2_000;

/// How far the index has followed the chunk table. It is stored with each commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FollowPosition {
    pub(crate) epoch: u64,
    pub(crate) seq: u64,
}

pub(crate) struct TextIndex {
    folder: PathBuf,
    index: Index,
    reader: IndexReader,
    /// The last committed state.
    now: CommittedIndex,
    writer: Option<IndexWriter>,
    fields: Fields,
    plain: TextAnalyzer,
    stems: Vec<TextAnalyzer>,
    detector: LanguageDetector,
    stop_words: StopWords,
    /// The number of chunks that were added since the last commit.
    pub(crate) uncommitted: usize,
    pub(crate) followed: FollowPosition,
    /// The change that the last commit noted.
    noted: u64,
}

struct Fields {
    chunk: Field,
    source: Field,
    group: Field,
    /// Each word and its stem, so that one list contains all forms of a word.
    forms: Field,
    /// The words as they are written, with their positions, for phrases and prefixes.
    words: Field,
    title: Field,
    /// The index in `LANGUAGES` of the text's language.
    language: Field,
}

impl TextIndex {
    /// Opens the index of this epoch, or creates an empty one if there is none that can be used. An
    /// index that has followed further than `last` belongs to a table that was lost.
    pub(crate) fn open(folder: &Path, epoch: u64, last: u64) -> Result<Self, KnowledgeError> {
        match Self::open_existing(folder) {
            Ok(found) if found.followed.epoch == epoch && found.followed.seq <= last => Ok(found),
            Ok(_) => Self::create(folder, epoch),
            Err(error) => {
                if folder.exists() {
                    tracing::info!(%error, "the text index is rebuilt");
                }
                Self::create(folder, epoch)
            }
        }
    }

    fn open_existing(folder: &Path) -> Result<Self, KnowledgeError> {
        let index = Index::open_in_dir(folder)?;
        let (schema, fields) = schema();
        if index.schema() != schema {
            return Err(KnowledgeError::Text("it has the fields of another version".to_owned()));
        }
        let payload = index.load_metas()?.payload.unwrap_or_default();
        let followed = serde_json::from_str(&payload)
            .map_err(|error| KnowledgeError::Text(format!("its notes cannot be read: {error}")))?;
        Self::with(folder, index, fields, followed)
    }

    fn create(folder: &Path, epoch: u64) -> Result<Self, KnowledgeError> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        fs::create_dir_all(folder)?;
        let (schema, fields) = schema();
        let index = Index::create_in_dir(folder, schema)?;
        Self::with(folder, index, fields, FollowPosition { epoch, ..FollowPosition::default() })
    }

    fn with(
        folder: &Path,
        index: Index,
        fields: Fields,
        followed: FollowPosition,
    ) -> Result<Self, KnowledgeError> {
        index.tokenizers().register(PLAIN, plain_analyzer());
        index.tokenizers().register(FORMS, forms_analyzer());
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(0)
            .try_into()?;
        let now = CommittedIndex::of(&reader, &fields)?;
        Ok(Self {
            folder: folder.to_owned(),
            index,
            reader,
            now,
            writer: None,
            fields,
            plain: plain_analyzer(),
            stems: LANGUAGES.iter().map(|language| stem_analyzer(language.language)).collect(),
            detector: LanguageDetector::new(),
            stop_words: StopWords::new(),
            uncommitted: 0,
            followed,
            noted: followed.seq,
        })
    }

    /// Whether the folder still exists. Somebody may have deleted the cache.
    pub(crate) fn is_there(&self) -> bool {
        self.folder.join("meta.json").exists()
    }

    /// Stores the present contents of a source, or removes it if that is `None`. It can be found
    /// after the next commit. Messages can also be found by their day in this time zone.
    pub(crate) fn put(
        &mut self,
        source: SourceId,
        contents: Option<&Contents>,
        zone: &Zone,
    ) -> Result<(), KnowledgeError> {
        let writer = opened(&mut self.writer, &self.index)?;
        writer.delete_term(Term::from_field_u64(self.fields.source, source.0));
        let Some(contents) = contents else { return Ok(()) };
        for (id, chunk) in &contents.chunks {
            let text = searched_text(&contents.title, chunk, zone);
            let language = self.detector.of(&chunk.text);
            let mut document = TantivyDocument::new();
            document.add_u64(self.fields.chunk, id.0);
            document.add_u64(self.fields.source, source.0);
            document.add_u64(self.fields.group, u64::from(contents.group.0));
            document.add_text(self.fields.title, title_of(&contents.title, chunk));
            document.add_u64(self.fields.language, language as u64);
            // The text is passed and not its tokens, because tantivy would write and read tokens as
            // JSON.
            document.add_text(self.fields.forms, in_language(language, &text));
            document.add_text(self.fields.words, text);
            writer.add_document(document)?;
        }
        self.uncommitted += contents.chunks.len();
        Ok(())
    }

    /// Makes what was put findable, and notes the change up to which the index has followed.
    pub(crate) fn commit(&mut self, seq: u64) -> Result<(), KnowledgeError> {
        self.followed.seq = seq;
        if self.writer.is_none() && seq < self.noted + MOST_UNNOTED {
            return Ok(());
        }
        let writer = opened(&mut self.writer, &self.index)?;
        let notes = serde_json::to_string(&self.followed)
            .map_err(|error| KnowledgeError::Text(error.to_string()))?;
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&notes);
        commit.commit()?;
        self.noted = seq;
        self.uncommitted = 0;
        self.reader.reload()?;
        self.now = CommittedIndex::of(&self.reader, &self.fields)?;
        Ok(())
    }

    /// Releases the memory that writing needs.
    pub(crate) fn rest(&mut self) -> Result<(), KnowledgeError> {
        match self.writer.take() {
            Some(writer) => Ok(writer.wait_merging_threads()?),
            None => Ok(()),
        }
    }

    /// The best chunks with their scores, best first.
    pub(crate) fn search(
        &mut self,
        wanted: &TextQuery,
        seen: &VisibleGroups,
        limit: usize,
    ) -> Result<Vec<(ChunkId, f32)>, KnowledgeError> {
        let Some(query) = self.query(wanted)? else { return Ok(Vec::new()) };
        let searcher = &self.now.searcher;
        let scoring = EnableScoring::enabled_from_statistics_provider(&self.now, searcher);
        let weight = query.weight(scoring)?;
        let mut parts: Vec<_> = searcher.segment_readers().iter().zip(&self.now.columns).collect();
        // The largest segments come first, because what they yield lets more of the others be
        // skipped.
        parts.sort_by_key(|(part, _)| std::cmp::Reverse(part.num_docs()));
        let mut best = TopScores::new(limit);
        for (part, columns) in parts {
            // What may not be seen is left out here and not by the query. Tantivy can skip
            // documents that cannot be among the best only for a query of nothing but words.
            weight.for_each_pruning(best.bar(), part, &mut |document, score| {
                if is_there(part, document) && columns.is_seen(document, seen) {
                    best.add(score, columns.chunk.first(document).map(ChunkId));
                }
                best.bar()
            })?;
        }
        Ok(best.into_sorted())
    }

    /// How rare a word is in this form; 0 if it is in every text.
    pub(crate) fn rarity(&self, word: &str) -> f32 {
        let texts = self.now.searcher.num_docs() as f32;
        // If the count cannot be read, the word counts as one that occurs nowhere.
        let with = self.now.texts_with(Term::from_field_text(self.fields.forms, word)).unwrap_or(0);
        let with = (with as f32).min(texts);
        (1.0 + (texts - with + 0.5) / (with + 0.5)).ln()
    }

    /// Builds the query; `None` if there is nothing to look for.
    fn query(&mut self, wanted: &TextQuery) -> Result<Option<BooleanQuery>, KnowledgeError> {
        let mut clauses = Vec::new();
        let language = self.detector.of(&wanted.words);
        let asked = self.stop_words.without(language, &wanted.words);
        match wanted.needed {
            RequiredWords::All => {
                let words = self.each_word(&asked, language);
                clauses.extend(words.into_iter().map(|query| (Occur::Must, query)));
            }
            RequiredWords::Any => {
                let words = self.any_word(&asked, language)?;
                clauses.extend(words.into_iter().map(|query| (Occur::Should, query)));
            }
        }
        for beginning in &wanted.beginnings {
            for word in terms(&mut self.plain, beginning) {
                let term = Term::from_field_text(self.fields.words, &word);
                let query = FuzzyTermQuery::new_prefix(term, 0, true);
                clauses.push((Occur::Must, Box::new(query)));
            }
        }
        for phrase in &wanted.phrases {
            clauses.extend(self.phrase(phrase).map(|query| (Occur::Must, query)));
        }
        Ok((!clauses.is_empty()).then(|| BooleanQuery::new(clauses)))
    }

    /// One query for every form of a word, in the text and in the title.
    fn any_word(
        &mut self,
        asked: &str,
        language: usize,
    ) -> Result<Vec<Box<dyn Query>>, KnowledgeError> {
        let mut queries = Vec::new();
        for (text, weight) in self.sought(asked, language)? {
            queries.push(term_query(self.fields.forms, &text, weight));
        }
        for word in terms(&mut self.plain, asked).iter().take(MOST_TERMS) {
            let term = Term::from_field_text(self.fields.title, word);
            if self.now.texts_with(term)? > 0 {
                queries.push(term_query(self.fields.title, word, TITLE_WEIGHT));
            }
        }
        Ok(queries)
    }

    /// One query for each word, which the text may contain in any form.
    fn each_word(&mut self, asked: &str, language: usize) -> Vec<Box<dyn Query>> {
        let words = self.forms_of(asked, language).into_iter().take(MOST_TERMS);
        let in_any_form = words.map(|word| {
            let mut forms = word.stems;
            forms.push(word.word);
            forms.sort_unstable();
            forms.dedup();
            let forms = forms.iter().map(|form| term_query(self.fields.forms, form, 1.0));
            Box::new(BooleanQuery::union(forms.collect())) as Box<dyn Query>
        });
        in_any_form.collect()
    }

    /// The words of a question, with their stems in its own language and in the languages of the
    /// texts.
    fn forms_of(&mut self, words: &str, language: usize) -> Vec<WordForms> {
        let languages = &self.now.languages;
        let stems = self.stems.iter_mut().enumerate();
        let known = stems.filter(|(place, _)| *place == language || languages.contains(place));
        forms(&mut self.plain, known.map(|(_, analyzer)| analyzer), words)
    }

    /// The forms of the words to look for, with their weights.
    fn sought(
        &mut self,
        words: &str,
        language: usize,
    ) -> Result<BTreeMap<String, f32>, KnowledgeError> {
        let mut words = self.forms_of(words, language);
        words.truncate(MOST_TERMS);
        let texts = self.now.searcher.num_docs();
        let mut found = Vec::new();
        for mut word in words {
            let texts_with =
                |form: &str| self.now.texts_with(Term::from_field_text(self.fields.forms, form));
            let as_it_stands = texts_with(&word.word)?;
            let mut most = as_it_stands;
            for stem in &mut word.stems {
                let in_any_form = texts_with(stem)?;
                most = most.max(in_any_form);
                if in_any_form == as_it_stands {
                    // The word has no other form in the texts, so one list is enough.
                    stem.clone_from(&word.word);
                }
            }
            if most > 0 {
                found.push((word, most));
            }
        }
        let is_rare = |texts_with: u64| texts_with * COMMON <= texts;
        let rare = found.iter().filter(|(_, texts_with)| is_rare(*texts_with)).count();
        if rare >= RARER && texts > FEW_TEXTS {
            found.retain(|(_, texts_with)| is_rare(*texts_with));
        }
        let mut sought = BTreeMap::new();
        for (word, _) in &found {
            *sought.entry(word.word.clone()).or_insert(0.0) += WORD_WEIGHT;
        }
        let mut stems: Vec<&String> = found.iter().flat_map(|(word, _)| &word.stems).collect();
        stems.sort_unstable();
        stems.dedup();
        for stem in stems {
            *sought.entry(stem.clone()).or_insert(0.0) += STEM_WEIGHT;
        }
        Ok(sought)
    }

    fn phrase(&mut self, phrase: &str) -> Option<Box<dyn Query>> {
        let mut places = Vec::<(usize, Term)>::new();
        let mut stream = self.plain.token_stream(phrase);
        while stream.advance() {
            let token = stream.token();
            // An identifier has the position of its first part, and its parts are looked for
            // instead.
            if places.last().is_none_or(|(place, _)| *place != token.position) {
                let term = Term::from_field_text(self.fields.words, &token.text);
                places.push((token.position, term));
            }
        }
        let query: Box<dyn Query> = match places.len() {
            0 => return None,
            1 => {
                let (_, term) = places.pop()?;
                Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
            }
            _ => Box::new(PhraseQuery::new_with_offset(places)),
        };
        Some(Box::new(BoostQuery::new(query, PHRASE_WEIGHT)))
    }
}

/// The writer of the index, which is opened for the first change.
fn opened<'a>(
    writer: &'a mut Option<IndexWriter>,
    index: &Index,
) -> Result<&'a mut IndexWriter, KnowledgeError> {
    let open = match writer.take() {
        Some(open) => open,
        None => {
            let open = index.writer_with_num_threads(1, WRITER_BYTES)?;
            let mut merging = LogMergePolicy::default();
            merging.set_min_num_segments(PARTS_MERGED);
            open.set_merge_policy(Box::new(merging));
            open
        }
    };
    Ok(writer.insert(open))
}

fn is_there(part: &SegmentReader, document: u32) -> bool {
    part.alive_bitset().is_none_or(|alive| alive.is_alive(document))
}

/// The title by which a chunk can be found, also in a note that is a transcript. A message of a
/// session has none, because the title of a session says nothing about a single message.
fn title_of(title: &str, chunk: &ChunkRow) -> String {
    let is_in_session = chunk.message.as_ref().is_some_and(|message| message.turn.is_some());
    if is_in_session { String::new() } else { format!("{title}\n{}", chunk.heading) }
}

fn term_query(field: Field, text: &str, weight: f32) -> Box<dyn Query> {
    let term = Term::from_field_text(field, text);
    let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
    Box::new(BoostQuery::new(Box::new(query), weight))
}

/// The names of the ways in which texts are cut into words, with a version. An index of another
/// version is rebuilt.
const PLAIN: &str = "plain 3";
const FORMS: &str = "forms 4";
const CHUNK: &str = "chunk";
const GROUP: &str = "group";

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let text = |tokenizer, record| {
        let indexing = TextFieldIndexing::default().set_tokenizer(tokenizer);
        TextOptions::default().set_indexing_options(indexing.set_index_option(record))
    };
    let fields = Fields {
        chunk: schema.add_u64_field(CHUNK, FAST),
        source: schema.add_u64_field("source", INDEXED),
        group: schema.add_u64_field(GROUP, FAST),
        forms: schema.add_text_field("forms", text(FORMS, IndexRecordOption::WithFreqs)),
        words: schema
            .add_text_field("words", text(PLAIN, IndexRecordOption::WithFreqsAndPositions)),
        title: schema.add_text_field("title", text(PLAIN, IndexRecordOption::WithFreqs)),
        language: schema.add_u64_field("language", INDEXED),
    };
    (schema.build(), fields)
}

impl From<TantivyError> for KnowledgeError {
    fn from(error: TantivyError) -> Self {
        Self::Text(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use onyx_storage::GroupId;
    use onyx_types::{Hash, Origin};

    use super::*;

    fn index(texts: impl IntoIterator<Item = (u32, String)>) -> (tempfile::TempDir, TextIndex) {
        let folder = tempfile::tempdir().unwrap();
        let mut index = TextIndex::open(&folder.path().join("text"), 1, 1).unwrap();
        for (id, (group, text)) in (0..).zip(texts) {
            let chunk = ChunkRow {
                start_line: 1,
                end_line: 1,
                heading: String::new(),
                origin: Origin::Person,
                text,
                hash: Hash::ZERO,
                message: None,
            };
            let chunks = vec![(ChunkId(id), chunk)];
            let contents = Contents { group: GroupId(group), title: String::new(), chunks };
            index.put(SourceId(id), Some(&contents), &Zone::utc()).unwrap();
        }
        index.commit(1).unwrap();
        (folder, index)
    }

    fn found(index: &mut TextIndex, text: &str, groups: &[u32], limit: usize) -> Vec<u64> {
        let seen = groups.iter().copied().map(GroupId).collect();
        let found = index.search(&TextQuery::read(text), &seen, limit).unwrap();
        found.into_iter().map(|(chunk, _)| chunk.0).collect()
    }

    #[test]
    fn what_may_not_be_seen_takes_no_place_from_what_may() {
        let hidden = (0..50).map(|_| (1, "plum plum plum".to_owned()));
        let (_folder, mut index) =
            index(hidden.chain([(2, "a plum among many other words".to_owned())]));
        assert_eq!(found(&mut index, "plum", &[2], 3), [50]);
        assert_eq!(found(&mut index, "plum", &[1, 2], 3), [0, 1, 2]);
        assert_eq!(found(&mut index, "plum", &[], 3), [0; 0]);
    }

    #[test]
    fn all_forms_are_one_word_but_a_phrase_is_taken_to_the_letter() {
        let texts = ["red planted things", "a red plant", "the red planting is the end of it"];
        let (_folder, mut index) = index(texts.map(|text| (0, text.to_owned())));
        let mut forms = found(&mut index, "plants", &[0], 9);
        forms.sort_unstable();
        assert_eq!(forms, [0, 1, 2]);
        assert_eq!(found(&mut index, "planting", &[0], 9)[0], 2);
        assert_eq!(found(&mut index, "\"red plant\"", &[0], 9), [1]);
        assert_eq!(found(&mut index, "plante*", &[0], 9), [0]);
    }

    #[test]
    fn words_of_every_other_text_are_looked_for_only_where_few_others_are() {
        let filler = |n: u64| (0, format!("common word{n}"));
        let rare = (0, "zebra quagga okapi".to_owned());
        let (_folder, mut index) = index((0..FEW_TEXTS).map(filler).chain([rare]));
        let all = usize::try_from(FEW_TEXTS).unwrap() + 1;
        assert_eq!(found(&mut index, "common zebra", &[0], all).len(), all);
        let last = FEW_TEXTS;
        assert_eq!(found(&mut index, "common zebra quagga okapi", &[0], all), [last]);
        assert_eq!(found(&mut index, "common", &[0], all).len(), all - 1);
    }

    /// Otherwise every start would follow again all the changes by which vectors were made.
    #[test]
    fn many_changes_that_concern_no_text_are_noted_and_few_are_not() {
        let (folder, index) = index([(0, "a plum".to_owned())]);
        drop(index);
        let again = || TextIndex::open(&folder.path().join("text"), 1, u64::MAX).unwrap();
        for (followed, noted) in [(2_000, 1), (2_001, 2_001), (4_000, 2_001), (4_001, 4_001)] {
            again().commit(followed).unwrap();
            assert_eq!(again().followed.seq, noted, "after {followed}");
        }
        assert_eq!(found(&mut again(), "plum", &[0], 3), [0]);
    }
}
