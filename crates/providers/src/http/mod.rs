//! The HTTP side of a model: the client, one call with its deadlines, what it reads from headers.

mod call;
mod client;
mod retry_after;

pub(crate) use call::{Call, Timeouts};
pub(crate) use client::{Endpoint, LazyClient};
