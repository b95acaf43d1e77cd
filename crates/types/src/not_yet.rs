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
    /// The `kind` of a provider.
    ProviderKind(&'static str),
    /// A person's choice of how their agents run.
    RuntimeMode(&'static str),
}

/// Everything that does nothing yet.
pub const NOT_YET: &[NotYet] = &[
    NotYet {
        at: NotYetAt::ProviderKind("claude-cli"),
        sentence: "This does nothing yet: Onyx cannot use Claude Code on this machine.",
    },
    NotYet {
        at: NotYetAt::ProviderKind("pi"),
        sentence: "This does nothing yet: Onyx cannot use Pi on this machine.",
    },
    NotYet {
        at: NotYetAt::RuntimeMode("gateway_subscription"),
        sentence: "Nothing answers this way yet: Onyx has no subscription gateway. With fallback, \
                   models answer with their own keys; without it, Anthropic's do not answer.",
    },
];

/// The sentence for this, if it does nothing yet.
pub fn not_yet(at: NotYetAt) -> Option<&'static str> {
    NOT_YET.iter().find(|row| row.at == at).map(|row| row.sentence)
}

/// A row as the app reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotYetView {
    /// `provider.claude-cli`, `runtime.gateway_subscription` and so on.
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
            Self::ProviderKind(name) => format!("provider.{name}"),
            Self::RuntimeMode(name) => format!("runtime.{name}"),
        }
    }
}
