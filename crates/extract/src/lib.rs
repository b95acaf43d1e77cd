//! Bytes of a document in, its text as markdown out: markdown, plain text, HTML, PDF, Word, EPUB,
//! CSV, code, and pictures where `tesseract` is installed.
//!
//! Every document is treated as hostile: sizes, depths and time are bounded, and PDF, Word and EPUB
//! are parsed in a process of their own. What may not enter: files, the network, storage, policy.

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
mod scans;
mod table;
mod tags;

pub use document::{Document, Extracted};
pub use error::ExtractError;
pub use helper::{Reader, serve_helper};
pub use html::{Page, readable};
pub use kind::Kind;

/// A longer document is refused before it is read.
pub const LARGEST_DOCUMENT: usize = 32 * 1024 * 1024;
/// The text of a document; longer is refused, never cut.
pub const LONGEST_TEXT: usize = 16 * 1024 * 1024;
