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

mod best;
mod chunk;
mod composed;
mod embedding;
mod error;
mod filing;
mod follow;
mod index;
mod observe;
mod places;
mod query;
mod retrieve;
mod ruler;
mod search;
mod sessions;
mod settings;
mod signs;
mod snippet;
mod status;
mod sync;
mod text;
mod vectors;
mod visible;
mod watch;
mod words;

pub use chunk::{Chunking, Document, Piece};
pub use error::KnowledgeError;
pub use index::{Index, IndexSettings, Touched};
pub use retrieve::{Retrieval, Retrieved};
pub use ruler::Ruler;
pub use search::{Answer, Hit, Search, SearchSettings, Weights};
pub use settings::{MemorySettings, WeightSettings};
pub use snippet::SnippetPart;
pub use status::{Embedding, IndexStatus, Problem, Progress, Watching};
pub use sync::SyncReport;

/// What is looked up and embedded for a chunk: it stands alone, so it says where it is from.
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
