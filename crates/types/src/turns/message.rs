use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ToolUseId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

/// One message of a model's history, independent of any provider's wire format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub content: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    Image {
        media_type: String,
        /// The bytes in Base64.
        data: String,
    },
    /// A document, or an image that is stored elsewhere.
    Attachment(Attachment),
    /// Reasoning in the provider's form. It is not interpreted, and replayed only to the model that
    /// produced it.
    Reasoning {
        model: String,
        data: Value,
    },
    ToolUse {
        id: ToolUseId,
        name: String,
        input: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_data: Option<Value>,
    },
    ToolResult {
        id: ToolUseId,
        content: String,
        is_error: bool,
    },
}

/// A document or image that a person sends along with their words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attachment {
    /// The media type, such as `application/pdf`; `image/*` for an image whose type only its server
    /// knows.
    pub media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub source: AttachmentSource,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentSource {
    /// The bytes in Base64.
    Data(String),
    /// An address where the model's provider may fetch the content. Onyx never does, because a
    /// request must not make this server visit an address.
    Url(String),
}

impl Attachment {
    pub fn is_image(&self) -> bool {
        self.media_type.starts_with("image/")
    }

    pub fn byte_len(&self) -> usize {
        match &self.source {
            AttachmentSource::Data(text) | AttachmentSource::Url(text) => text.len(),
        }
    }

    /// The file's name for formats that need one.
    pub fn file_name(&self) -> &str {
        self.name.as_deref().unwrap_or("document.pdf")
    }
}

impl Message {
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, content: vec![Block::Text { text: text.into() }] }
    }

    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, content: vec![Block::Text { text: text.into() }] }
    }
}
