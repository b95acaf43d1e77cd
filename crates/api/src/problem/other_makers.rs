//! Errors as clients of other makers expect them.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use onyx_types::Fault;
use serde_json::{Value, json};

use crate::Problem;

/// `{"error": {message, type, param, code}}`.
pub(crate) fn openai_error(fault: &Fault, param: Option<&str>) -> Value {
    json!({"error": {
        "message": sentence(fault),
        "type": openai_type(fault.code.http_status()),
        "param": param,
        "code": fault.code,
    }})
}

/// `{"type": "error", "error": {type, message}}`.
pub(crate) fn anthropic_error(fault: &Fault) -> Value {
    json!({"type": "error", "error": {
        "type": anthropic_type(fault.code.http_status()),
        "message": format!("{} ({})", sentence(fault), fault.code),
    }})
}

/// How [`openai_error`] looks, for `/openapi.json`.
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

/// How [`anthropic_error`] looks, for `/openapi.json`.
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

/// These clients show one string only, so the hint goes with it.
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

/// How a maker's clients are told of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    OpenAi,
    Anthropic,
}

/// Whose clients use a path, by its beginning.
const FORMS: &[(&str, Form)] = &[
    ("/v1/chat/", Form::OpenAi),
    ("/v1/responses", Form::OpenAi),
    ("/v1/embeddings", Form::OpenAi),
    ("/v1/models", Form::OpenAi),
    ("/v1/messages", Form::Anthropic),
];

pub(crate) fn form_of(path: &str) -> Option<Form> {
    FORMS.iter().find(|(start, _)| path.starts_with(start)).map(|(_, form)| *form)
}

/// Says problems the way the clients of the path expect them, wherever they arose.
pub(crate) async fn in_the_clients_form(request: Request, next: Next) -> Response {
    let form = form_of(request.uri().path());
    let response = next.run(request).await;
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
    let mut said = (response.status(), axum::Json(say(&problem))).into_response();
    for name in [header::WWW_AUTHENTICATE, header::RETRY_AFTER] {
        if let Some(value) = response.headers().get(&name) {
            said.headers_mut().insert(name, value.clone());
        }
    }
    if said.status() == StatusCode::CONFLICT {
        // The SDKs repeat a 409 by themselves, which is no use while a run is at work.
        said.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    }
    said
}
