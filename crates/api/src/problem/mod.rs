//! The error answer of every route: one type, RFC 9457 for our own clients, and the forms that
//! other makers' clients expect.
//!
//! All of this crate creates problems; nothing here depends on the rest of it.

mod other_makers;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use onyx_types::{ErrorCode, Fault};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use other_makers::{
    Form, anthropic_error, anthropic_error_schema, form_of, in_the_clients_form, openai_code,
    openai_error, openai_error_schema, sentence,
};

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// The error answer of every route, and the only rejection type.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem(Box<Details>);

#[derive(Clone, Debug, PartialEq)]
struct Details {
    fault: Fault,
    status: StatusCode,
    field: Option<String>,
    extra: Map<String, Value>,
}

/// RFC 9457, with the code and the hint of the error table.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct ProblemView<'a> {
    status: u16,
    code: ErrorCode,
    title: &'static str,
    detail: &'a str,
    hint: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(flatten)]
    #[schemars(skip)]
    extra: &'a Map<String, Value>,
}

impl Problem {
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Fault::new(code, detail).into()
    }

    /// A field of the request with a wrong value. `path` is as the client wrote it.
    pub fn field(path: impl Into<String>, why: impl std::fmt::Display) -> Self {
        let path = path.into();
        let mut problem = Self::new(ErrorCode::InvalidRequest, format!("{path}: {why}"));
        problem.0.field = Some(path);
        problem
    }

    /// A field of the request that names something that does not exist.
    pub fn unknown(path: impl Into<String>, why: impl std::fmt::Display) -> Self {
        let path = path.into();
        Self::new(ErrorCode::NotFound, format!("{path}: {why}")).with_field(path)
    }

    /// Names the field that caused the error, for a message that already contains it.
    #[must_use]
    pub fn with_field(mut self, path: impl Into<String>) -> Self {
        self.0.field = Some(path.into());
        self
    }

    /// Replaces the HTTP status, for the few answers whose status says more than their code does.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.0.status = status;
        self
    }

    /// Adds a member beside the standard ones, so that a client can continue from there.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.extra.insert(name.to_owned(), value.into());
        self
    }

    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }

    /// The field of the request that caused the error.
    pub fn path(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    pub fn status(&self) -> StatusCode {
        self.0.status
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        // All statuses of the table are valid, which a test checks, so the fallback is never used.
        let status = StatusCode::from_u16(fault.code.http_status())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let field = fault.field().map(str::to_owned);
        Self(Box::new(Details { fault, status, field, extra: Map::new() }))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let original = self.clone();
        let Self(problem) = self;
        if problem.status.is_server_error() {
            tracing::warn!(code = %problem.fault.code, detail = %problem.fault.message, "request failed");
        }
        let body = ProblemView {
            status: problem.status.as_u16(),
            code: problem.fault.code,
            title: problem.fault.code.sentence(),
            detail: &problem.fault.message,
            hint: problem.fault.hint(),
            field: problem.field.as_deref(),
            extra: &problem.extra,
        };
        let mut response = (problem.status, axum::Json(body)).into_response();
        // Surfaces that write problems in another form need the original, so it travels with the
        // response.
        response.extensions_mut().insert(original);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, PROBLEM_JSON);
        if problem.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(problem.fault.code, ErrorCode::Overloaded | ErrorCode::RateLimited) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if let Some(wait) = problem.fault.retry_after {
            headers.insert(header::RETRY_AFTER, (wait.as_secs_f64().ceil() as u64).into());
        }
        response
    }
}
