//! Error classes from HTTP status and the error object's `code` and `type`. Messages are for
//! people and are never looked into.

use std::time::Duration;

use onyx_types::{ModelFailure, ModelFailureClass};
use serde_json::Value;

use crate::failure::failure;

/// An error object as servers of this wire write it.
#[derive(Debug, Default, PartialEq)]
struct ErrorObject {
    message: Option<String>,
    code: Option<String>,
    kind: Option<String>,
    /// Some servers (OpenRouter, llama.cpp) put a status into `code`.
    status: Option<u16>,
}

pub fn http_failure(status: u16, retry_after: Option<Duration>, body: &[u8]) -> ModelFailure {
    let error = serde_json::from_slice(body)
        .map(|body| ErrorObject::of_body(&body))
        // A proxy's page or nothing at all: the status alone decides.
        .unwrap_or_default();
    let class = specific(&error, retry_after).unwrap_or_else(|| by_status(status, retry_after));
    failure(class, error.text(&format!("the provider answered with status {status}")))
}

/// An error frame inside a stream, whose status was 200.
pub(super) fn frame_failure(error: &Value) -> ModelFailure {
    let error = ErrorObject::of_error(error);
    let class = specific(&error, None)
        .or_else(|| error.status.map(|status| by_status(status, None)))
        .or_else(|| error.kind.as_deref().and_then(by_general_type))
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
        Self {
            message: error.as_str().map(str::to_owned).or_else(|| text("message")),
            code: text("code"),
            kind: text("type"),
            status: number.and_then(|number| u16::try_from(number).ok()),
        }
    }

    fn text(&self, otherwise: &str) -> String {
        match &self.message {
            Some(message) => format!("{otherwise}: {message}"),
            None => otherwise.to_owned(),
        }
    }
}

/// Codes and types that mean one thing only, wherever they stand.
fn specific(error: &ErrorObject, retry_after: Option<Duration>) -> Option<ModelFailureClass> {
    let words = [error.code.as_deref(), error.kind.as_deref()];
    words.into_iter().flatten().find_map(|word| {
        Some(match word {
            "context_length_exceeded" | "exceed_context_size_error" | "context_window_exceeded" => {
                ModelFailureClass::ContextLength
            }
            "content_filter" | "content_policy_violation" => ModelFailureClass::ContentFilter,
            // A credential without credit will not recover by waiting.
            "insufficient_quota"
            | "invalid_api_key"
            | "authentication_error"
            | "permission_error" => ModelFailureClass::Auth,
            "rate_limit_exceeded" | "rate_limit_error" => {
                ModelFailureClass::RateLimited { retry_after }
            }
            "overloaded_error" | "server_overloaded" | "service_unavailable_error" => {
                ModelFailureClass::Overloaded { retry_after }
            }
            "model_not_found" => ModelFailureClass::InvalidRequest,
            _ => return None,
        })
    })
}

/// Types so general that a status says more; inside a stream there is no status.
fn by_general_type(kind: &str) -> Option<ModelFailureClass> {
    match kind {
        "invalid_request_error" => Some(ModelFailureClass::InvalidRequest),
        "requests" | "tokens" => Some(ModelFailureClass::RateLimited { retry_after: None }),
        _ => None,
    }
}

fn by_status(status: u16, retry_after: Option<Duration>) -> ModelFailureClass {
    match status {
        401..=403 => ModelFailureClass::Auth,
        408 => ModelFailureClass::Timeout,
        // Too large a body is too long a conversation: the remedy is the same.
        413 => ModelFailureClass::ContextLength,
        429 => ModelFailureClass::RateLimited { retry_after },
        503 | 529 => ModelFailureClass::Overloaded { retry_after },
        500..=599 => ModelFailureClass::Unavailable,
        _ => ModelFailureClass::InvalidRequest,
    }
}
