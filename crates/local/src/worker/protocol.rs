use std::path::PathBuf;

use onyx_types::{ModelFailure, ModelFailureClass};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The task of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkerTask {
    Embed {
        /// The folder that holds the model, its tokenizer and the runtime's library.
        folder: PathBuf,
        threads: usize,
    },
    Generate {
        file: PathBuf,
        /// The path of llama.cpp's library; `None` if it is compiled in.
        library: Option<PathBuf>,
        window: u32,
        threads: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkerRequest {
    Embed {
        id: u64,
        text: String,
    },
    /// Embeds a text and returns the vectors of its tokens too.
    EmbedTokens {
        id: u64,
        text: String,
    },
    Count {
        id: u64,
        text: String,
    },
    Generate {
        id: u64,
        chat: Chat,
    },
    /// Cancels a request whose answer is no longer needed.
    Cancel {
        id: u64,
    },
}

/// One call as it is sent to the model's process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Chat {
    pub(crate) messages: Vec<ChatMessage>,
    /// The tools in the form of OpenAI's functions, which templates are written for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<Value>,
    /// The JSON schema that the answer must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<Value>,
    pub(crate) max_tokens: u32,
    #[serde(default)]
    pub(crate) temperature: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChatMessage {
    pub(crate) role: String,
    pub(crate) content: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_calls: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// The model is loaded.
    Ready,
    /// The model cannot be loaded; the process ends.
    Broken {
        class: FailedClass,
        message: String,
    },
    Vector {
        id: u64,
        values: Vec<f32>,
    },
    TokenVectors {
        id: u64,
        values: Vec<f32>,
        words: Vec<String>,
        /// The vectors of the tokens with one byte for each number, in base64.
        tokens: String,
    },
    Counted {
        id: u64,
        tokens: usize,
    },
    Piece {
        id: u64,
        text: String,
    },
    /// The last reply of an answer. The `cached` tokens are part of the prompt.
    End {
        id: u64,
        how: AnswerEnd,
        prompt: u64,
        cached: u64,
        output: u64,
    },
    Failed {
        id: u64,
        class: FailedClass,
        message: String,
    },
}

impl Reply {
    /// The id of the request; `None` for a reply about the whole process.
    pub(crate) const fn id(&self) -> Option<u64> {
        match self {
            Self::Ready | Self::Broken { .. } => None,
            Self::Vector { id, .. }
            | Self::TokenVectors { id, .. }
            | Self::Counted { id, .. }
            | Self::Piece { id, .. }
            | Self::End { id, .. }
            | Self::Failed { id, .. } => Some(*id),
        }
    }

    /// Whether this is the last reply to its request.
    pub(crate) const fn is_last(&self) -> bool {
        match self {
            Self::Ready | Self::Piece { .. } => false,
            Self::Broken { .. }
            | Self::Vector { .. }
            | Self::TokenVectors { .. }
            | Self::Counted { .. }
            | Self::End { .. }
            | Self::Failed { .. } => true,
        }
    }

    /// The failure of a request that got this unexpected reply.
    pub(crate) fn unexpected(&self) -> ModelFailure {
        FailedClass::Unavailable.failure(format!("the model's process answered {self:?}"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AnswerEnd {
    Stop,
    Length,
}

/// The classes of failure that a model in a process can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailedClass {
    /// The request or the file is at fault: the same request fails again.
    Invalid,
    ContextLength,
    Unavailable,
}

impl FailedClass {
    pub(crate) fn failure(self, message: impl Into<String>) -> ModelFailure {
        let class = match self {
            Self::Invalid => ModelFailureClass::InvalidRequest,
            Self::ContextLength => ModelFailureClass::ContextLength,
            Self::Unavailable => ModelFailureClass::Unavailable,
        };
        ModelFailure::new(class, message)
    }
}
