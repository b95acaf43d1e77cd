//! Facts that texts state about entities: the edges of the knowledge graph, each with the line that
//! states it. They are derived like the chunks they come from, and deleted with them.

use onyx_types::{Origin, Timestamp, TurnId};
use serde::{Deserialize, Serialize};

use crate::{ChunkId, GroupId, SourceKey};

/// One thing that a text says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactRow {
    pub subject: EntityName,
    /// `lives in`, `phone`: as people say it, in small letters.
    pub relation: String,
    pub object: EntityName,
    pub object_kind: ObjectKind,
    pub holds: Holds,
    /// Of its source, from 1; of a conversation the message of its run.
    pub line: u32,
    /// The sentence that says it.
    pub said: String,
    /// The start that the text names. Without one, the fact starts when it was said.
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// A name as it was written, and in the one spelling by which names are compared.
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
    /// Somebody or something that has facts of its own.
    Entity,
    /// A number, a date, a few words.
    Value,
}

/// Does the text say that the fact holds, or that it no longer holds?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    Begins,
    Ends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FactId(pub u64);

/// A fact with what is known of the text that says it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFact {
    pub id: FactId,
    pub maker: String,
    pub row: FactRow,
    pub source: SourceKey,
    pub title: String,
    pub group: GroupId,
    pub origin: Origin,
    /// When it was said, else the day its text is of, else when that was written.
    pub said_at: Timestamp,
    pub author: Option<String>,
    pub turn: Option<TurnId>,
}

/// An entity that facts are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityRow {
    pub name: EntityName,
    pub facts: u64,
    pub last_said: Timestamp,
}

/// What was found in a chunk by one maker.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkFacts {
    pub chunk: ChunkId,
    pub maker: String,
    pub facts: Vec<FactRow>,
}
