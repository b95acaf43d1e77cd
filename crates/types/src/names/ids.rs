use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("not a valid {kind} id: expected a UUID")]
    NotAUuid { kind: &'static str },
    #[error(
        "not a valid {kind} name: use 1 to 64 of a-z, 0-9, '-', '_' and start with a letter or digit"
    )]
    NotAName { kind: &'static str },
}

/// Writes the id as its string form and reads it back through `FromStr`, so that a wire value is
/// checked exactly where it becomes an id.
macro_rules! string_serde {
    ($name:ident, |$id:ident, $serializer:ident| $write:expr) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, $serializer: S) -> Result<S::Ok, S::Error> {
                let $id = self;
                $write
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident = $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            pub const fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0.hyphenated())
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                // Only one spelling is accepted: an id is part of a file name, so it must not have
                // two.
                let mut spelling = [0; uuid::fmt::Hyphenated::LENGTH];
                match Uuid::try_parse(text) {
                    Ok(uuid) if *uuid.hyphenated().encode_lower(&mut spelling) == *text => {
                        Ok(Self(uuid))
                    }
                    _ => Err(IdError::NotAUuid { kind: $kind }),
                }
            }
        }

        // The id is written directly, not through `Display`, because a log is full of ids.
        string_serde!($name, |id, serializer| {
            let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
            serializer.serialize_str(id.0.hyphenated().encode_lower(&mut text))
        });
    )*};
}

uuid_ids! {
    SessionId = "session";
    TurnId = "turn";
    RunId = "run";
    DraftId = "draft";
    CredentialId = "credential";
    /// The id of a knowledge source.
    SourceId = "source";
    /// The id of one appended batch of turns, which names the acknowledgement that a step waits
    /// for.
    BatchId = "batch";
}

macro_rules! name_ids {
    ($($(#[$doc:meta])* $name:ident = $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                if is_name(text) { Ok(Self(text.into())) } else { Err(IdError::NotAName { kind: $kind }) }
            }
        }

        string_serde!($name, |id, serializer| serializer.serialize_str(&id.0));
    )*};
}

name_ids! {
    PersonId = "person";
    AgentId = "agent";
    SpaceId = "space";
    ChannelId = "channel";
    ThreadId = "thread";
}

/// A job's id: the name of its file, or `action:<id>` and `system:<name>` for jobs without a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(std::sync::Arc<str>);

/// The source of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// A file among the jobs of a vault.
    File,
    /// The `schedule:` of an action.
    Action,
    /// The config.
    System,
}

impl JobId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn kind(&self) -> JobKind {
        match self.0.split_once(':') {
            None => JobKind::File,
            Some(("action", _)) => JobKind::Action,
            Some(_) => JobKind::System,
        }
    }

    /// The name without the prefix of the kind.
    pub fn name(&self) -> &str {
        self.0.split_once(':').map_or(&self.0, |(_, name)| name)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobId({})", self.0)
    }
}

impl FromStr for JobId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let name = text.strip_prefix("action:").or_else(|| text.strip_prefix("system:"));
        if is_name(name.unwrap_or(text)) {
            Ok(Self(text.into()))
        } else {
            Err(IdError::NotAName { kind: "job" })
        }
    }
}

string_serde!(JobId, |id, serializer| serializer.serialize_str(&id.0));

/// Names become folder names, so only plain, portable folder names are valid.
fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=64).contains(&bytes.len())
        && (bytes[0].is_ascii_lowercase() || bytes[0].is_ascii_digit())
        && bytes
            .iter()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
}

/// The id a provider gave one tool call; opaque to us and unique only within a session.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct ToolUseId(pub String);

impl fmt::Display for ToolUseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One answering agent within a run.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct LaneId(pub u16);

/// Where a session lives: the person who owns it, the agent it was created with, its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    pub person: PersonId,
    pub agent: AgentId,
    pub session: SessionId,
}

/// Who wrote a turn: `person:<id>`, `agent:<id>` or `system`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Author {
    Person(PersonId),
    Agent(AgentId),
    System,
}

impl Author {
    /// The kind of the author: `person`, `agent` or `system`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Person(_) => "person",
            Self::Agent(_) => "agent",
            Self::System => "system",
        }
    }

    /// The name without the kind; for the system it is the program's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Person(person) => person.as_str(),
            Self::Agent(agent) => agent.as_str(),
            Self::System => "onyx",
        }
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(person) => write!(f, "person:{person}"),
            Self::Agent(agent) => write!(f, "agent:{agent}"),
            Self::System => f.write_str("system"),
        }
    }
}

impl FromStr for Author {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text.split_once(':') {
            Some(("person", id)) => Ok(Self::Person(id.parse()?)),
            Some(("agent", id)) => Ok(Self::Agent(id.parse()?)),
            None if text == "system" => Ok(Self::System),
            _ => Err(IdError::NotAName { kind: "author" }),
        }
    }
}

string_serde!(Author, |author, serializer| serializer.collect_str(author));
