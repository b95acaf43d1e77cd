use onyx_storage::StoreError;
use onyx_types::{ErrorCode, Fault};

/// The reason why the index could not answer. A search without hits is no error.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the text index: {0}")]
    Text(String),
    #[error("the text index: {0}")]
    Io(#[from] std::io::Error),
}

impl From<KnowledgeError> for Fault {
    fn from(error: KnowledgeError) -> Self {
        match error {
            KnowledgeError::Store(error) => error.into(),
            KnowledgeError::Text(_) | KnowledgeError::Io(_) => {
                let message = format!("The search index does not work: {error}.");
                Self::new(ErrorCode::StorageFailed, message)
                    .with_hint("Run `onyx reindex`; it rebuilds the index from your files.")
            }
        }
    }
}

impl From<KnowledgeError> for StoreError {
    fn from(error: KnowledgeError) -> Self {
        match error {
            KnowledgeError::Store(error) => error,
            KnowledgeError::Text(_) | KnowledgeError::Io(_) => Self::Failed(error.to_string()),
        }
    }
}
