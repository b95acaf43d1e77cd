//! One index over all of a person's files: cut into chunks, kept in step, searched by words and by
//! meaning.
//!
//! Everything here is derived from files and may be deleted at any time: the chunk table
//! (`cache/index.db`, behind [`onyx_storage::ChunkStore`]), and two followers of it, the text index
//! (`cache/text`) and the vector codes (in memory). What a search may see comes from a
//! [`onyx_types::ScopeSet`] and is decided inside the search, never after it.
//!
//! What may not enter: a model other than through [`onyx_types::Embedder`], a network, prompts,
//! tools, surfaces; any change to a person's files.

mod chunk;
mod error;
mod files;
mod follow;
mod graph;
mod index;
mod search;
mod sessions;
mod settings;
mod status;
mod text;
mod vectors;
mod visible;

pub use chunk::{Chunking, Document, Piece, Ruler};
pub use error::KnowledgeError;
pub use files::sync::SyncReport;
pub use graph::{EntityPage, Fact, FactFinder, FactPassage, FoundFact, FoundFacts};
pub use index::{Index, IndexSettings, Touched};
pub use search::{Hit, Retrieval, Retrieved, Search, SearchResults, SearchSettings, Weights};
pub use settings::{GraphSettings, MemorySettings, WeightSettings};
pub use status::{Embedding, IndexStatus, IndexWork, Problem, Progress, Watching};
pub use text::snippet::SnippetPart;

/// What is embedded for a chunk: a note stands alone, so it says where it is from. A message is its
/// own words: what its conversation is called says nothing of it.
pub(crate) fn embedded_text(title: &str, row: &onyx_storage::ChunkRow) -> String {
    match row.message {
        Some(_) => row.text.clone(),
        None => indexed_text(title, &row.heading, &row.text),
    }
}

/// What is looked up for a chunk by its words. A message is found by its date too.
pub(crate) fn searched_text(title: &str, row: &onyx_storage::ChunkRow) -> String {
    let date = row.message.as_ref().and_then(|message| message.at).and_then(spoken_date);
    match (&row.message, date) {
        (Some(_), Some(date)) => format!("{}\n{date}", row.text),
        (Some(_), None) => row.text.clone(),
        (None, _) => indexed_text(title, &row.heading, &row.text),
    }
}

/// As people write it: `8 May 2023`.
fn spoken_date(at: onyx_types::Timestamp) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).ok()?;
    Some(at.to_zoned(jiff::tz::TimeZone::system()).strftime("%-d %B %Y").to_string())
}

pub(crate) fn indexed_text(title: &str, heading: &str, text: &str) -> String {
    let mut indexed = String::with_capacity(title.len() + heading.len() + text.len() + 2);
    indexed.push_str(title);
    if !heading.is_empty() && heading != title {
        indexed.push('\n');
        indexed.push_str(heading);
    }
    indexed.push('\n');
    indexed.push_str(text);
    indexed
}
