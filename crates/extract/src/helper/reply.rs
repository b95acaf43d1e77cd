use serde::{Deserialize, Serialize};

use crate::pdf::Page;
use crate::{ExtractError, LONGEST_TEXT};

/// The answer of a helper that parses: one line of JSON, and after it the bytes of a picture where
/// the line announces one.
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    pub(crate) picture: Vec<u8>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    Pages(Vec<Page>),
    Text {
        title: Option<String>,
        markdown: String,
    },
    /// The picture follows.
    Picture,
    Encrypted,
    TooLarge,
    TooComplex,
    Damaged(String),
    Unreadable(String),
}

impl Answer {
    pub(crate) fn of(read: Result<Self, ExtractError>) -> Self {
        read.unwrap_or_else(|error| Reply::of(error).into())
    }

    pub(crate) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(&self.reply)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.picture);
        Ok(bytes)
    }

    /// `None` if the helper died while it wrote.
    pub(crate) fn of_bytes(mut bytes: Vec<u8>) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let reply = serde_json::from_slice(&bytes[..end]).ok()?;
        let picture = bytes.split_off(end + 1);
        Some(Self { reply, picture })
    }

    pub(crate) fn pages(self) -> Result<Vec<Page>, ExtractError> {
        match self.reply {
            Reply::Pages(pages) => Ok(pages),
            other => Err(other.error()),
        }
    }

    pub(crate) fn text(self) -> Result<(Option<String>, String), ExtractError> {
        match self.reply {
            Reply::Text { title, markdown } => Ok((title, markdown)),
            other => Err(other.error()),
        }
    }

    pub(crate) fn picture(self) -> Result<Vec<u8>, ExtractError> {
        match self.reply {
            Reply::Picture => Ok(self.picture),
            other => Err(other.error()),
        }
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, picture: Vec::new() }
    }
}

impl Reply {
    fn of(error: ExtractError) -> Self {
        match error {
            ExtractError::Encrypted => Self::Encrypted,
            ExtractError::TooLarge { .. } => Self::TooLarge,
            ExtractError::TooComplex(_) => Self::TooComplex,
            ExtractError::Damaged(why) => Self::Damaged(why),
            ExtractError::Unreadable(why) => Self::Unreadable(why),
            error @ (ExtractError::NotText
            | ExtractError::NoText
            | ExtractError::NeedsOcr
            | ExtractError::NoLanguage
            | ExtractError::TooCostly { .. }
            | ExtractError::Reader(_)) => Self::Damaged(error.to_string()),
        }
    }

    fn error(self) -> ExtractError {
        match self {
            Self::Encrypted => ExtractError::Encrypted,
            Self::TooLarge => ExtractError::TooLarge { limit: LONGEST_TEXT },
            Self::TooComplex => ExtractError::TooComplex("content"),
            Self::Damaged(why) => ExtractError::Damaged(why),
            Self::Unreadable(why) => ExtractError::Unreadable(why),
            Self::Pages(_) | Self::Text { .. } | Self::Picture => {
                ExtractError::Reader("its answer could not be parsed".to_owned())
            }
        }
    }
}
