//! The process that reads PDFs, Word documents and books, and the one that becomes `tesseract`. Each
//! reads one document or one picture from a pipe and answers on another. It has no environment, no
//! other open files, little memory and little time, and it is confined before it reads a byte; a
//! hostile document can only cause an error in the gateway.

mod process;
mod reply;
mod serve;
mod task;

pub(crate) use process::{HelperProcess, NoHelperAnswer};
pub(crate) use reply::{Answer, Reply};
pub use serve::{Confinement, serve_helper};
pub(crate) use task::Task;

/// CPU seconds for reading a document, or one page's picture out of it.
pub(crate) const PARSING_SECONDS: u64 = 30;
/// CPU seconds for recognising the text on one picture.
pub(crate) const RECOGNISING_SECONDS: u64 = 120;
/// The most address space of a helper.
const MEMORY: u64 = 1024 * 1024 * 1024;
