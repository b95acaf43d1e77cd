//! Knowledge sources: files, folders, web addresses and pasted text that a person attaches to a
//! space, a channel, a thread or an agent.
//!
//! A source is a folder in its scope: `source.json` says where it comes from and how it is, and
//! beside it lies the text of each document as markdown, for people to read and the index to find.
//! All of it came from outside, whoever attached it.
//!
//! What may not enter: searching, prompts, tools, surfaces; any way out but the egress client.

mod capture;
mod document;
mod error;
mod gather;
mod import;
mod karakeep;
mod place;
mod record;
mod register;
mod service;

pub use capture::{Captured, NewCapture};
pub use error::SourceError;
pub use onyx_extract::LARGEST_DOCUMENT;
pub use record::{DocumentRecord, SourceRecord, SourceState, Supply};
pub use service::{NewSource, NewSupply, Progress, Sources};
