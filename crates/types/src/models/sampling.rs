//! Settings for how a model chooses its words, beside the temperature, as clients request them.

use serde_json::{Map, Value};

/// The settings of a request. A model whose format lacks one of them is called without it, and the
/// client is informed: see [`SamplingSetting`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    pub top_p: Option<f32>,
    pub top_k: Option<u32>,
    pub min_p: Option<f32>,
    pub seed: Option<i64>,
    pub frequency_penalty: Option<f32>,
    pub presence_penalty: Option<f32>,
    /// The bias by the token's number in the model's own vocabulary.
    pub logit_bias: Option<Map<String, Value>>,
    /// Texts before the first of which the answer ends.
    pub stop: Vec<String>,
    pub effort: Option<Effort>,
    pub verbosity: Option<Verbosity>,
}

/// How much a model should think before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Most,
}

/// How long a model's answer should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    Low,
    Medium,
    High,
}

/// One of the settings in [`Sampling`], to state which of them a model's format has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplingSetting {
    TopP,
    TopK,
    MinP,
    Seed,
    FrequencyPenalty,
    PresencePenalty,
    LogitBias,
    Stop,
    Effort,
    Verbosity,
    /// The name of the prompt's beginning, for providers that route requests by it.
    CacheKey,
}

impl SamplingSetting {
    pub const ALL: [Self; 11] = [
        Self::TopP,
        Self::TopK,
        Self::MinP,
        Self::Seed,
        Self::FrequencyPenalty,
        Self::PresencePenalty,
        Self::LogitBias,
        Self::Stop,
        Self::Effort,
        Self::Verbosity,
        Self::CacheKey,
    ];
}

impl Effort {
    /// The number of tokens for thinking, in formats that count them; `None` turns thinking off.
    pub const fn budget(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Minimal | Self::Low => Some(1_024),
            Self::Medium => Some(4_096),
            Self::High => Some(16_384),
            Self::Most => Some(32_768),
        }
    }

    /// The level whose budget is nearest to this many tokens.
    pub const fn of_budget(tokens: u32) -> Self {
        match tokens {
            0 => Self::None,
            1..=2_047 => Self::Low,
            2_048..=8_191 => Self::Medium,
            8_192..=24_575 => Self::High,
            _ => Self::Most,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Most => "xhigh",
        }
    }
}

impl Verbosity {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}
