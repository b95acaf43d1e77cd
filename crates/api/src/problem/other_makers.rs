//! Errors in the form that other makers' clients expect.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onyx_types::{ErrorCode, Fault};
use serde_json::{Value, json};

use crate::Problem;

/// `{"error": {message, type, param, code}}`.
pub(crate) fn openai_error(fault: &Fault, param: Option<&str>) -> Value {
    let upstream = fault.upstream.as_deref();
    let of_provider = || upstream.and_then(|upstream| upstream.param.as_deref());
    let kind = upstream.and_then(|upstream| upstream.kind.as_deref());
    json!({"error": {
        "message": sentence(fault),
        "type": kind.filter(|_| at_fault(fault).is_none())
            .unwrap_or_else(|| openai_type(makers_status(fault))),
        "param": param.or_else(of_provider).or_else(|| at_fault(fault)),
        "code": openai_code(fault),
    }})
}

/// The code by which OpenAI's clients decide what to do; the provider's own code where it gave one.
pub(crate) fn openai_code(fault: &Fault) -> String {
    match fault.code {
        ErrorCode::ProviderContextLength | ErrorCode::LimitPrompt => {
            "context_length_exceeded".to_owned()
        }
        code => {
            let upstream_code = fault.upstream.as_ref().and_then(|upstream| upstream.code.clone());
            upstream_code.unwrap_or_else(|| code.as_str().to_owned())
        }
    }
}

/// The field that caused the error. A conversation that is too long is an error of its messages.
fn at_fault(fault: &Fault) -> Option<&'static str> {
    matches!(fault.code, ErrorCode::ProviderContextLength | ErrorCode::LimitPrompt)
        .then_some("messages")
}

/// The status that the makers' clients react to: the provider's, or else ours, except for a
/// conversation that is too long, which both makers call a bad request.
pub(crate) fn makers_status(fault: &Fault) -> u16 {
    match (&fault.upstream, fault.code) {
        (_, ErrorCode::ProviderContextLength | ErrorCode::LimitPrompt) => 400,
        (Some(upstream), _) => upstream.status,
        (None, code) => code.http_status(),
    }
}

/// `{"type": "error", "error": {type, message}}`.
pub(crate) fn anthropic_error(fault: &Fault) -> Value {
    let kind = fault.upstream.as_ref().and_then(|upstream| upstream.kind.as_deref());
    let kind = kind.filter(|kind| ANTHROPIC_TYPES.contains(kind) && at_fault(fault).is_none());
    json!({"type": "error", "error": {
        "type": kind.unwrap_or_else(|| anthropic_type(makers_status(fault))),
        "message": anthropic_sentence(fault),
    }})
}

/// The error types that Anthropic's clients know. They would not understand a word of another
/// format.
const ANTHROPIC_TYPES: [&str; 10] = [
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "timeout_error",
    "api_error",
    "overloaded_error",
];

/// The message for a conversation that is too long. Anthropic has no code for it; its clients
/// recognise this sentence.
fn anthropic_sentence(fault: &Fault) -> String {
    let message = format!("{} ({})", sentence(fault), fault.code);
    match fault.code {
        ErrorCode::ProviderContextLength | ErrorCode::LimitPrompt => {
            format!("prompt is too long: {message}")
        }
        _ => message,
    }
}

/// The schema of [`openai_error`] for `/openapi.json`.
pub(crate) fn openai_error_schema() -> Value {
    json!({
        "title": "error",
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": "string"},
            },
        }},
    })
}

/// The schema of [`anthropic_error`] for `/openapi.json`.
pub(crate) fn anthropic_error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["type", "error"],
        "properties": {
            "type": {"const": "error"},
            "error": {
                "type": "object",
                "required": ["type", "message"],
                "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    })
}

/// The message with its hint, because these clients show a single text.
pub(crate) fn sentence(fault: &Fault) -> String {
    let message = fault.message.trim_end();
    let stop = if message.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{message}{stop} {}", fault.hint())
}

const fn openai_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

const fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

/// The form of problems for a maker's clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    OpenAi,
    Anthropic,
}

/// Which form applies, by the beginning of the path.
const FORMS: &[(&str, Form)] = &[
    ("/v1/chat/", Form::OpenAi),
    ("/v1/responses", Form::OpenAi),
    ("/v1/embeddings", Form::OpenAi),
    ("/v1/completions", Form::OpenAi),
    ("/v1/models", Form::OpenAi),
    ("/v1/conversations", Form::OpenAi),
    ("/v1/audio/", Form::OpenAi),
    ("/v1/images/", Form::OpenAi),
    ("/v1/moderations", Form::OpenAi),
    ("/v1/messages", Form::Anthropic),
];

pub(crate) fn form_of(path: &str) -> Option<Form> {
    FORMS.iter().find(|(start, _)| path.starts_with(start)).map(|(_, form)| *form)
}

/// Rewrites problems into the form that the clients of the path expect, wherever they arose.
pub(crate) async fn in_the_clients_form(
    request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let form = form_of(request.uri().path());
    let response = next(request).await;
    match form {
        Some(Form::OpenAi) => {
            said_as(response, |problem| openai_error(problem.fault(), problem.path()))
        }
        Some(Form::Anthropic) => said_as(response, |problem| anthropic_error(problem.fault())),
        None => response,
    }
}

fn said_as(mut response: Response, say: impl FnOnce(&Problem) -> Value) -> Response {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
    let fault = problem.fault();
    let made = problem.status().as_u16() == fault.code.http_status();
    let status = StatusCode::from_u16(makers_status(fault)).ok().filter(|_| made);
    let status = status.unwrap_or_else(|| response.status());
    let mut answer = (status, axum::Json(say(&problem))).into_response();
    for name in [header::WWW_AUTHENTICATE, header::RETRY_AFTER] {
        if let Some(value) = response.headers().get(&name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    for (name, value) in fault.upstream.iter().flat_map(|upstream| &upstream.headers) {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
            answer.headers_mut().insert(name, value);
        }
    }
    if answer.status() == StatusCode::CONFLICT {
        // The SDKs retry a 409 automatically, which does not help while a run is in progress.
        answer.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    }
    answer
}
