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
    /// Why the import failed as a whole. Errors of single documents are stored with these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synced_at: Option<Timestamp>,
    #[serde(default)]
    pub documents: Vec<DocumentRecord>,
    /// Fields of a newer version, kept as they are.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Where a source comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Supply {
    /// A file of the person's vault.
    File {
        path: String,
    },
    /// A file that was sent.
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
    /// Onyx stopped while it was being imported: sync it again.
    Interrupted,
    Ready,
    /// Some of its documents could not be read.
    Partial,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentRecord {
    /// Its origin: a path in the vault, an address, a name.
    pub from: String,
    pub title: String,
    /// Its text, beside `source.json`; none where it was never read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The checksum of the unchanged document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<Hash>,
    pub bytes: u64,
    /// Why it could not be read the last time; its text is then an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
