use std::time::Duration;

use async_trait::async_trait;
use onyx_types::{Hash, PersonId};

use crate::StoreError;

/// What an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShortLivedKind {
    /// A one-time link that signs a person in.
    Link,
    /// A device that asks to be let in.
    Pairing,
    /// A sign-in at a provider or a service that waits for its person.
    SignIn,
    /// A sign-in at an MCP server that waits for its browser.
    McpSignIn,
    /// What a person agreed to, until the program picks it up.
    Grant,
    /// A response of `/v1/responses` that its client may continue.
    Response,
    /// A conversation of `/v1/conversations`.
    Conversation,
    /// The session that a chat of `useChat` began.
    Chat,
    /// How many pages read a run of `useChat`.
    ChatReaders,
    /// A session of a program that uses `/mcp`.
    McpSession,
    /// A program's answer to a question that a call at `/mcp` asked it.
    McpAnswer,
    /// A call at `/mcp` that goes on after its request was answered.
    McpTask,
    /// The wish to end such a call.
    McpCancel,
    /// A message that is being stored, by the key that its client gave it.
    MessageClaim,
    /// What became of a message of the socket, by the key that its client gave it.
    SentMessage,
}

impl ShortLivedKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Pairing => "pairing",
            Self::SignIn => "sign-in",
            Self::McpSignIn => "mcp-sign-in",
            Self::Grant => "grant",
            Self::Response => "response",
            Self::Conversation => "conversation",
            Self::Chat => "chat",
            Self::ChatReaders => "chat-readers",
            Self::McpSession => "mcp-session",
            Self::McpAnswer => "mcp-answer",
            Self::McpTask => "mcp-task",
            Self::McpCancel => "mcp-cancel",
            Self::MessageClaim => "message-claim",
            Self::SentMessage => "sent-message",
        }
    }
}

/// A value that is kept for a short time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortLivedEntry {
    /// A hash of whatever names the entry, so that a secret name is stored nowhere.
    pub key: Hash,
    /// The person to whom the entry belongs. `None`: to the installation.
    pub person: Option<PersonId>,
    /// Text without NUL, such as JSON.
    pub value: String,
    /// How long the entry still lasts.
    pub left: Duration,
}

impl ShortLivedEntry {
    /// An entry that belongs to no person, such as the wish of a device that is not signed in.
    pub fn of_nobody(key: Hash, value: String, left: Duration) -> Self {
        Self { key, person: None, value, left }
    }

    /// An entry of a person. Its name is good for this person alone.
    pub fn of(person: &PersonId, name: &str, value: String, left: Duration) -> Self {
        Self { key: Self::key_of(person, name), person: Some(person.clone()), value, left }
    }

    /// The key under which a person's entry lies.
    pub fn key_of(person: &PersonId, name: &str) -> Hash {
        Hash::of_parts([person.as_str().as_bytes(), name.as_bytes()])
    }
}

/// How much of a kind is kept for each person, and for the installation where it belongs to nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortLivedRoom {
    pub entries: usize,
    /// The bytes of all values together.
    pub bytes: usize,
}

impl ShortLivedRoom {
    /// Room for so many small values.
    pub const fn of_entries(entries: usize) -> Self {
        Self { entries, bytes: entries * Self::SMALL }
    }

    const SMALL: usize = 16 * 1024;

    /// `Refused` for a value that no other entry could make room for.
    pub(crate) fn check(self, entry: &ShortLivedEntry) -> Result<(), StoreError> {
        let size = entry.value.len();
        if size <= self.bytes {
            return Ok(());
        }
        let why = format!("a value of {size} bytes is larger than its room of {}", self.bytes);
        Err(StoreError::Refused(why))
    }
}

/// Values that are kept for a short time and can be taken once. A single process keeps them in memory, and loses them
/// when it ends; gateways share them, so that what is begun at one goes on at another.
#[async_trait]
pub trait ShortLived: Send + Sync {
    /// Replaces an entry with the same key. The oldest entries make room. `Refused`: the value is larger than all of
    /// the room.
    async fn put(
        &self,
        kind: ShortLivedKind,
        entry: ShortLivedEntry,
        room: ShortLivedRoom,
    ) -> Result<(), StoreError>;

    /// Stores the entry unless there is one with its key: then nothing changes, and the value of that one comes back.
    async fn put_new(
        &self,
        kind: ShortLivedKind,
        entry: ShortLivedEntry,
        room: ShortLivedRoom,
    ) -> Result<Option<String>, StoreError>;

    async fn get(
        &self,
        kind: ShortLivedKind,
        key: Hash,
    ) -> Result<Option<ShortLivedEntry>, StoreError>;

    /// All entries of a kind that belong to this person, or to nobody; the oldest first.
    async fn list(
        &self,
        kind: ShortLivedKind,
        person: Option<&PersonId>,
    ) -> Result<Vec<ShortLivedEntry>, StoreError>;

    /// Writes another value where the entry still holds this one. `false`: it does not, or is gone.
    async fn replace(
        &self,
        kind: ShortLivedKind,
        before: &ShortLivedEntry,
        value: String,
    ) -> Result<bool, StoreError>;

    /// Removes the entry. If several callers try, only one of them gets its value.
    async fn take(&self, kind: ShortLivedKind, key: Hash) -> Result<Option<String>, StoreError>;
}
