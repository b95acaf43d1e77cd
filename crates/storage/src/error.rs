use std::io;
use std::time::Duration;

use onyx_types::{ErrorCode, Fault};

use crate::ObjectKeyError;

/// The time after which asking an unreachable server again may succeed.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Why a store did not do what it was asked. Errors are classified by errno and result code, never
/// by their words.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("not found")]
    NotFound,
    #[error("the content changed since it was read")]
    Conflict,
    /// The lease expired or was lost to another holder, so the write did not happen.
    #[error("the lease on this work is no longer held: others may have taken it over")]
    LeaseLost,
    #[error("the session is busy")]
    Busy,
    /// The same input is already running, or has been run to a good end.
    #[error("this input has already run")]
    AlreadyRun,
    #[error("the disk is full")]
    Full,
    /// A sync failed, so it is unknown what is on the disk, and nothing more is written there.
    #[error("read-only after a failed write: {0}")]
    ReadOnly(String),
    #[error("not allowed: {0}")]
    Refused(String),
    #[error("damaged: {0}")]
    Damaged(String),
    /// The tables are of a version that this program does not know. Nothing was changed.
    #[error("{0} was written by a newer version of Onyx: start that one; nothing was changed")]
    Newer(String),
    #[error("storage failed: {0}")]
    Failed(String),
    /// A server on the network cannot be reached now. Asking again later may help.
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
