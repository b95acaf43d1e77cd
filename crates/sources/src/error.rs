use onyx_storage::StoreError;
use onyx_types::{ErrorCode, Fault};

/// Why an operation on a source failed. A failed import is reported in the source's record instead.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SourceError {
    #[error("there is no such source")]
    NotFound,
    /// The request has an invalid value in `field`.
    #[error("{field}: {why}")]
    Invalid { field: &'static str, why: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SourceError {
    pub(crate) fn invalid(field: &'static str, why: impl Into<String>) -> Self {
        Self::Invalid { field, why: why.into() }
    }
}

impl From<onyx_storage::ObjectKeyError> for SourceError {
    fn from(error: onyx_storage::ObjectKeyError) -> Self {
        Self::Store(error.into())
    }
}

impl From<SourceError> for Fault {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::NotFound => Self::new(ErrorCode::NotFound, error.to_string()),
            SourceError::Invalid { .. } => Self::new(ErrorCode::InvalidRequest, error.to_string()),
            SourceError::Store(error) => error.into(),
        }
    }
}
