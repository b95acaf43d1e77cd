//! The full-text side: a tantivy index under `cache/text` that follows the chunk table.

use std::fs;
use std::path::{Path, PathBuf};

use onyx_storage::{ChunkId, Contents, GroupId, SourceId};
use serde::{Deserialize, Serialize};
use tantivy::collector::TopDocs;
use tantivy::query::{
    BooleanQuery, BoostQuery, ConstScoreQuery, FuzzyTermQuery, Occur, PhraseQuery, Query,
    TermQuery, TermSetQuery,
};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError, Term};

use crate::query::Wanted;
use crate::words::{TONGUES, plain_analyzer, stem_analyzer, terms, tongue_of};
use crate::{KnowledgeError, indexed_text};

/// The least that tantivy takes; it is returned when nothing was written for a while.
const WRITER_BYTES: usize = 15_000_000;
/// Words of one query beyond this change nothing but the time it takes.
const MOST_TERMS: usize = 48;

const WORD_WEIGHT: f32 = 0.5;
const TITLE_WEIGHT: f32 = 0.7;
const STEM_WEIGHT: f32 = 1.0;
const PHRASE_WEIGHT: f32 = 2.0;

/// How far the index has followed. Kept with each commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Followed {
    pub(crate) epoch: u64,
    pub(crate) seq: u64,
    /// Which of `TONGUES` there are texts in, a bit each.
    tongues: u32,
}

pub(crate) struct TextIndex {
    folder: PathBuf,
    index: Index,
    reader: IndexReader,
    writer: Option<IndexWriter>,
    fields: Fields,
    plain: TextAnalyzer,
    stems: Vec<TextAnalyzer>,
    pub(crate) followed: Followed,
}

struct Fields {
    chunk: Field,
    source: Field,
    group: Field,
    words: Field,
    title: Field,
    /// One for each of `TONGUES`; a chunk is in the one of its language.
    stems: Vec<Field>,
}

/// Which chunks a search may see.
pub(crate) enum Allowed<'a> {
    All,
    Only(&'a [GroupId]),
}

impl TextIndex {
    /// The index of this epoch, or an empty one where there is none that can be used: one that
    /// has followed further than `last` is of a table that is gone.
    pub(crate) fn open(folder: &Path, epoch: u64, last: u64) -> Result<Self, KnowledgeError> {
        match Self::open_existing(folder) {
            Ok(found) if found.followed.epoch == epoch && found.followed.seq <= last => Ok(found),
            Ok(_) => Self::create(folder, epoch),
            Err(error) => {
                if folder.exists() {
                    tracing::info!(%error, "the text index is made anew");
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
            .map_err(|error| KnowledgeError::Text(format!("its notes do not read: {error}")))?;
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
        Self::with(folder, index, fields, Followed { epoch, ..Followed::default() })
    }

    fn with(
        folder: &Path,
        index: Index,
        fields: Fields,
        followed: Followed,
    ) -> Result<Self, KnowledgeError> {
        index.tokenizers().register(PLAIN, plain_analyzer());
        for tongue in TONGUES {
            index.tokenizers().register(&stem_name(tongue.code), stem_analyzer(tongue.language));
        }
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(0)
            .try_into()?;
        Ok(Self {
            folder: folder.to_owned(),
            index,
            reader,
            writer: None,
            fields,
            plain: plain_analyzer(),
            stems: TONGUES.iter().map(|tongue| stem_analyzer(tongue.language)).collect(),
            followed,
        })
    }

    /// Somebody may have thrown the cache away.
    pub(crate) fn is_there(&self) -> bool {
        self.folder.join("meta.json").exists()
    }

    /// Takes up what a source holds now; `None`: it is gone. Found after the next commit.
    pub(crate) fn put(
        &mut self,
        source: SourceId,
        contents: Option<&Contents>,
    ) -> Result<(), KnowledgeError> {
        if self.writer.is_none() {
            self.writer = Some(self.index.writer_with_num_threads(1, WRITER_BYTES)?);
        }
        let Some(writer) = &self.writer else { return Ok(()) };
        writer.delete_term(Term::from_field_u64(self.fields.source, source.0));
        let Some(contents) = contents else { return Ok(()) };
        for (id, chunk) in &contents.chunks {
            let text = indexed_text(&contents.title, &chunk.heading, &chunk.text);
            let tongue = tongue_of(&chunk.text);
            self.followed.tongues |= 1 << tongue;
            let mut document = TantivyDocument::new();
            document.add_u64(self.fields.chunk, id.0);
            document.add_u64(self.fields.source, source.0);
            document.add_u64(self.fields.group, u64::from(contents.group.0));
            document.add_text(self.fields.title, format!("{}\n{}", contents.title, chunk.heading));
            document.add_text(self.fields.stems[tongue], &text);
            document.add_text(self.fields.words, text);
            writer.add_document(document)?;
        }
        Ok(())
    }

    pub(crate) fn commit(&mut self, seq: u64) -> Result<(), KnowledgeError> {
        self.followed.seq = seq;
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let notes = serde_json::to_string(&self.followed)
            .map_err(|error| KnowledgeError::Text(error.to_string()))?;
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&notes);
        commit.commit()?;
        Ok(self.reader.reload()?)
    }

    /// Gives back the memory that writing takes.
    pub(crate) fn rest(&mut self) -> Result<(), KnowledgeError> {
        match self.writer.take() {
            Some(writer) => Ok(writer.wait_merging_threads()?),
            None => Ok(()),
        }
    }

    /// The best chunks, best first.
    pub(crate) fn search(
        &mut self,
        wanted: &Wanted,
        allowed: &Allowed<'_>,
        limit: usize,
    ) -> Result<Vec<(ChunkId, f32)>, KnowledgeError> {
        let Some(query) = self.query(wanted) else { return Ok(Vec::new()) };
        let query = self.within(query, allowed);
        let searcher = self.reader.searcher();
        let found = searcher.search(&query, &TopDocs::with_limit(limit).order_by_score())?;
        let mut columns = Vec::new();
        for segment in searcher.segment_readers() {
            columns.push(segment.fast_fields().u64(CHUNK)?);
        }
        let id = |address: tantivy::DocAddress| {
            columns[address.segment_ord as usize].first(address.doc_id).map(ChunkId)
        };
        Ok(found.into_iter().filter_map(|(score, at)| Some((id(at)?, score))).collect())
    }

    fn within(&self, query: BooleanQuery, allowed: &Allowed<'_>) -> Box<dyn Query> {
        match allowed {
            Allowed::All => Box::new(query),
            Allowed::Only(groups) => {
                let term =
                    |group: &GroupId| Term::from_field_u64(self.fields.group, u64::from(group.0));
                let filter = TermSetQuery::new(groups.iter().map(term));
                // It lets through and says nothing about how well.
                let filter = ConstScoreQuery::new(Box::new(filter), 0.0);
                Box::new(BooleanQuery::new(vec![
                    (Occur::Must, Box::new(query) as Box<dyn Query>),
                    (Occur::Must, Box::new(filter)),
                ]))
            }
        }
    }

    /// `None`: there is nothing to look for.
    fn query(&mut self, wanted: &Wanted) -> Option<BooleanQuery> {
        let mut clauses = Vec::new();
        let words = terms(&mut self.plain, &wanted.words);
        for word in words.iter().take(MOST_TERMS) {
            clauses.push((Occur::Should, term_query(self.fields.words, word, WORD_WEIGHT)));
            clauses.push((Occur::Should, term_query(self.fields.title, word, TITLE_WEIGHT)));
        }
        for (place, analyzer) in self.stems.iter_mut().enumerate() {
            if self.followed.tongues & (1 << place) == 0 {
                continue;
            }
            for stem in terms(analyzer, &wanted.words).iter().take(MOST_TERMS) {
                let field = self.fields.stems[place];
                clauses.push((Occur::Should, term_query(field, stem, STEM_WEIGHT)));
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
        (!clauses.is_empty()).then(|| BooleanQuery::new(clauses))
    }

    fn phrase(&mut self, phrase: &str) -> Option<Box<dyn Query>> {
        let mut places = Vec::<(usize, Term)>::new();
        let mut stream = self.plain.token_stream(phrase);
        while stream.advance() {
            let token = stream.token();
            // An identifier stands beside its first part: the parts say the same.
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

fn term_query(field: Field, text: &str, weight: f32) -> Box<dyn Query> {
    let term = Term::from_field_text(field, text);
    let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
    Box::new(BoostQuery::new(Box::new(query), weight))
}

const PLAIN: &str = "plain";
const CHUNK: &str = "chunk";

fn stem_name(code: &str) -> String {
    format!("stems_{code}")
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let text = |analyzer: &str, record| {
        let indexing = TextFieldIndexing::default().set_tokenizer(analyzer);
        TextOptions::default().set_indexing_options(indexing.set_index_option(record))
    };
    let fields = Fields {
        chunk: schema.add_u64_field(CHUNK, FAST),
        source: schema.add_u64_field("source", INDEXED),
        group: schema.add_u64_field("group", INDEXED),
        words: schema
            .add_text_field("words", text(PLAIN, IndexRecordOption::WithFreqsAndPositions)),
        title: schema.add_text_field("title", text(PLAIN, IndexRecordOption::WithFreqs)),
        stems: TONGUES
            .iter()
            .map(|tongue| {
                let name = stem_name(tongue.code);
                schema.add_text_field(&name, text(&name, IndexRecordOption::WithFreqs))
            })
            .collect(),
    };
    (schema.build(), fields)
}

impl From<TantivyError> for KnowledgeError {
    fn from(error: TantivyError) -> Self {
        Self::Text(error.to_string())
    }
}
