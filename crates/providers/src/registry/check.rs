use std::time::Duration;

use onyx_types::{ErrorCode, Fault, ModelFailureClass};
use serde::Serialize;

use super::kinds::ProviderKind;
use super::listing::ListedModel;
use super::status::ProviderStatus;
use crate::connect::ConnectFailure;
use crate::http::NoAnswer;

/// The result of a provider's test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProviderTest {
    pub name: String,
    pub finding: Finding,
    /// The finding and what to do, as a sentence.
    pub advice: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Finding {
    Works { latency_seconds: f64, models: Vec<ListedModel> },
    Fails { trouble: ProviderProblem, message: String },
    Disabled { reason: String },
    Unknown,
}

/// What is wrong with a provider that could be asked, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderProblem {
    /// The name of the server does not resolve to an address.
    Dns,
    Refused,
    Unreachable,
    Tls,
    Timeout,
    /// The provider refuses the key.
    Key,
    RateLimited,
    Overloaded,
    /// Something answers, but not at this path.
    WrongAddress,
    /// Something answers in another way than this kind of provider does.
    WrongWire,
    /// The provider answers, but does not work.
    Broken,
}

impl ProviderProblem {
    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Key => "key",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::WrongAddress => "wrong_address",
            Self::WrongWire => "wrong_wire",
            Self::Broken => "broken",
        }
    }

    pub(super) fn of(none: &NoAnswer) -> Self {
        match (none.obstacle, &none.failure.class) {
            (Some(ConnectFailure::Name), _) => Self::Dns,
            (Some(ConnectFailure::Refused), _) => Self::Refused,
            (Some(ConnectFailure::Route), _) => Self::Unreachable,
            (Some(ConnectFailure::Tls), _) => Self::Tls,
            (Some(ConnectFailure::Slow), _) | (None, ModelFailureClass::Timeout) => Self::Timeout,
            (None, ModelFailureClass::Auth | ModelFailureClass::SignIn { .. }) => Self::Key,
            (None, ModelFailureClass::RateLimited { .. }) => Self::RateLimited,
            (None, ModelFailureClass::Overloaded { .. }) => Self::Overloaded,
            (None, ModelFailureClass::InvalidRequest) => Self::WrongAddress,
            (
                Some(ConnectFailure::Broken) | None,
                ModelFailureClass::Transport | ModelFailureClass::Truncated,
            ) => Self::WrongWire,
            (Some(ConnectFailure::Broken), _)
            | (
                None,
                ModelFailureClass::Unavailable
                | ModelFailureClass::Paused { .. }
                | ModelFailureClass::ContextLength
                | ModelFailureClass::Unsupported { .. }
                | ModelFailureClass::ContentFilter
                | ModelFailureClass::Cancelled
                | ModelFailureClass::Budget,
            ) => Self::Broken,
        }
    }

    /// Whether the address answered, so that another path or kind may work.
    pub(super) const fn may_be_mistaken(self) -> bool {
        matches!(self, Self::WrongAddress | Self::WrongWire)
    }

    const fn advice(self) -> &'static str {
        match self {
            Self::Dns => {
                "The name of its server cannot be found: check `baseUrl` for a slip, and whether this machine is online."
            }
            Self::Refused => {
                "Nothing listens at its address: start the server, or check the port in `baseUrl`."
            }
            Self::Unreachable => "Its address cannot be reached: check `baseUrl` and the network.",
            Self::Tls => {
                "A trusted connection failed: check whether the server speaks https at this port, and its certificate."
            }
            Self::Timeout => {
                "It does not answer in time: check the network, or whether the server is stuck."
            }
            Self::Key => "It refuses the key: check `apiKey`.",
            Self::RateLimited => {
                "The key works, but the account is at its limit: wait, or raise the limit there."
            }
            Self::Overloaded => "It is overloaded: wait, or name a fallback model.",
            Self::WrongAddress => {
                "The address answers but has no list of models: check the path of `baseUrl`."
            }
            Self::WrongWire => {
                "The server answers, but not in the expected format: check `baseUrl` and `kind`."
            }
            Self::Broken => "The server reports an internal error: look at its logs.",
        }
    }
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

/// `elsewhere`: the kind and address at which the same server does list models.
pub(super) fn fails(
    name: &str,
    none: &NoAnswer,
    elsewhere: Option<(ProviderKind, String)>,
) -> ProviderTest {
    let trouble = ProviderProblem::of(none);
    let message = none.failure.message.clone();
    let mut advice = format!("{} ({message})", trouble.advice());
    if let Some((kind, base)) = elsewhere {
        let kind = kind.as_str();
        advice += &format!(" It lists models as `kind: {kind}` with `baseUrl: {base}`.");
    }
    let finding = Finding::Fails { trouble, message };
    ProviderTest { name: name.to_owned(), finding, advice }
}

pub(super) fn sourced(status: &ProviderStatus) -> ProviderTest {
    let models = status.models.iter();
    let models = models.map(|id| ListedModel { id: id.clone(), context_window: None }).collect();
    works(&status.name, Duration::ZERO, models, &[])
}

/// The fault says what is missing and how to get it.
pub(super) fn unusable(name: &str, fault: Fault) -> ProviderTest {
    let advice = fault.message.clone();
    let is_sign_in = fault.code == ErrorCode::ProviderAuth;
    let trouble = if is_sign_in { ProviderProblem::Key } else { ProviderProblem::Broken };
    let finding = Finding::Fails { trouble, message: fault.message };
    ProviderTest { name: name.to_owned(), finding, advice }
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
