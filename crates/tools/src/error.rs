use onyx_storage::StoreError;

/// Why a call did not work, in words that tell the model how to mend it.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The call itself is wrong; another one can work.
    #[error("{0}")]
    Arguments(String),
    #[error("there is no {0}")]
    NotFound(String),
    /// Outside of what any call of this tool may touch; audited as denied.
    #[error("not allowed: {0}")]
    Refused(String),
    #[error("{0} changed since it was read; nothing was written. Read it again and repeat")]
    Conflict(String),
    #[error("no answer within {0} s; the outcome is unknown, check before repeating")]
    Timeout(u64),
    #[error("cancelled; the outcome is unknown, check before repeating")]
    Cancelled,
    #[error(transparent)]
    Storage(#[from] StoreError),
}
