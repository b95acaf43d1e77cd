use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SessionId, TurnId};

/// The position of one piece of retrieved text in the untrusted block of its message. The block is
/// stored as it was sent, so a mark holds no text of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextMark {
    /// `person`, `agent`, `space`, `channel`, `thread` or `shared`.
    pub scope: String,
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The position of the piece's first byte in the block. `to` is that of the first byte after
    /// it.
    pub from: usize,
    pub to: usize,
    /// The source of the piece. Logs from before, and pieces that no search found, have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cited: Option<CitedSource>,
}

/// The source and the chunk of a piece of retrieved text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CitedSource {
    /// The id of an attached source; of other files and of conversations, their path.
    pub source_id: String,
    /// The id of the chunk, which is valid until its file is indexed again.
    pub chunk_id: String,
    /// The title of the source for people.
    pub title: String,
    /// The conversation and the message that the piece is from; absent for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
}

impl ContextMark {
    /// The text of the piece; empty if the mark does not belong to the block.
    pub fn text<'a>(&self, block: &'a str) -> &'a str {
        block.get(self.from..self.to).unwrap_or_default()
    }
}
