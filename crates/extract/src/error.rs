use onyx_types::{ErrorCode, Fault};

/// Why a document gave no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    #[error("it is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// The document is nested or repeated so that reading it would cost far more than its size.
    #[error("its {0} is too deep or too tangled to be read safely")]
    TooComplex(&'static str),
    #[error("it is not text, and no format that can be read")]
    NotText,
    #[error("it is damaged: {0}")]
    Damaged(String),
    #[error("no text was found in it")]
    NoText,
    /// The program that recognises text on pictures is not installed.
    #[error("it is a picture or a scan; install `tesseract` to have the text on it read")]
    NeedsOcr,
    #[error("`tesseract` has no language to read with; install one, such as `tesseract-ocr-eng`")]
    NoLanguage,
    /// The document is whole, but it holds something that no reader here understands.
    #[error("{0}")]
    Unreadable(String),
    #[error("it is locked with a password")]
    Encrypted,
    #[error("reading it took more than {seconds} seconds or more memory than is allowed")]
    TooCostly { seconds: u64 },
    /// The process that reads documents could not be started, or its answer could not be read.
    #[error("the document reader failed: {0}")]
    Reader(String),
}

impl ExtractError {
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::TooLarge { .. } => ErrorCode::TooLarge,
            Self::TooComplex(_)
            | Self::NotText
            | Self::Damaged(_)
            | Self::NoText
            | Self::NeedsOcr
            | Self::NoLanguage
            | Self::Unreadable(_)
            | Self::Encrypted
            | Self::TooCostly { .. } => ErrorCode::InvalidRequest,
            Self::Reader(_) => ErrorCode::Internal,
        }
    }
}

impl From<ExtractError> for Fault {
    fn from(error: ExtractError) -> Self {
        Self::new(error.code(), format!("the document cannot be read: {error}"))
    }
}
