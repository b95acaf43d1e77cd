use std::time::Duration;

use onyx_types::{ModelFailure, ModelFailureClass};
use serde::Serialize;

use super::listing::ListedModel;
use super::status::ProviderStatus;

/// What a look at a provider found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProviderTest {
    pub name: String,
    pub finding: Finding,
    /// What is right or wrong, and what to do, in words.
    pub advice: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Finding {
    Works { latency_seconds: f64, models: Vec<ListedModel> },
    Fails { class: &'static str, message: String },
    Disabled { reason: String },
    Unknown,
}

pub(super) fn works(
    name: &str,
    latency: Duration,
    models: Vec<ListedModel>,
    configured: &[String],
) -> ProviderTest {
    let missing: Vec<&str> = configured
        .iter()
        .map(String::as_str)
        .filter(|wanted| !models.iter().any(|model| is_same(&model.id, wanted)))
        .collect();
    let found = format!("{name} answers in {:.0} ms.", latency.as_secs_f64() * 1e3);
    let advice = match (models.len(), missing.as_slice()) {
        (0, _) => format!("{found} It lists no models: load one there first."),
        (1, []) => format!("{found} It lists 1 model."),
        (count, []) => format!("{found} It lists {count} models."),
        (_, missing) => format!(
            "{found} It does not list {}: check `models` in the config, or get the model there.",
            missing.join(", ")
        ),
    };
    let finding = Finding::Works { latency_seconds: latency.as_secs_f64(), models };
    ProviderTest { name: name.to_owned(), finding, advice }
}

/// Ollama lists `llama3` as `llama3:latest`.
fn is_same(listed: &str, wanted: &str) -> bool {
    listed == wanted || listed.strip_suffix(":latest") == Some(wanted)
}

pub(super) fn fails(name: &str, failure: &ModelFailure) -> ProviderTest {
    let what = match failure.class {
        ModelFailureClass::Auth => "It refuses the key: check `apiKey`.",
        ModelFailureClass::RateLimited { .. } => {
            "The key works, but the account is at its limit: wait, or raise the limit there."
        }
        ModelFailureClass::Overloaded { .. } => "It is overloaded: wait, or name a fallback model.",
        ModelFailureClass::Unavailable => {
            "Nothing answers at its address: check `baseUrl`, and whether the server runs."
        }
        ModelFailureClass::Timeout => {
            "It does not answer in time: check the network, or whether the server is stuck."
        }
        ModelFailureClass::InvalidRequest => {
            "The address answers but knows no list of models: check the path of `baseUrl`."
        }
        ModelFailureClass::Transport | ModelFailureClass::Truncated => {
            "Something answers, but it does not speak this wire: check `baseUrl` and `kind`."
        }
        ModelFailureClass::ContextLength
        | ModelFailureClass::ContentFilter
        | ModelFailureClass::Cancelled
        | ModelFailureClass::Budget => "It answers in a way that a list of models should not.",
    };
    let class = crate::decorators::class_name(&failure.class);
    let finding = Finding::Fails { class, message: failure.message.clone() };
    ProviderTest { name: name.to_owned(), finding, advice: format!("{what} ({})", failure.message) }
}

pub(super) fn sourced(status: &ProviderStatus) -> ProviderTest {
    let models = status.models.iter();
    let models = models.map(|id| ListedModel { id: id.clone(), context_window: None }).collect();
    works(&status.name, Duration::ZERO, models, &[])
}

pub(super) fn disabled(name: &str, reason: &str) -> ProviderTest {
    ProviderTest {
        name: name.to_owned(),
        finding: Finding::Disabled { reason: reason.to_owned() },
        advice: format!("{name} is disabled: {reason}."),
    }
}

pub(super) fn unknown(name: &str, known: &[String]) -> ProviderTest {
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    ProviderTest {
        name: name.to_owned(),
        finding: Finding::Unknown,
        advice: format!("No provider is named {name} in the config; there are: {known}."),
    }
}
