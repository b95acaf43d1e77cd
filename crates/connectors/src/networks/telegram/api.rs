//! Decides what an answer of the Bot API means.

use std::time::Duration;

use onyx_egress::FetchedAnswer;
use serde::Deserialize;
use serde_json::Value;

use crate::connector::NetworkError;

#[derive(Deserialize)]
struct TelegramReply {
    ok: bool,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error_code: u16,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Parameters {
    retry_after: Option<u64>,
}

pub(super) fn result(fetched: &FetchedAnswer) -> Result<Value, NetworkError> {
    let Ok(answer) = serde_json::from_slice::<TelegramReply>(&fetched.body) else {
        // A proxy in between answered, or the answer was cut off, so the request may have been
        // carried out.
        return Err(NetworkError::NoAnswer(format!(
            "Telegram answered {}, but not as the Bot API does",
            fetched.status
        )));
    };
    if answer.ok { Ok(answer.result) } else { Err(failure(&answer)) }
}

fn failure(answer: &TelegramReply) -> NetworkError {
    let why = format!("Telegram: {} ({})", answer.description, answer.error_code);
    if let Some(seconds) = answer.parameters.retry_after {
        return NetworkError::TooFast(Duration::from_secs(seconds));
    }
    match answer.error_code {
        401 | 404 => NetworkError::Unauthorized(why),
        409 => NetworkError::Contested(why),
        429 => NetworkError::TooFast(Duration::from_secs(5)),
        400 => refusal(&answer.description, why),
        code if code >= 500 => NetworkError::NoAnswer(why),
        _ => NetworkError::Refused(why),
    }
}

/// Classifies a refusal by its text, because the Bot API distinguishes its refusals in no other
/// way.
fn refusal(description: &str, why: String) -> NetworkError {
    let says = |words: &str| description.to_ascii_lowercase().contains(words);
    if says("can't parse entities") {
        NetworkError::BadMarks(why)
    } else if says("message thread not found") {
        NetworkError::NoThread(why)
    } else if says("message to edit not found") || says("message can't be edited") {
        NetworkError::NotEditable(why)
    } else {
        NetworkError::Refused(why)
    }
}

/// Whether Telegram refused an edit because it would change nothing.
pub(super) fn is_unchanged(error: &NetworkError) -> bool {
    matches!(error, NetworkError::Refused(why) if why.contains("message is not modified"))
}

impl NetworkError {
    pub(in crate::networks) fn masked(self, mask: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Unreachable(why) => Self::Unreachable(mask(&why)),
            Self::NoAnswer(why) => Self::NoAnswer(mask(&why)),
            Self::Failed(why) => Self::Failed(mask(&why)),
            Self::TooFast(wait) => Self::TooFast(wait),
            Self::NotEditable(why) => Self::NotEditable(mask(&why)),
            Self::BadMarks(why) => Self::BadMarks(mask(&why)),
            Self::NoThread(why) => Self::NoThread(mask(&why)),
            Self::Refused(why) => Self::Refused(mask(&why)),
            Self::Unauthorized(why) => Self::Unauthorized(mask(&why)),
            Self::Contested(why) => Self::Contested(mask(&why)),
        }
    }
}
