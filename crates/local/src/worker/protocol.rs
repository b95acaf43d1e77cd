use std::path::PathBuf;

use onyx_types::{ModelFailure, ModelFailureClass};
use serde::{Deserialize, Serialize};

/// What a process is there for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Job {
    Embed {
        /// Of the model, its tokenizer and the runtime's library.
        folder: PathBuf,
        threads: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    Embed { id: u64, text: String },
    Count { id: u64, text: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The model is loaded.
    Ready,
    /// It cannot be; the process ends.
    Broken {
        class: FailedClass,
        message: String,
    },
    Vector {
        id: u64,
        values: Vec<f32>,
    },
    Counted {
        id: u64,
        tokens: usize,
    },
    Failed {
        id: u64,
        class: FailedClass,
        message: String,
    },
}

impl Reply {
    /// Whose answer it is; `None` for what concerns the whole process.
    pub(crate) const fn id(&self) -> Option<u64> {
        match self {
            Self::Ready | Self::Broken { .. } => None,
            Self::Vector { id, .. } | Self::Counted { id, .. } | Self::Failed { id, .. } => {
                Some(*id)
            }
        }
    }
}

/// The classes of failure that a model in a process can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailedClass {
    /// The request or the file is at fault: the same again fails again.
    Invalid,
    Unavailable,
}

impl FailedClass {
    pub(crate) fn failure(self, message: impl Into<String>) -> ModelFailure {
        let class = match self {
            Self::Invalid => ModelFailureClass::InvalidRequest,
            Self::Unavailable => ModelFailureClass::Unavailable,
        };
        ModelFailure { class, message: message.into() }
    }
}
