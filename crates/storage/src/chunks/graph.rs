//! Facts that texts state about entities: the edges of the knowledge graph, each with the line that
//! states it. They are derived like the chunks they come from, and deleted with them.

use onyx_types::{Origin, Timestamp, TurnId};
use serde::{Deserialize, Serialize};

use crate::{ChunkId, GroupId, SourceKey};

/// One fact that a text states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactRow {
    pub subject: EntityName,
    /// The relation as people say it, in small letters: `lives in`, `phone`.
    pub relation: String,
    pub object: EntityName,
    pub object_kind: ObjectKind,
    pub holds: Holds,
    /// The line of the source that states the fact, counted from 1. For a conversation, it is the
    /// number of the message within its run.
    pub line: u32,
    /// The sentence that states the fact.
    pub said: String,
    /// The start that the text names. If it names none, the fact starts when it was stated.
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// A name as it was written, together with the normalised spelling by which names are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityName {
    pub key: String,
    pub name: String,
}

impl EntityName {
    pub fn new(name: &str) -> Self {
        let words: Vec<&str> = name.split_whitespace().collect();
        let name = words.join(" ");
        Self { key: name.to_lowercase(), name }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// A person or thing that can have facts of its own.
    Entity,
    /// A plain value: a number, a date, a few words.
    Value,
}

/// Whether the text says that the fact holds, or that it no longer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    Begins,
    Ends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FactId(pub u64);

/// A fact, and what is known of the text that states it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFact {
    pub id: FactId,
    pub maker: String,
    pub row: FactRow,
    pub source: SourceKey,
    pub title: String,
    pub group: GroupId,
    pub origin: Origin,
    /// When the fact was stated; if that is unknown, the day that its text is about, else when the
    /// text was written.
    pub said_at: Timestamp,
    pub author: Option<String>,
    pub turn: Option<TurnId>,
}

/// A person or thing that facts are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityRow {
    /// The name in the spelling that was used last.
    pub name: EntityName,
    pub facts: u64,
    pub last_said: Timestamp,
}

/// The facts that one maker found in a chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkFacts {
    pub chunk: ChunkId,
    pub maker: String,
    pub facts: Vec<FactRow>,
}
