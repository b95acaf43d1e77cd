//! Error classes from HTTP status and the fields of the error object. Messages are for people and
//! are never parsed.
//!
//! One table serves all wires, because their codes do not contradict each other, and gateways pass
//! on the errors of servers that speak another wire.

use std::time::Duration;

use onyx_types::{ModelFailure, ModelFailureClass, UpstreamError};
use serde_json::Value;

use crate::failure::failure;

#[derive(Debug, Default, PartialEq)]
struct ErrorObject {
    message: Option<String>,
    /// `code`, `type`, Google's `status` and the reasons among its details, in this order.
    words: Vec<String>,
    /// Some servers (Google, OpenRouter, llama.cpp) put a status into `code`.
    status: Option<u16>,
    retry_after: Option<Duration>,
    code: Option<String>,
    kind: Option<String>,
    param: Option<String>,
}

pub fn http_failure(status: u16, retry_after: Option<Duration>, body: &[u8]) -> ModelFailure {
    let error = serde_json::from_slice(body)
        .map(|body| ErrorObject::of_body(&body))
        // The body may be a proxy's page or empty; then the status alone decides.
        .unwrap_or_default();
    let wait = retry_after.or(error.retry_after);
    let class = specific(&error, wait).unwrap_or_else(|| class_by_status(status, wait));
    let mut failure =
        failure(class, error.text(&format!("the provider answered with status {status}")));
    failure.upstream = Some(Box::new(error.into_upstream(status)));
    failure
}

/// An error frame inside a stream, whose status was 200.
pub(super) fn frame_failure(error: &Value) -> ModelFailure {
    let error = ErrorObject::of_error(error);
    let wait = error.retry_after;
    let class = specific(&error, wait)
        .or_else(|| error.status.map(|status| class_by_status(status, wait)))
        .or_else(|| error.words.iter().find_map(|word| by_general_word(word)))
        .unwrap_or(ModelFailureClass::Unavailable);
    failure(class, error.text("the provider broke the answer off with an error"))
}

impl ErrorObject {
    /// `{"error": {…}}`, `{"error": "…"}`, the object itself, or a list around one of these.
    fn of_body(body: &Value) -> Self {
        let body = body.as_array().and_then(|items| items.first()).unwrap_or(body);
        Self::of_error(body.get("error").unwrap_or(body))
    }

    fn of_error(error: &Value) -> Self {
        let text = |field: &str| error.get(field).and_then(Value::as_str).map(str::to_owned);
        let number = error.get("code").and_then(Value::as_u64);
        let details = || error.get("details").and_then(Value::as_array).into_iter().flatten();
        let detail = |field: &'static str| {
            details().filter_map(move |detail| detail.get(field)).filter_map(Value::as_str)
        };
        let own = [text("code"), text("type"), text("status")].into_iter().flatten();
        Self {
            message: error.as_str().map(str::to_owned).or_else(|| text("message")),
            words: own.chain(detail("reason").map(str::to_owned)).collect(),
            status: number.and_then(|number| u16::try_from(number).ok()),
            retry_after: detail("retryDelay").find_map(seconds),
            code: text("code"),
            kind: text("type"),
            param: text("param"),
        }
    }

    /// The error as clients of the maker's wire know it.
    fn into_upstream(self, status: u16) -> UpstreamError {
        let Self { code, kind, param, .. } = self;
        UpstreamError { status, code, kind, param, headers: Vec::new() }
    }

    fn text(&self, otherwise: &str) -> String {
        match &self.message {
            Some(message) => format!("{otherwise}: {message}"),
            None => otherwise.to_owned(),
        }
    }
}

/// Error codes with one meaning in every wire.
fn specific(error: &ErrorObject, retry_after: Option<Duration>) -> Option<ModelFailureClass> {
    error.words.iter().find_map(|word| {
        Some(match word.as_str() {
            "context_length_exceeded"
            | "exceed_context_size_error"
            | "context_window_exceeded"
            | "request_too_large" => ModelFailureClass::ContextLength,
            "content_filter" | "content_policy_violation" => ModelFailureClass::ContentFilter,
            // A credential without credit will not recover by waiting.
            "insufficient_quota"
            | "billing_error"
            | "invalid_api_key"
            | "authentication_error"
            | "permission_error"
            | "API_KEY_INVALID"
            | "UNAUTHENTICATED"
            | "PERMISSION_DENIED" => ModelFailureClass::Auth,
            "rate_limit_exceeded" | "rate_limit_error" | "RESOURCE_EXHAUSTED" => {
                ModelFailureClass::RateLimited { retry_after }
            }
            "overloaded_error"
            | "server_overloaded"
            | "server_is_overloaded"
            | "slow_down"
            | "service_unavailable_error"
            | "UNAVAILABLE" => ModelFailureClass::Overloaded { retry_after },
            "timeout_error" | "DEADLINE_EXCEEDED" => ModelFailureClass::Timeout,
            "model_not_found" => ModelFailureClass::InvalidRequest,
            _ => return None,
        })
    })
}

/// Codes so general that a status says more; inside a stream there may be no status.
fn by_general_word(word: &str) -> Option<ModelFailureClass> {
    match word {
        "invalid_request_error"
        | "invalid_prompt"
        | "not_found_error"
        | "INVALID_ARGUMENT"
        | "FAILED_PRECONDITION"
        | "NOT_FOUND" => Some(ModelFailureClass::InvalidRequest),
        "requests" | "tokens" => Some(ModelFailureClass::RateLimited { retry_after: None }),
        _ => None,
    }
}

/// Google's way to write a duration: `34.5s`.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

/// The class of an answer whose status is all that is known about the failure.
pub fn class_by_status(status: u16, retry_after: Option<Duration>) -> ModelFailureClass {
    match status {
        401..=403 => ModelFailureClass::Auth,
        408 => ModelFailureClass::Timeout,
        // A body that is too large is a conversation that is too long: the remedy is the same.
        413 => ModelFailureClass::ContextLength,
        429 => ModelFailureClass::RateLimited { retry_after },
        503 | 529 => ModelFailureClass::Overloaded { retry_after },
        500..=599 => ModelFailureClass::Unavailable,
        _ => ModelFailureClass::InvalidRequest,
    }
}
