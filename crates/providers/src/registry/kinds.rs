//! The kinds of providers, one row each: everything in which kinds differ outside of their wires.
//! What one vendor does differently is in `vendor.rs`.

use serde::{Deserialize, Serialize};

use super::vendor::AuthStyle;
use crate::embed::EmbeddingWire;
use crate::wire::{ModelPlace, Wire};

/// What a provider is, by its name in the config.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    #[serde(rename = "openai")]
    OpenAi,
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    Anthropic,
    Gemini,
    Ollama,
    Bedrock,
    ClaudeCli,
    Pi,
    Embedded,
}

/// One kind of provider.
pub(super) struct KindRow {
    /// The name in the config.
    pub(super) name: &'static str,
    pub(super) reached_by: ReachedBy,
    /// How servers of the kind expect the key, unless their vendor differs.
    pub(super) key: AuthStyle,
    /// The vendor, if the kind has only one.
    pub(super) vendor: Option<&'static str>,
    /// Makes of a base address the one that lists the models.
    pub(super) list: Option<fn(&str) -> String>,
    pub(super) embeddings: Option<EmbeddingWire>,
}

/// How requests reach the models of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReachedBy {
    Wire(Wire),
    /// A program of this machine.
    Program,
    /// A source that is given to the registry.
    Source,
}

const OPENAI: KindRow = KindRow {
    name: "openai",
    reached_by: ReachedBy::Wire(Wire::OpenAiChat),
    key: AuthStyle::Bearer,
    vendor: None,
    list: Some(openai_list),
    embeddings: Some(EmbeddingWire::OpenAi),
};

const OPENAI_RESPONSES: KindRow = KindRow {
    name: "openai-responses",
    reached_by: ReachedBy::Wire(Wire::OpenAiResponses),
    vendor: Some("openai"),
    ..OPENAI
};

const ANTHROPIC: KindRow = KindRow {
    name: "anthropic",
    reached_by: ReachedBy::Wire(Wire::Anthropic),
    key: AuthStyle::Header("x-api-key"),
    vendor: Some("anthropic"),
    list: Some(anthropic_list),
    embeddings: None,
};

const GEMINI: KindRow = KindRow {
    name: "gemini",
    reached_by: ReachedBy::Wire(Wire::Gemini),
    key: AuthStyle::Header("x-goog-api-key"),
    vendor: Some("gemini"),
    list: Some(gemini_list),
    embeddings: None,
};

const OLLAMA: KindRow = KindRow {
    name: "ollama",
    reached_by: ReachedBy::Wire(Wire::Ollama),
    key: AuthStyle::Bearer,
    vendor: Some("ollama"),
    list: Some(ollama_list),
    embeddings: Some(EmbeddingWire::Ollama),
};

const BEDROCK: KindRow = without_wire("bedrock", ReachedBy::Source);
const CLAUDE_CLI: KindRow = without_wire("claude-cli", ReachedBy::Program);
const PI: KindRow = without_wire("pi", ReachedBy::Program);
const EMBEDDED: KindRow = without_wire("embedded", ReachedBy::Source);

const fn without_wire(name: &'static str, reached_by: ReachedBy) -> KindRow {
    KindRow { name, reached_by, key: AuthStyle::Bearer, vendor: None, list: None, embeddings: None }
}

impl ProviderKind {
    pub(super) const fn row(self) -> &'static KindRow {
        match self {
            Self::OpenAi => &OPENAI,
            Self::OpenAiResponses => &OPENAI_RESPONSES,
            Self::Anthropic => &ANTHROPIC,
            Self::Gemini => &GEMINI,
            Self::Ollama => &OLLAMA,
            Self::Bedrock => &BEDROCK,
            Self::ClaudeCli => &CLAUDE_CLI,
            Self::Pi => &PI,
            Self::Embedded => &EMBEDDED,
        }
    }

    /// The name in the config.
    pub const fn as_str(self) -> &'static str {
        self.row().name
    }
}

fn openai_list(base: &str) -> String {
    format!("{base}/models")
}

fn anthropic_list(base: &str) -> String {
    format!("{}/v1/models?limit=1000", without_version(base))
}

/// The wire's own address lists the models, and each model is below it.
fn gemini_list(base: &str) -> String {
    format!("{}?pageSize=1000", Wire::Gemini.endpoint(base, ModelPlace::Body))
}

fn ollama_list(base: &str) -> String {
    format!("{}/api/tags", without_version(base))
}

/// Some base addresses contain the version and others do not, as in their vendors' own examples.
fn without_version(base: &str) -> &str {
    base.strip_suffix("/v1").unwrap_or(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ProviderKind; 9] = [
        ProviderKind::OpenAi,
        ProviderKind::OpenAiResponses,
        ProviderKind::Anthropic,
        ProviderKind::Gemini,
        ProviderKind::Ollama,
        ProviderKind::Bedrock,
        ProviderKind::ClaudeCli,
        ProviderKind::Pi,
        ProviderKind::Embedded,
    ];

    #[test]
    fn a_kind_is_written_in_the_config_as_its_row_names_it() {
        for kind in ALL {
            let written = serde_json::to_value(kind).unwrap();
            assert_eq!(written, kind.as_str());
        }
    }

    #[test]
    fn a_list_of_models_is_beside_the_version_of_its_base_address() {
        let list = |kind: ProviderKind, base: &str| kind.row().list.map(|address| address(base));
        for (kind, base, address) in [
            (ProviderKind::OpenAi, "https://a.example/v1", "https://a.example/v1/models"),
            (ProviderKind::OpenAiResponses, "https://a.example", "https://a.example/models"),
            (
                ProviderKind::Anthropic,
                "https://a.example/v1",
                "https://a.example/v1/models?limit=1000",
            ),
            (ProviderKind::Ollama, "http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/api/tags"),
            (ProviderKind::Ollama, "http://127.0.0.1:11434", "http://127.0.0.1:11434/api/tags"),
        ] {
            assert_eq!(list(kind, base).as_deref(), Some(address), "{kind:?}");
        }
        assert_eq!(list(ProviderKind::Pi, "https://a.example"), None);
    }
}
