//! What a network is to Onyx, on one page: messages come in with a cursor, messages go out with a
//! key, and every failure says whether the message may have arrived.

use std::time::Duration;

use async_trait::async_trait;
use onyx_storage::{Mail, PeerKind, Repeat};
use onyx_types::PersonId;
use serde::{Deserialize, Serialize};

use crate::text::{Rendered, TextFormat, TextLimits};

/// One account of a network. Implementations hold a token and know the network's wire; they keep
/// no state that a restart would miss.
#[async_trait]
pub trait Connector: Send + Sync {
    fn traits(&self) -> NetworkTraits;

    /// Asks the network who this account is: the test of a token.
    async fn identity(&self) -> Result<Identity, NetworkError>;

    /// What came after the cursor; waits a while for something to come. Called again only when
    /// everything is stored together with the cursor that it returned.
    async fn receive(&self, cursor: Option<&str>) -> Result<Batch, NetworkError>;

    /// What the network itself brought to our door, checked to be from it.
    async fn accept(&self, _pushed: &Pushed) -> Result<Batch, NetworkError> {
        Err(NetworkError::Refused("this network brings nothing to the door".to_owned()))
    }

    /// What was kept for somebody who comes to fetch it, after a number; waits a while for something.
    async fn collect(&self, _asked: &Pushed, _after: i64) -> Result<Vec<Mail>, NetworkError> {
        Err(NetworkError::Refused("nothing is fetched from this network".to_owned()))
    }

    /// Sends one message and returns the network's id of it.
    async fn send(&self, message: &Outgoing) -> Result<String, NetworkError>;

    /// Sends a file; only asked of networks that take some.
    async fn send_file(&self, _message: &Outgoing, _bytes: &[u8]) -> Result<String, NetworkError> {
        Err(NetworkError::Refused("this network takes no files".to_owned()))
    }

    /// Shows that somebody is writing. Lost ones are not missed.
    async fn typing(&self, _peer: &str, _thread: &str) -> Result<(), NetworkError> {
        Ok(())
    }

    /// The bytes of a file that a message named.
    async fn download(&self, _file: &FileRef) -> Result<Vec<u8>, NetworkError> {
        Err(NetworkError::Refused("files cannot be fetched from this network".to_owned()))
    }
}

/// What is particular to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkTraits {
    pub name: &'static str,
    pub text_format: TextFormat,
    pub limits: TextLimits,
    /// What may be done with a new message that had no answer.
    pub repeat_sends: Repeat,
    pub can_edit: bool,
    /// Of a file that is sent, in bytes; 0 where none are taken.
    pub largest_file: u64,
    pub listening: Listening,
    pub pace: PaceLimits,
}

/// How messages come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    /// By asking or by an open connection: silence past the limit is deafness.
    Polls,
    /// The network comes to us.
    Pushed,
}

/// How often a network lets us write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceLimits {
    /// Between two messages to one chat.
    pub chat_gap: Duration,
    /// Between two messages to one group.
    pub group_gap: Duration,
    /// Between two messages of the account.
    pub account_gap: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    /// Where people can write to it.
    pub link: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub updates: Vec<Update>,
    /// Where to go on from; `None` leaves it.
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The network's number of it: the same update has the same one whenever it comes.
    pub id: String,
    pub incoming: Incoming,
}

/// One message from a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incoming {
    pub peer: String,
    pub kind: PeerKind,
    /// What people call the peer.
    pub peer_name: String,
    /// The topic or thread in it; empty for none.
    #[serde(default)]
    pub thread: String,
    #[serde(default)]
    pub guild: Option<String>,
    /// Among those of its peer.
    pub message: String,
    pub author: Author,
    pub text: String,
    /// Said to the bot: in private, by its name, or as a reply to it.
    pub is_addressed: bool,
    #[serde(default)]
    pub quoted: Option<Quote>,
    #[serde(default)]
    pub files: Vec<FileRef>,
    #[serde(default)]
    pub press: Option<Press>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    pub id: String,
    pub name: String,
}

/// The message that this one is a reply to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    pub author: String,
    pub text: String,
}

/// A button that somebody pressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Press {
    /// What the network wants answered.
    pub id: String,
    pub data: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    pub id: String,
    pub name: String,
    pub media_type: String,
    pub bytes: u64,
    pub kind: FileKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    Picture,
    Voice,
    Document,
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outgoing {
    pub peer: String,
    #[serde(default)]
    pub thread: String,
    /// The same for every attempt of the same message.
    pub key: String,
    pub what: OutgoingKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OutgoingKind {
    Text {
        text: Rendered,
        #[serde(default)]
        buttons: Vec<Button>,
    },
    /// In the place of what the message says now.
    Edit { message: String, text: Rendered },
    /// Ends the waiting of a button.
    PressAnswer { press: String, text: String },
    /// A file of a person's vault, read when it is sent.
    File(OutgoingFile),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingFile {
    pub person: PersonId,
    /// Within the vault.
    pub path: String,
    pub name: String,
    pub media_type: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    pub label: String,
    pub data: String,
}

/// What the network brought to our door.
#[derive(Clone, Debug, Default)]
pub struct Pushed {
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Pushed {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Why a network did not do what it was asked. No text in it holds a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// It was never reached, so nothing arrived.
    #[error("{0}")]
    Unreachable(String),
    /// It may have done it: the answer did not come.
    #[error("{0}")]
    NoAnswer(String),
    /// It had trouble of its own and says that nothing was done.
    #[error("{0}")]
    Failed(String),
    #[error("it asks to wait {} s", .0.as_secs())]
    TooFast(Duration),
    /// The message to be edited cannot be.
    #[error("{0}")]
    NotEditable(String),
    /// It does not understand the marks of the text.
    #[error("{0}")]
    BadMarks(String),
    /// The thread is gone; the main chat may still be there.
    #[error("{0}")]
    NoThread(String),
    #[error("{0}")]
    Refused(String),
    /// The token is not good.
    #[error("{0}")]
    Unauthorized(String),
    /// Somebody else reads the updates of this account.
    #[error("{0}")]
    Contested(String),
}
