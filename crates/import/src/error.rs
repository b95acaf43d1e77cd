use std::io;
use std::path::{Path, PathBuf};

use onyx_types::{ErrorCode, Fault};

/// Why an export cannot be read. Nothing was written when one of these is returned.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The content of the program's file does not have the form that the program writes.
    #[error("{file}, line {line}: {why}")]
    Broken { file: String, line: usize, why: String },
    /// The path holds nothing of this program.
    #[error("{} is no {program}: {why}", path.display())]
    NotIt { path: PathBuf, program: &'static str, why: String },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{file}: {why}")]
    Database { file: String, why: String },
    #[error("{0}")]
    TooLarge(String),
}

impl ImportError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn broken(file: &str, line: usize, why: impl Into<String>) -> Self {
        Self::Broken { file: file.to_owned(), line, why: why.into() }
    }

    /// Whether only one file is broken, so that the others may still be read.
    pub(crate) const fn is_of_one_file(&self) -> bool {
        match self {
            Self::Broken { .. } | Self::Database { .. } => true,
            Self::NotIt { .. } | Self::Io { .. } | Self::TooLarge(_) => false,
        }
    }

    const fn code(&self) -> ErrorCode {
        match self {
            Self::TooLarge(_) => ErrorCode::TooLarge,
            Self::Io { .. } | Self::Broken { .. } | Self::NotIt { .. } | Self::Database { .. } => {
                ErrorCode::InvalidRequest
            }
        }
    }

    const fn hint(&self) -> &'static str {
        match self {
            Self::Broken { .. } | Self::Database { .. } => {
                "Nothing was imported. Fix the file, or skip it with --skip-broken."
            }
            Self::NotIt { .. } => "Name the program's own folder or the file that it exported.",
            Self::Io { .. } => "Check that it exists and that you may read it.",
            Self::TooLarge(_) => "Unpack it and import its parts one by one.",
        }
    }
}

impl From<ImportError> for Fault {
    fn from(error: ImportError) -> Self {
        Self::new(error.code(), error.to_string()).with_hint(error.hint())
    }
}
