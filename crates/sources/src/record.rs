use onyx_types::{Hash, Scope, SourceId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The content of `source.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceRecord {
    pub id: SourceId,
    pub scope: Scope,
    pub from: Supply,
    pub title: String,
    pub state: SourceState,
    /// Why the whole import failed. The errors of single documents are stored with the documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced_at: Option<Timestamp>,
    #[serde(default)]
    pub documents: Vec<DocumentRecord>,
    /// Fields of a newer version, which are kept unchanged.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The origin of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Supply {
    /// A file of the person's vault.
    File {
        path: String,
    },
    /// An uploaded file.
    Upload {
        name: String,
        media_type: Option<String>,
    },
    /// A folder of the person's vault, with everything below it.
    Folder {
        path: String,
    },
    Url {
        url: String,
    },
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    Importing,
    /// Onyx stopped during the import, so the source must be synced again.
    Interrupted,
    Ready,
    /// Some documents of the source could not be read.
    Partial,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentRecord {
    /// The origin of the document: a path in the vault, an address, or a name.
    pub from: String,
    pub title: String,
    /// The file with the document's text, beside `source.json`; `None` if it was never read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The checksum of the original document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<Hash>,
    pub bytes: u64,
    /// Why the document could not be read the last time, and its text is an earlier one; or why
    /// some of its pages are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
