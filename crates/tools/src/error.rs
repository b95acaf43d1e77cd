use onyx_storage::StoreError;
use onyx_types::{ErrorCode, Origin};

/// Why a call failed. The text tells the model how to correct the call.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The arguments are wrong; a corrected call can work.
    #[error("{0}")]
    Arguments(String),
    #[error("there is no {0}")]
    NotFound(String),
    /// The call touches something that no call of this tool may touch. It is audited as denied.
    #[error("not allowed: {0}")]
    Refused(String),
    #[error("{0} changed since it was read; nothing was written. Read it again and repeat")]
    Conflict(String),
    /// A part that the call uses failed. The text holds no secrets.
    #[error("{0}")]
    Failed(String),
    /// A server, repository or program reported a failure. The text comes from outside.
    #[error("{0}")]
    Heard(String),
    /// A request was sent and its outcome is unknown. The text may come from outside.
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

    /// The origin of the error's text.
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

    /// Whether the call may have taken effect although it failed.
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
