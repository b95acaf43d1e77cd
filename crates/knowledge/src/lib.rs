//! One index over all files of a person. They are cut into chunks, kept up to date, and searched by
//! words and by meaning.
//!
//! Everything here is derived from files and may be deleted at any time: the chunk table
//! (`cache/index.db`, behind [`onyx_storage::ChunkStore`]), and the tables that follow its changes,
//! which are the text index (`cache/text`) and, in memory, the vector codes and the outlines of the
//! people who searched lately. What a search may see is given by a [`onyx_types::ScopeSet`] and is
//! decided inside the search, never after it.
//!
//! [`Index`] is the public face: it passes each question to the part that answers it.
//!
//! What may not enter: a model other than through [`onyx_types::Embedder`], a network, prompts,
//! tools, surfaces, any change to a person's files.

mod backlog;
mod chunk;
mod error;
mod files;
mod follow;
mod graph;
mod index;
mod indexing;
mod search;
mod sessions;
mod settings;
mod status;
mod sync;
mod text;
mod vectors;
mod visible;

pub use chunk::{Chunking, Document, Piece, Ruler};
pub use error::KnowledgeError;
pub use files::changes::WrittenPlace;
pub use files::indexer::SyncReport;
pub use graph::{EntityPage, Fact, FactFinder, FactPassage, FoundFact, FoundFacts};
pub use index::{Index, IndexSettings};
pub use search::{Hit, Retrieval, RetrievedHits, Search, SearchResults};
pub use settings::{GraphSettings, MemorySettings, SearchSettings, WeightSettings, Weights};
pub use status::{
    EmbeddingState, IndexStatus, IndexWork, LoadedTables, Progress, UnindexedFile, Watching,
};
pub use text::snippet::SnippetPart;
