//! What is accepted or shown and does nothing yet. This table is the only place that says so: the
//! config's warnings, `onyx doctor` and the web app all read it, and a row goes when its part is
//! built.

use schemars::JsonSchema;
use serde::Serialize;

/// One thing that does nothing yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotYet {
    pub at: NotYetAt,
    /// What a person is told, a whole sentence.
    pub sentence: &'static str,
}

/// Where a person meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotYetAt {
    /// A key at the top of `onyx.json`.
    ConfigSection(&'static str),
}

/// Everything that does nothing yet.
pub const NOT_YET: &[NotYet] = &[NotYet {
    at: NotYetAt::ConfigSection("storage"),
    sentence: "This does nothing yet: everything is kept in the home folder.",
}];

/// The sentence for this, if it does nothing yet.
pub fn not_yet(at: NotYetAt) -> Option<&'static str> {
    NOT_YET.iter().find(|row| row.at == at).map(|row| row.sentence)
}

/// A row as the app reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotYetView {
    /// `config.storage` and so on.
    pub id: String,
    pub sentence: String,
}

impl NotYetView {
    pub fn all() -> Vec<Self> {
        NOT_YET
            .iter()
            .map(|row| Self { id: row.at.id(), sentence: row.sentence.to_owned() })
            .collect()
    }
}

impl NotYetAt {
    pub fn id(self) -> String {
        match self {
            Self::ConfigSection(name) => format!("config.{name}"),
        }
    }
}
