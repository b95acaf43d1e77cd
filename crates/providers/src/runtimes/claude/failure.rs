//! Classifies the CLI's failures by their fields; its words are for people.

use std::time::Duration;

use onyx_types::{ModelFailure, ModelFailureClass, Timestamp};

use super::protocol::{Outcome, RateLimit};
use crate::failure::failure;
use crate::oauth::Quota;
use crate::runtimes::child::NoMoreLines;

/// Larger than any second of this millennium, smaller than any millisecond of it.
const MILLISECONDS_FROM: f64 = 1e11;

/// How to sign in to the CLI again, for all messages that need it.
pub(super) const SIGN_IN: &str = "run `claude auth login` on the machine that Onyx runs on, or save \
    a token of `claude setup-token` as the provider's key";

/// Further signs of the failure, besides how the turn ended.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// The `error` of the CLI's own message.
    pub(super) error: Option<String>,
    pub(super) limit: Option<RateLimit>,
}

/// The failure of a turn that ended with `is_error`.
pub(super) fn of_outcome(
    provider: &str,
    outcome: &Outcome,
    signs: &Signs,
    now: Timestamp,
) -> ModelFailure {
    let reason = || outcome.result.clone().unwrap_or_else(|| "the Claude CLI failed".to_owned());
    let rejected = signs.limit.as_ref().filter(|limit| limit.status == "rejected");
    let class = match (signs.error.as_deref(), outcome.api_error_status) {
        _ if rejected.is_some() => return limited(rejected, now),
        (Some("rate_limit"), _) | (_, Some(429)) => return limited(signs.limit.as_ref(), now),
        (Some("authentication_failed" | "oauth_org_not_allowed"), _) | (_, Some(401)) => {
            let message = format!("the Claude CLI is not signed in ({}): {SIGN_IN}", reason());
            let provider = provider.to_owned();
            return failure(ModelFailureClass::SignIn { provider }, message);
        }
        (Some("billing_error"), _) | (_, Some(402 | 403)) => ModelFailureClass::Auth,
        _ if is_too_long(outcome) => ModelFailureClass::ContextLength,
        (_, Some(529)) | (Some("overloaded"), _) => {
            ModelFailureClass::Overloaded { retry_after: None }
        }
        (Some("invalid_request" | "model_not_found"), _) | (_, Some(400 | 404)) => {
            ModelFailureClass::InvalidRequest
        }
        (Some("max_output_tokens"), _) => ModelFailureClass::Truncated,
        _ if outcome.api_error.as_deref() == Some("connection_failed") => {
            ModelFailureClass::Transport
        }
        (Some(_) | None, _) => ModelFailureClass::Unavailable,
    };
    failure(class, reason())
}

fn is_too_long(outcome: &Outcome) -> bool {
    let word = |word: &Option<String>| word.as_deref() == Some("prompt_too_long");
    word(&outcome.terminal_reason)
        || word(&outcome.api_error)
        || outcome.api_error_status == Some(413)
}

fn limited(limit: Option<&RateLimit>, now: Timestamp) -> ModelFailure {
    let ends = limit.and_then(|limit| limit.resets_at).map(moment);
    let which = limit.map_or("usage limit", name_of);
    let message = match ends {
        Some(ends) => format!(
            "the Claude subscription has reached its {which}, which ends on {} at {} UTC",
            ends.utc_date(),
            ends.utc_time()
        ),
        None => format!("the Claude subscription has reached its {which}"),
    };
    let wait = ends.map(|ends| ends.as_millis().saturating_sub(now.as_millis()).max(0));
    let retry_after = wait.map(|millis| Duration::from_millis(millis.unsigned_abs()));
    failure(ModelFailureClass::RateLimited { retry_after }, message)
}

fn name_of(limit: &RateLimit) -> &'static str {
    match limit.rate_limit_type.as_deref() {
        Some("five_hour") => "5-hour limit",
        Some(week) if week.starts_with("seven_day") => "weekly limit",
        Some(_) | None => "usage limit",
    }
}

/// The used part of the plan, for people.
pub(super) fn quota(limit: &RateLimit) -> Quota {
    let percent = limit.utilization.map(|used| if used <= 1.0 { used * 100.0 } else { used });
    let used = percent.or((limit.status == "rejected").then_some(100.0));
    Quota {
        limit: name_of(limit).to_owned(),
        used_percent: used.map(|used| used.round().clamp(0.0, 100.0) as u8),
        resets_at: limit.resets_at.map(moment),
    }
}

fn moment(at: f64) -> Timestamp {
    let millis = if at < MILLISECONDS_FROM { at * 1e3 } else { at };
    Timestamp::from_millis(millis as i64)
}

/// The failure when the process sends nothing more.
pub(super) fn of_silence(silence: &NoMoreLines) -> ModelFailure {
    match silence {
        NoMoreLines::Ended { how, stderr } if stderr.is_empty() => {
            failure(ModelFailureClass::Transport, format!("the Claude CLI {how}"))
        }
        NoMoreLines::Ended { how, stderr } => {
            let message = format!(
                "the Claude CLI {how} and said: {stderr}. If it is an old version, run \
                 `claude update`"
            );
            failure(ModelFailureClass::Unavailable, message)
        }
        NoMoreLines::TooLong => {
            let message = "the Claude CLI wrote a line that is too long to be a message";
            failure(ModelFailureClass::Transport, message)
        }
    }
}
