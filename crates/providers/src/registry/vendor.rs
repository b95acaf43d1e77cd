//! Known provider names and what they bring, so that a key alone suffices.

use super::settings::{CompatSettings, ProviderKind};
use crate::wire::{MaxTokensField, PromptCacheKey, ReasoningReplay, StreamUsage, SystemRole};

/// One row of the table; settings of the same name go before it, field by field.
#[derive(Clone, Copy, Debug)]
pub struct Vendor {
    pub name: &'static str,
    pub kind: ProviderKind,
    /// None where every account has an address of its own.
    pub base_url: Option<&'static str>,
    pub key: KeyNeed,
    pub auth: AuthStyle,
    pub compat: Quirks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyNeed {
    /// Without one the provider is disabled; the variable is used when the config names no key.
    Required {
        variable: &'static str,
    },
    Optional,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthStyle {
    Bearer,
    /// The key alone in a header of this name.
    Header(&'static str),
}

/// The compat settings of a row, in a form that fits into a constant.
#[derive(Clone, Copy, Debug)]
pub struct Quirks {
    system_role: SystemRole,
    max_tokens_field: MaxTokensField,
    stream_usage: StreamUsage,
    prompt_cache_key: PromptCacheKey,
    reasoning_replay: ReasoningReplay,
    dropped_schema_keywords: &'static [&'static str],
}

/// What any compatible server understands.
pub(super) const PLAIN: Quirks = Quirks {
    system_role: SystemRole::System,
    max_tokens_field: MaxTokensField::MaxTokens,
    stream_usage: StreamUsage::Ask,
    prompt_cache_key: PromptCacheKey::Omit,
    reasoning_replay: ReasoningReplay::Omit,
    dropped_schema_keywords: &[],
};

const OPENAI: Quirks = Quirks {
    system_role: SystemRole::Developer,
    max_tokens_field: MaxTokensField::MaxCompletionTokens,
    prompt_cache_key: PromptCacheKey::Send,
    ..PLAIN
};

/// Mistral sends usage unasked and refuses the field that asks for it.
const MISTRAL: Quirks = Quirks { stream_usage: StreamUsage::Never, ..PLAIN };

const DEEPSEEK: Quirks = Quirks { reasoning_replay: ReasoningReplay::Text, ..PLAIN };

use AuthStyle::{Bearer, Header};
use KeyNeed::Optional;
use ProviderKind as Kind;

pub const VENDORS: &[Vendor] = &[
    hosted("openai", Kind::OpenAi, "https://api.openai.com/v1", "OPENAI_API_KEY", OPENAI),
    hosted("openrouter", Kind::OpenAi, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", PLAIN),
    hosted("groq", Kind::OpenAi, "https://api.groq.com/openai/v1", "GROQ_API_KEY", PLAIN),
    hosted("mistral", Kind::OpenAi, "https://api.mistral.ai/v1", "MISTRAL_API_KEY", MISTRAL),
    hosted("deepseek", Kind::OpenAi, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", DEEPSEEK),
    hosted("xai", Kind::OpenAi, "https://api.x.ai/v1", "XAI_API_KEY", PLAIN),
    hosted("together", Kind::OpenAi, "https://api.together.xyz/v1", "TOGETHER_API_KEY", PLAIN),
    Vendor {
        auth: Header("api-key"),
        base_url: None,
        ..hosted("azure", Kind::OpenAi, "", "AZURE_OPENAI_API_KEY", OPENAI)
    },
    on_this_machine("ollama", Kind::Ollama, "http://127.0.0.1:11434"),
    on_this_machine("lmstudio", Kind::OpenAi, "http://127.0.0.1:1234/v1"),
    on_this_machine("vllm", Kind::OpenAi, "http://127.0.0.1:8000/v1"),
    on_this_machine("llama.cpp", Kind::OpenAi, "http://127.0.0.1:8080/v1"),
    Vendor {
        auth: Header("x-api-key"),
        ..hosted(
            "anthropic",
            Kind::Anthropic,
            "https://api.anthropic.com",
            "ANTHROPIC_API_KEY",
            PLAIN,
        )
    },
    without_wire("gemini", Kind::Gemini),
    without_wire("vertex_ai", Kind::Gemini),
    without_wire("bedrock", Kind::Bedrock),
    without_wire("github_copilot", Kind::OpenAiResponses),
    without_wire("chatgpt", Kind::OpenAiResponses),
    without_wire("claude-subscription", Kind::ClaudeCli),
    without_wire("pi", Kind::Pi),
    without_wire("local", Kind::Embedded),
];

pub(super) fn vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}

const fn hosted(
    name: &'static str,
    kind: ProviderKind,
    base_url: &'static str,
    variable: &'static str,
    compat: Quirks,
) -> Vendor {
    let key = KeyNeed::Required { variable };
    Vendor { name, kind, base_url: Some(base_url), key, auth: Bearer, compat }
}

const fn on_this_machine(name: &'static str, kind: ProviderKind, base_url: &'static str) -> Vendor {
    Vendor { name, kind, base_url: Some(base_url), key: Optional, auth: Bearer, compat: PLAIN }
}

const fn without_wire(name: &'static str, kind: ProviderKind) -> Vendor {
    Vendor { name, kind, base_url: None, key: Optional, auth: Bearer, compat: PLAIN }
}

impl Quirks {
    /// The row's quirks with the settings laid over them.
    pub(super) fn with(self, settings: &CompatSettings) -> crate::wire::Compat {
        let dropped = || self.dropped_schema_keywords.iter().map(|&word| word.to_owned()).collect();
        crate::wire::Compat {
            system_role: settings.system_role.unwrap_or(self.system_role),
            max_tokens_field: settings.max_tokens_field.unwrap_or(self.max_tokens_field),
            stream_usage: settings.stream_usage.unwrap_or(self.stream_usage),
            prompt_cache_key: settings.prompt_cache_key.unwrap_or(self.prompt_cache_key),
            reasoning_replay: settings.reasoning_replay.unwrap_or(self.reasoning_replay),
            dropped_schema_keywords: settings
                .dropped_schema_keywords
                .clone()
                .unwrap_or_else(dropped),
            thinking_budget: settings.thinking_budget,
        }
    }
}
