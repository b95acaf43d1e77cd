//! The HTTP side of a model: one call with its deadlines, and what the answer's headers say.

mod call;
mod download;
mod endpoint;
mod exchange;
mod retry_after;
mod tee;

pub(crate) use call::{Call, Timeouts};
pub use download::Download;
pub(crate) use endpoint::Endpoint;
pub(crate) use exchange::{Bounds, NoAnswer, exchange};
pub(crate) use retry_after::limit_headers;
pub use tee::RawPiece;
pub(crate) use tee::{PIECES, RawCall};
