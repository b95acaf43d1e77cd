//! Converts the bytes of a document to text as markdown: markdown, plain text, HTML, PDF, Word,
//! EPUB, CSV, code, and pictures and scanned PDFs if `tesseract` is installed.
//!
//! Every document is treated as hostile: sizes, depths and time are bounded, PDF, Word and EPUB are
//! parsed in a confined process of their own, and `tesseract` runs confined too. What may not enter: files, the network, storage, policy.

mod archive;
mod code;
mod decode;
mod document;
mod docx;
mod epub;
mod error;
mod helper;
mod html;
mod kind;
mod pdf;
mod reader;
mod recogniser;
mod scans;
mod table;
mod tags;

pub use document::{Document, ExtractedText};
pub use error::ExtractError;
pub use helper::{Confinement, serve_helper};
pub use html::{Page, readable};
pub use kind::Kind;
pub use reader::Reader;
pub use recogniser::Recognition;

/// The largest document that is read; a larger one is refused before reading.
pub const LARGEST_DOCUMENT: usize = 32 * 1024 * 1024;
/// The longest text of a document; a longer one is refused, never cut.
pub const LONGEST_TEXT: usize = 16 * 1024 * 1024;
