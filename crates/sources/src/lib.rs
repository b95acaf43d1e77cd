//! Knowledge sources: files, folders, web addresses and pasted text that a person attaches to a
//! space, a channel, a thread or an agent.
//!
//! A source is a folder in its scope. `source.json` holds its origin and its state, and beside it
//! is the text of each document as markdown, for people to read and the index to find. All of this
//! text counts as coming from outside, even if the owner attached it.
//!
//! What may not enter: searching, prompts, tools, surfaces; any network access except the egress
//! client.

mod capture;
mod document;
mod error;
mod gather;
mod import;
mod karakeep;
mod ownership;
mod place;
mod record;
mod register;
mod service;
mod work;

pub use capture::{CapturedText, NewCapture};
pub use error::SourceError;
pub use onyx_extract::LARGEST_DOCUMENT;
pub use record::{DocumentRecord, SourceRecord, SourceState, Supply};
pub use service::{NewSource, NewSupply, Progress, Sources};
