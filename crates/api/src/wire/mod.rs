//! Turns bytes into requests, and results into bytes: bodies and queries, versions (`ETag`),
//! requests in other makers' formats, one pure encoder per format of ours and theirs, and the
//! spelling of fields in our answers.
//!
//! Handlers use this to read and to write. Nothing here knows a route or starts anything.

mod body;
pub(crate) mod decode;
mod drain;
pub(crate) mod encode;
mod etag;
mod json;
mod names;
mod tool_forms;

pub(crate) use body::{DocumentBody, MediaBody, OptionalBody, RawBody, typed, without_unused_body};
pub use body::{JsonBody, MAX_BODY, QueryOf};
pub(crate) use drain::drained_unless_read;
pub(crate) use etag::{etag, expected};
pub(crate) use json::{Json, write_json};
pub use names::FieldNames;
pub(crate) use tool_forms::CUSTOM_INPUT;
pub use tool_forms::{ToolForm, ToolForms};
