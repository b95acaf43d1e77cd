//! `providers.<name>` as a person writes it. Raw: nothing here is resolved or checked yet.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::kinds::ProviderKind;
use crate::Secret;
use crate::metadata::{Modality, ModelFacts, Price};
use crate::oauth::{CredentialSettings, LoginSettings};
use crate::wire::{
    ExtraSampling, MaxTokensField, ModelPlace, PromptCacheKey, ReasoningReplay, StreamUsage,
    SystemRole,
};

/// There is deliberately no `Serialize`: a struct that holds keys must not be written anywhere.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ProviderSettings {
    pub kind: Option<ProviderKind>,
    pub base_url: Option<String>,
    /// The key itself, or where it is: `${NAME}`, `env:NAME`, `file:/path`, `secret:name`.
    pub api_key: Option<Secret>,
    pub headers: BTreeMap<String, Secret>,
    pub timeouts: TimeoutSettings,
    pub models: Vec<ModelSettings>,
    pub compat: CompatSettings,
    /// The path of the program, for kinds that are a program of this machine.
    pub command: Option<std::path::PathBuf>,
    /// A sign-in in place of a key.
    pub login: Option<LoginSettings>,
    /// A machine's own identity in place of a key.
    pub credentials: Option<CredentialSettings>,
    /// The version of Azure's API. If it is set, the address names the model.
    pub api_version: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TimeoutSettings {
    pub connect_seconds: Option<f64>,
    pub first_byte_seconds: Option<f64>,
    pub idle_seconds: Option<f64>,
    pub total_seconds: Option<f64>,
    /// How long a model that keeps failing is left alone at first.
    pub rest_seconds: Option<f64>,
}

/// A model of the provider: its name, or its name with its properties.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "ModelForm")]
pub struct ModelSettings {
    pub id: String,
    pub facts: ModelFacts,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct CompatSettings {
    pub system_role: Option<SystemRole>,
    pub max_tokens_field: Option<MaxTokensField>,
    pub stream_usage: Option<StreamUsage>,
    pub prompt_cache_key: Option<PromptCacheKey>,
    pub reasoning_replay: Option<ReasoningReplay>,
    pub model_place: Option<ModelPlace>,
    /// Whether the server accepts `top_k` and `min_p`, which OpenAI does not have.
    pub extra_sampling: Option<ExtraSampling>,
    pub dropped_schema_keywords: Option<Vec<String>>,
    /// How many tokens a model may think for, on wires whose requests set it.
    pub thinking_budget: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ModelForm {
    Name(String),
    Full(FullModel),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FullModel {
    id: String,
    context_window: Option<u32>,
    max_output_tokens: Option<u32>,
    price: Option<Price>,
    inputs: Option<Vec<Modality>>,
    tools: Option<bool>,
    reasoning: Option<bool>,
    dims: Option<u32>,
}

impl From<ModelForm> for ModelSettings {
    fn from(form: ModelForm) -> Self {
        match form {
            ModelForm::Name(id) => Self { id, facts: ModelFacts::default() },
            ModelForm::Full(full) => Self {
                id: full.id,
                facts: ModelFacts {
                    context_window: full.context_window,
                    max_output_tokens: full.max_output_tokens,
                    price: full.price,
                    inputs: full.inputs,
                    tools: full.tools,
                    reasoning: full.reasoning,
                    dims: full.dims,
                },
            },
        }
    }
}
