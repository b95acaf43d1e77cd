//! The interface of a network. Messages come in with a cursor and go out with a key, and every
//! failure says whether the message may have arrived.

use std::time::Duration;

use async_trait::async_trait;
use onyx_storage::{Mail, PeerKind, Repeat};
use onyx_types::PersonId;
use serde::{Deserialize, Serialize};

use crate::text::{RenderedMessage, TextFormat, TextLimits};

/// One account of a network. An implementation holds the account's token and knows the network's
/// wire format; it keeps no state that must survive a restart.
#[async_trait]
pub trait Connector: Send + Sync {
    fn traits(&self) -> NetworkTraits;

    /// Asks the network who this account is, which also tests the token.
    async fn identity(&self) -> Result<Identity, NetworkError>;

    /// Waits a while for updates after the cursor and returns them. It is called again only when
    /// all of them are stored together with the new cursor. From a network that pushes its messages
    /// (`Listening::Pushed`) there is never anything to receive.
    async fn receive(&self, _cursor: Option<&str>) -> Result<Batch, NetworkError> {
        std::future::pending().await
    }

    /// Reads a request that the network pushed, and checks that it really comes from the network.
    async fn accept(&self, _pushed: &PushedRequest) -> Result<Batch, NetworkError> {
        Err(NetworkError::Refused("this network does not push messages".to_owned()))
    }

    /// Waits a while for messages after the number `_after` that are kept for a client, and returns
    /// them.
    async fn collect(
        &self,
        _request: &PushedRequest,
        _after: i64,
    ) -> Result<Vec<Mail>, NetworkError> {
        Err(NetworkError::Refused("messages cannot be fetched from this network".to_owned()))
    }

    /// Sends one message and returns the network's id of it.
    async fn send(&self, message: &Outgoing) -> Result<String, NetworkError>;

    /// Sends a file. It is called only if the network accepts files.
    async fn send_file(&self, _message: &Outgoing, _bytes: &[u8]) -> Result<String, NetworkError> {
        Err(NetworkError::Refused("files cannot be sent over this network".to_owned()))
    }

    /// Shows that an answer is being written. A lost call does no harm.
    async fn typing(&self, _peer: &str, _thread: &str) -> Result<(), NetworkError> {
        Ok(())
    }

    /// The bytes of a file that a message named.
    async fn download(&self, _file: &FileRef) -> Result<Vec<u8>, NetworkError> {
        Err(NetworkError::Refused("files cannot be fetched from this network".to_owned()))
    }
}

/// What the rest of this crate has to know about a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkTraits {
    pub name: &'static str,
    pub text_format: TextFormat,
    pub limits: TextLimits,
    /// Whether a message may be sent again when the network did not answer.
    pub repeat_sends: Repeat,
    pub can_edit: bool,
    /// The largest file that can be sent, in bytes; 0 if the network accepts no files.
    pub largest_file: u64,
    pub listening: Listening,
    pub pace: PaceLimits,
}

impl NetworkTraits {
    /// The traits of a program that speaks a protocol of ours: it recognises a repeated message by
    /// its key, takes text of this length as fast as it is sent, and takes no files.
    pub const fn of_program(
        name: &'static str,
        text_format: TextFormat,
        length: usize,
        listening: Listening,
    ) -> Self {
        Self {
            name,
            text_format,
            limits: TextLimits { length, styles: usize::MAX },
            repeat_sends: Repeat::Safe,
            can_edit: false,
            largest_file: 0,
            listening,
            pace: PaceLimits {
                chat_gap: Duration::from_millis(20),
                group_gap: Duration::from_millis(20),
                account_gap: Duration::from_millis(5),
            },
        }
    }
}

/// How messages come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    /// Onyx polls the network or holds a connection open. An account that receives nothing for too
    /// long is restarted.
    Polls,
    /// The network pushes messages to Onyx.
    Pushed,
}

/// How often a network allows messages to be sent.
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
    /// The address at which people can write to the account.
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
    /// The network's id of the update. An update that is delivered twice has the same id both
    /// times.
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
    /// The topic or thread in the chat; empty if there is none.
    #[serde(default)]
    pub thread: String,
    #[serde(default)]
    pub guild: Option<String>,
    /// The id of the message among the messages of its peer.
    pub message: String,
    pub author: Author,
    pub text: String,
    /// Whether the message is addressed to the bot: in a private chat, by its name, or as a reply
    /// to it.
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

/// The message to which another one replies.
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
    /// The key of the message, which is the same for every attempt to send it.
    pub key: String,
    pub what: OutgoingKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OutgoingKind {
    Text {
        text: RenderedMessage,
        #[serde(default)]
        buttons: Vec<Button>,
    },
    /// Replaces the text of a message.
    Edit { message: String, text: RenderedMessage },
    /// Confirms to the network that a pressed button was handled.
    PressAnswer { press: String, text: String },
    /// A file of a person's vault, which is read only when it is sent.
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

/// A request that a network pushed to Onyx.
#[derive(Clone, Debug, Default)]
pub struct PushedRequest {
    /// The headers of the request, with names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl PushedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The reason why a network did not do what it was asked. No text in it contains a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The network was not reached, so nothing arrived.
    #[error("{0}")]
    Unreachable(String),
    /// No answer came, so it is unknown whether the message arrived.
    #[error("{0}")]
    NoAnswer(String),
    /// The network reports an internal error and says that nothing was done.
    #[error("{0}")]
    Failed(String),
    #[error("the network asks to wait {} s", .0.as_secs())]
    TooFast(Duration),
    /// The message cannot be edited.
    #[error("{0}")]
    NotEditable(String),
    /// The network cannot parse the formatting of the text.
    #[error("{0}")]
    BadMarks(String),
    /// The thread does not exist any more, but the main chat may.
    #[error("{0}")]
    NoThread(String),
    #[error("{0}")]
    Refused(String),
    /// The network rejects the token.
    #[error("{0}")]
    Unauthorized(String),
    /// Another program reads the updates of this account.
    #[error("{0}")]
    Contested(String),
}
