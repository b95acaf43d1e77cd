//! The interface of a network, on one page: messages come in with a cursor, messages go out with a
//! key, and every failure says whether the message may have arrived.

use std::time::Duration;

use async_trait::async_trait;
use onyx_storage::{Mail, PeerKind, Repeat};
use onyx_types::PersonId;
use serde::{Deserialize, Serialize};

use crate::text::{Rendered, TextFormat, TextLimits};

/// One account of a network. Implementations hold a token and know the network's wire; they keep no
/// state that must survive a restart.
#[async_trait]
pub trait Connector: Send + Sync {
    fn traits(&self) -> NetworkTraits;

    /// Asks the network who this account is: the test of a token.
    async fn identity(&self) -> Result<Identity, NetworkError>;

    /// The updates after the cursor; waits a while for some. Called again only when all of them are
    /// stored together with the returned cursor.
    async fn receive(&self, cursor: Option<&str>) -> Result<Batch, NetworkError>;

    /// Reads what the network pushed to us, and checks that it is from the network.
    async fn accept(&self, _pushed: &Pushed) -> Result<Batch, NetworkError> {
        Err(NetworkError::Refused("this network does not push messages".to_owned()))
    }

    /// The messages after a number that are kept until a client fetches them; waits a while for one.
    async fn collect(&self, _asked: &Pushed, _after: i64) -> Result<Vec<Mail>, NetworkError> {
        Err(NetworkError::Refused("messages cannot be fetched from this network".to_owned()))
    }

    /// Sends one message and returns the network's id of it.
    async fn send(&self, message: &Outgoing) -> Result<String, NetworkError>;

    /// Sends a file; only asked of networks that take some.
    async fn send_file(&self, _message: &Outgoing, _bytes: &[u8]) -> Result<String, NetworkError> {
        Err(NetworkError::Refused("files cannot be sent over this network".to_owned()))
    }

    /// Shows that an answer is being written. It does not matter if one is lost.
    async fn typing(&self, _peer: &str, _thread: &str) -> Result<(), NetworkError> {
        Ok(())
    }

    /// The bytes of a file that a message named.
    async fn download(&self, _file: &FileRef) -> Result<Vec<u8>, NetworkError> {
        Err(NetworkError::Refused("files cannot be fetched from this network".to_owned()))
    }
}

/// The properties of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkTraits {
    pub name: &'static str,
    pub text_format: TextFormat,
    pub limits: TextLimits,
    /// Whether a message may be sent again when the network did not answer.
    pub repeat_sends: Repeat,
    pub can_edit: bool,
    /// The largest file that can be sent, in bytes; 0 where the network takes no files.
    pub largest_file: u64,
    pub listening: Listening,
    pub pace: PaceLimits,
}

/// How messages come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    /// We ask, or hold a connection open. An account that receives nothing for too long is
    /// restarted.
    Polls,
    /// The network pushes messages to us.
    Pushed,
}

/// How often a network lets us write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceLimits {
    /// The shortest time between two messages to one chat.
    pub chat_gap: Duration,
    /// The shortest time between two messages to one group.
    pub group_gap: Duration,
    /// The shortest time between two messages of the account.
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
    /// The new cursor; `None` leaves it as it is.
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The network's number of the update. One that comes twice has the same number.
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
    /// Its number among the messages of its peer.
    pub message: String,
    pub author: Author,
    pub text: String,
    /// Addressed to the bot: in private, by its name, or as a reply to it.
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

/// A button that a person pressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Press {
    /// The id under which the network expects an answer to the press.
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
    /// Replaces the text of a message.
    Edit { message: String, text: Rendered },
    /// Confirms to the network that a pressed button was handled.
    PressAnswer { press: String, text: String },
    /// A file of a person's vault, read when it is sent.
    File(OutgoingFile),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingFile {
    pub person: PersonId,
    /// The path within the vault.
    pub path: String,
    pub name: String,
    pub media_type: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    pub label: String,
    pub data: String,
}

/// A request that the network pushed to us.
#[derive(Clone, Debug, Default)]
pub struct Pushed {
    /// The headers; their names are in lower case.
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
    /// The network was not reached, so nothing arrived.
    #[error("{0}")]
    Unreachable(String),
    /// No answer came, so the message may have arrived.
    #[error("{0}")]
    NoAnswer(String),
    /// The network reports an error of its own and says that nothing was done.
    #[error("{0}")]
    Failed(String),
    #[error("the network asks to wait {} s", .0.as_secs())]
    TooFast(Duration),
    /// The message cannot be edited.
    #[error("{0}")]
    NotEditable(String),
    /// The network does not understand the formatting of the text.
    #[error("{0}")]
    BadMarks(String),
    /// The thread is gone; the main chat may still be there.
    #[error("{0}")]
    NoThread(String),
    #[error("{0}")]
    Refused(String),
    /// The token is wrong.
    #[error("{0}")]
    Unauthorized(String),
    /// Another program reads the updates of this account.
    #[error("{0}")]
    Contested(String),
}
