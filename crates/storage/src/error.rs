use std::io;
use std::time::Duration;

use onyx_types::{ErrorCode, Fault};

use crate::ObjectKeyError;

/// When a server that cannot be reached may be there again.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Why a store did not do what it was asked. Classified by errno and result code, never by words.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("not found")]
    NotFound,
    #[error("the content changed since it was read")]
    Conflict,
    /// The lease was lost to another holder, or has expired: the write did not happen.
    #[error("the lease on this work is no longer held: others may have taken it over")]
    LeaseLost,
    #[error("the session is busy")]
    Busy,
    /// The same input is running, or has run to its end, already.
    #[error("this input has already run")]
    AlreadyRun,
    #[error("the disk is full")]
    Full,
    /// A sync failed, so what is on disk is unknown: nothing more is written there.
    #[error("read-only after a failed write: {0}")]
    ReadOnly(String),
    #[error("not allowed: {0}")]
    Refused(String),
    #[error("damaged: {0}")]
    Damaged(String),
    /// Tables that this version does not know: nothing was changed.
    #[error("{0} was written by a newer version of Onyx: start that one; nothing was changed")]
    Newer(String),
    #[error("storage failed: {0}")]
    Failed(String),
    /// A server that is elsewhere cannot be reached now: asking again later may help.
    #[error("storage cannot be reached: {0}")]
    Unavailable(String),
}

impl StoreError {
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::NotFound,
            Self::Conflict => ErrorCode::VersionConflict,
            Self::LeaseLost | Self::Busy | Self::AlreadyRun => ErrorCode::SessionBusy,
            Self::Full => ErrorCode::StorageFull,
            Self::Refused(_) => ErrorCode::InvalidRequest,
            Self::ReadOnly(_) | Self::Damaged(_) | Self::Newer(_) | Self::Failed(_) => {
                ErrorCode::StorageFailed
            }
            Self::Unavailable(_) => ErrorCode::StorageUnavailable,
        }
    }
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<ObjectKeyError> for StoreError {
    fn from(error: ObjectKeyError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let mut fault = Self::new(error.code(), error.to_string());
        if let StoreError::Unavailable(_) = error {
            fault.retry_after = Some(ASK_AGAIN);
        }
        fault
    }
}
