//! The HTTP side of a model: the client, one call with its deadlines, what it reads from headers.

mod call;
mod client;
mod download;
mod exchange;
mod obstacle;
mod retry_after;
mod tee;

pub(crate) use call::{Call, Timeouts};
pub(crate) use client::{Endpoint, LazyClient, is_loopback};
pub use download::Download;
pub(crate) use exchange::{Bounds, NoAnswer, exchange};
pub(crate) use obstacle::{Obstacle, transport};
pub(crate) use retry_after::limit_headers;
pub use tee::RawPiece;
pub(crate) use tee::{PIECES, RawCall};
