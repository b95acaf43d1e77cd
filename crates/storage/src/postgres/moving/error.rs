//! The reasons why nothing was moved, or not everything.

use onyx_types::{ErrorCode, Fault};

use crate::{ServerError, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("{0}")]
    Server(#[from] ServerError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("gateways work on this database: {0}")]
    Serving(String),
    #[error("{0} holds something already")]
    NotEmpty(&'static str),
    #[error("an answer was cut off there and its end is not written yet")]
    OpenRuns,
    #[error("{0} is not the same on both sides; nothing was deleted at the source")]
    Different(String),
    #[error("{path}: {why}")]
    File { path: String, why: String },
}

impl MoveError {
    /// A sentence that says what to do about the error.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Server(error) => error.hint(),
            Self::Store(_) | Self::File { .. } => {
                "Fix that, then run the command again: it continues where it stopped."
            }
            Self::Serving(_) => {
                "Stop every gateway, wait 20 seconds after one that was killed, and run it again."
            }
            Self::NotEmpty(_) => "Move into an empty place.",
            Self::OpenRuns => "Start it once where it is, stop it, and run the command again.",
            Self::Different(_) => "Run the command again; if it fails again, please report it.",
        }
    }
}

impl From<MoveError> for Fault {
    fn from(error: MoveError) -> Self {
        let hint = error.hint();
        match error {
            MoveError::Server(error) => error.into(),
            MoveError::Store(error) => Self::from(error).with_hint(hint),
            MoveError::Serving(_) | MoveError::NotEmpty(_) | MoveError::OpenRuns => {
                Self::new(ErrorCode::InvalidRequest, error.to_string()).with_hint(hint)
            }
            MoveError::Different(_) | MoveError::File { .. } => {
                Self::new(ErrorCode::StorageFailed, error.to_string()).with_hint(hint)
            }
        }
    }
}
