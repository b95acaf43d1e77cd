//! Known provider names and their defaults, so that a key alone suffices.

use serde::{Deserialize, Serialize};

use super::kinds::ProviderKind;
use super::settings::CompatSettings;
use crate::oauth::{CHATGPT, GITHUB_COPILOT, VendorLogin};
use crate::wire::{
    ExtraSampling, MaxTokensField, ModelPlace, PromptCacheKey, ReasoningReplay, RequestHeaders,
    StreamUsage, SystemRole,
};

/// One row of the table; settings of the same name override it, field by field.
#[derive(Clone, Copy, Debug)]
pub struct Vendor {
    pub name: &'static str,
    pub kind: ProviderKind,
    /// The address; `None` if every account has one of its own.
    pub base_url: Option<&'static str>,
    pub key: KeyNeed,
    pub auth: AuthStyle,
    pub compat: Quirks,
    pub locality: Locality,
    /// The default model: one that is good at its work without being expensive.
    pub default_model: Option<&'static str>,
    /// The sign-in, if it is known; the client id comes from the config.
    pub login: Option<VendorLogin>,
    /// Headers that the vendor's servers require in every request.
    pub headers: &'static [(&'static str, &'static str)],
    /// The kinds of models by the prefix of their names; all others are of the vendor's own kind.
    pub wires: &'static [(&'static str, ProviderKind)],
    /// The machine's own identity that is used if neither a key nor a sign-in is set.
    pub machine: MachineIdentity,
}

/// The machine identity that a vendor uses without further settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineIdentity {
    None,
    /// The application default credentials.
    Google,
}

/// Where a provider's models run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Locality {
    Hosted,
    /// Nothing leaves the machine, and nothing is charged.
    ThisMachine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyNeed {
    /// Without a key the provider is disabled; the variable is used when the config names no key.
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
    model_place: ModelPlace,
    extra_sampling: ExtraSampling,
    request_headers: RequestHeaders,
    dropped_schema_keywords: &'static [&'static str],
}

/// The settings that any compatible server understands.
pub(super) const PLAIN: Quirks = Quirks {
    system_role: SystemRole::System,
    max_tokens_field: MaxTokensField::MaxTokens,
    stream_usage: StreamUsage::Ask,
    prompt_cache_key: PromptCacheKey::Omit,
    reasoning_replay: ReasoningReplay::Omit,
    model_place: ModelPlace::Body,
    extra_sampling: ExtraSampling::Omit,
    request_headers: RequestHeaders::Plain,
    dropped_schema_keywords: &[],
};

const OPENAI: Quirks = Quirks {
    system_role: SystemRole::Developer,
    max_tokens_field: MaxTokensField::MaxCompletionTokens,
    prompt_cache_key: PromptCacheKey::Send,
    ..PLAIN
};

/// OpenRouter passes these settings on to whichever server supports them.
const OPENROUTER: Quirks = Quirks { extra_sampling: ExtraSampling::Send, ..PLAIN };

/// Mistral sends usage unasked and refuses the field that asks for it.
const MISTRAL: Quirks = Quirks { stream_usage: StreamUsage::Never, ..PLAIN };

/// Google serves Anthropic's models under its own addresses, one for each.
const VERTEX_CLAUDE: Quirks = Quirks { model_place: ModelPlace::VertexPath, ..PLAIN };

const DEEPSEEK: Quirks = Quirks { reasoning_replay: ReasoningReplay::Text, ..PLAIN };

/// Copilot's servers require headers that say who began a request and whether it holds pictures.
const COPILOT: Quirks = Quirks {
    request_headers: RequestHeaders::Copilot,
    max_tokens_field: MaxTokensField::MaxTokens,
    ..PLAIN
};

/// With a subscription, the server decides how long an answer may be.
const CHATGPT_BACKEND: Quirks = Quirks {
    max_tokens_field: MaxTokensField::Omit,
    prompt_cache_key: PromptCacheKey::Send,
    ..PLAIN
};

/// The client names that Copilot's servers require. Onyx gives its own; an integration id that
/// GitHub issued goes into `headers`.
const COPILOT_HEADERS: &[(&str, &str)] = &[
    ("editor-version", concat!("onyx/", env!("CARGO_PKG_VERSION"))),
    ("editor-plugin-version", concat!("onyx/", env!("CARGO_PKG_VERSION"))),
    ("openai-intent", "conversation-edits"),
];

/// The wires of Copilot's models, by the prefix of their names; the others use OpenAI's chat.
const COPILOT_WIRES: &[(&str, ProviderKind)] = &[
    ("claude", ProviderKind::Anthropic),
    ("gpt-5", ProviderKind::OpenAiResponses),
    ("o3", ProviderKind::OpenAiResponses),
    ("o4", ProviderKind::OpenAiResponses),
];

use AuthStyle::{Bearer, Header};
use KeyNeed::Optional;
use ProviderKind as Kind;

pub const VENDORS: &[Vendor] = &[
    hosted("openai", Kind::OpenAi, "https://api.openai.com/v1", "OPENAI_API_KEY", OPENAI)
        .usually("gpt-5-mini"),
    hosted("anthropic", Kind::Anthropic, "https://api.anthropic.com", "ANTHROPIC_API_KEY", PLAIN)
        .usually("claude-sonnet-5"),
    hosted(
        "gemini",
        Kind::Gemini,
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        PLAIN,
    )
    .usually("gemini-flash-latest"),
    Vendor {
        compat: OPENROUTER,
        ..compatible("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY")
    },
    compatible("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY")
        .usually("openai/gpt-oss-120b"),
    hosted("mistral", Kind::OpenAi, "https://api.mistral.ai/v1", "MISTRAL_API_KEY", MISTRAL)
        .usually("mistral-small-latest"),
    hosted("deepseek", Kind::OpenAi, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", DEEPSEEK)
        .usually("deepseek-chat"),
    compatible("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    compatible("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    compatible("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    compatible("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY")
        .usually("gpt-oss-120b"),
    compatible("deepinfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    compatible("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    compatible("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY").usually("sonar"),
    Vendor {
        auth: Header("api-key"),
        base_url: None,
        ..hosted("azure", Kind::OpenAi, "", "AZURE_OPENAI_API_KEY", OPENAI)
    },
    // The address names project and region; a key is an access token.
    Vendor {
        auth: Bearer,
        machine: MachineIdentity::Google,
        ..elsewhere("vertex_ai", Kind::Gemini)
    },
    Vendor {
        auth: Bearer,
        compat: VERTEX_CLAUDE,
        machine: MachineIdentity::Google,
        ..elsewhere("vertex_claude", Kind::Anthropic)
    },
    on_this_machine("ollama", Kind::Ollama, "http://127.0.0.1:11434"),
    on_this_machine("lmstudio", Kind::OpenAi, "http://127.0.0.1:1234/v1"),
    on_this_machine("vllm", Kind::OpenAi, "http://127.0.0.1:8000/v1"),
    on_this_machine("llama.cpp", Kind::OpenAi, "http://127.0.0.1:8080/v1"),
    on_this_machine("llamacpp", Kind::OpenAi, "http://127.0.0.1:8080/v1"),
    elsewhere("bedrock", Kind::Bedrock),
    Vendor {
        base_url: Some("https://api.githubcopilot.com"),
        login: Some(GITHUB_COPILOT),
        compat: COPILOT,
        headers: COPILOT_HEADERS,
        wires: COPILOT_WIRES,
        ..elsewhere("github_copilot", Kind::OpenAi)
    },
    Vendor {
        base_url: Some("https://chatgpt.com/backend-api/codex"),
        login: Some(CHATGPT),
        compat: CHATGPT_BACKEND,
        ..elsewhere("chatgpt", Kind::OpenAiResponses)
    },
    elsewhere("claude-subscription", Kind::ClaudeCli),
    elsewhere("pi", Kind::Pi),
    Vendor { locality: Locality::ThisMachine, ..elsewhere("local", Kind::Embedded) }
        .usually("smollm2"),
];

pub(super) fn vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}

/// The vendor of a provider's models, if the provider's name does not say it: for kinds that only
/// one vendor has.
pub(super) fn home_vendor(name: &str, kind: ProviderKind) -> Option<&'static str> {
    if name == "vertex_claude" {
        return Some("vertex_ai");
    }
    if vendor(name).is_some() {
        return None;
    }
    kind.row().vendor
}

const fn hosted(
    name: &'static str,
    kind: ProviderKind,
    base_url: &'static str,
    variable: &'static str,
    compat: Quirks,
) -> Vendor {
    Vendor {
        name,
        kind,
        base_url: Some(base_url),
        key: KeyNeed::Required { variable },
        auth: kind.row().key,
        compat,
        locality: Locality::Hosted,
        default_model: None,
        login: None,
        headers: &[],
        wires: &[],
        machine: MachineIdentity::None,
    }
}

/// A hosted server of the OpenAI chat wire without differences of its own.
const fn compatible(name: &'static str, base_url: &'static str, variable: &'static str) -> Vendor {
    hosted(name, ProviderKind::OpenAi, base_url, variable, PLAIN)
}

const fn on_this_machine(name: &'static str, kind: ProviderKind, base_url: &'static str) -> Vendor {
    let locality = Locality::ThisMachine;
    Vendor { base_url: Some(base_url), locality, ..elsewhere(name, kind) }
}

/// A vendor whose address differs for each customer, so it has no default.
const fn elsewhere(name: &'static str, kind: ProviderKind) -> Vendor {
    Vendor {
        name,
        kind,
        base_url: None,
        key: Optional,
        auth: kind.row().key,
        compat: PLAIN,
        locality: Locality::Hosted,
        default_model: None,
        login: None,
        headers: &[],
        wires: &[],
        machine: MachineIdentity::None,
    }
}

impl Vendor {
    const fn usually(self, model: &'static str) -> Self {
        Self { default_model: Some(model), ..self }
    }
}

impl Quirks {
    /// The row's quirks, overridden by the settings.
    pub(super) fn with(self, settings: &CompatSettings) -> crate::wire::Compat {
        let dropped = || self.dropped_schema_keywords.iter().map(|&word| word.to_owned()).collect();
        crate::wire::Compat {
            system_role: settings.system_role.unwrap_or(self.system_role),
            max_tokens_field: settings.max_tokens_field.unwrap_or(self.max_tokens_field),
            stream_usage: settings.stream_usage.unwrap_or(self.stream_usage),
            prompt_cache_key: settings.prompt_cache_key.unwrap_or(self.prompt_cache_key),
            reasoning_replay: settings.reasoning_replay.unwrap_or(self.reasoning_replay),
            model_place: settings.model_place.unwrap_or(self.model_place),
            extra_sampling: settings.extra_sampling.unwrap_or(self.extra_sampling),
            dropped_schema_keywords: settings
                .dropped_schema_keywords
                .clone()
                .unwrap_or_else(dropped),
            thinking_budget: settings.thinking_budget,
            request_headers: self.request_headers,
            api_version: None,
        }
    }
}
