use onyx_storage::StoreError;
use onyx_types::{ErrorCode, Origin};

/// Why a call failed, in words that tell the model how to correct it.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The call itself is wrong; another one can work.
    #[error("{0}")]
    Arguments(String),
    #[error("there is no {0}")]
    NotFound(String),
    /// The call goes outside of what any call of this tool may touch; it is audited as denied.
    #[error("not allowed: {0}")]
    Refused(String),
    #[error("{0} changed since it was read; nothing was written. Read it again and repeat")]
    Conflict(String),
    /// What the call works with failed, in words that hold no secret.
    #[error("{0}")]
    Failed(String),
    /// The same, in words from outside: of a server, a repository, a program.
    #[error("{0}")]
    Heard(String),
    /// It was sent and its outcome is unknown, in words that may come from outside.
    #[error("{0}")]
    InDoubt(String),
    #[error("no answer within {seconds} s")]
    Timeout { seconds: u64 },
    #[error("cancelled before it ended")]
    Cancelled,
    #[error("cancelled before it began; nothing was done")]
    NotBegun,
    #[error(transparent)]
    Storage(#[from] StoreError),
}

impl ToolError {
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Arguments(_) => ErrorCode::InvalidRequest,
            Self::NotFound(_) => ErrorCode::NotFound,
            Self::Refused(_) => ErrorCode::ToolDenied,
            Self::Conflict(_) => ErrorCode::VersionConflict,
            Self::Failed(_) | Self::Heard(_) | Self::InDoubt(_) => ErrorCode::ToolFailed,
            Self::Timeout { .. } => ErrorCode::ToolTimeout,
            Self::Cancelled | Self::NotBegun => ErrorCode::Cancelled,
            Self::Storage(error) => error.code(),
        }
    }

    /// Where its words come from.
    pub(crate) const fn origin(&self) -> Origin {
        match self {
            Self::Heard(_) | Self::InDoubt(_) => Origin::External,
            Self::Arguments(_)
            | Self::NotFound(_)
            | Self::Refused(_)
            | Self::Conflict(_)
            | Self::Failed(_)
            | Self::Timeout { .. }
            | Self::Cancelled
            | Self::NotBegun
            | Self::Storage(_) => Origin::Agent,
        }
    }

    /// The work was left while it went on: whether it took effect is not known.
    pub(crate) const fn leaves_doubt(&self) -> bool {
        match self {
            Self::InDoubt(_) | Self::Timeout { .. } | Self::Cancelled => true,
            Self::Arguments(_)
            | Self::NotFound(_)
            | Self::Refused(_)
            | Self::Conflict(_)
            | Self::Failed(_)
            | Self::Heard(_)
            | Self::NotBegun
            | Self::Storage(_) => false,
        }
    }
}
