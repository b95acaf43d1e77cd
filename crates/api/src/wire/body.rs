//! Reads request bodies and queries: bounded, with errors that name the field. A body is read as
//! JSON whatever its Content-Type: `curl -d` declares a form.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;
use onyx_sources::LARGEST_DOCUMENT;
use onyx_types::ErrorCode;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tokio::time::timeout;

use super::drain::drain;
use crate::Problem;
use crate::serve::ConnectionSlot;

/// The largest request body, except for documents.
pub const MAX_BODY: usize = 8 * 1024 * 1024;

/// The largest body with a document: the largest readable document in base64, and its other fields.
pub(crate) const MAX_DOCUMENT_BODY: usize = LARGEST_DOCUMENT / 3 * 4 + 64 * 1024;

/// The largest body with audio or images. The makers accept 25 MB of audio.
const MAX_MEDIA_BODY: usize = 26 * 1024 * 1024;

/// The largest body without sign-in: a name and a password, or a code.
const MAX_STRANGERS_BODY: usize = 64 * 1024;

/// The largest body of a GET or HEAD, which is dropped.
const MAX_UNUSED_BODY: usize = 64 * 1024;

/// How long a body of `MAX_BODY` bytes may take. A client that takes longer is gone or hostile.
const READ_LIMIT: Duration = Duration::from_secs(60);

/// A JSON body. Unknown fields are ignored (clients add some), wrong types never are.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read(&parts, body, MAX_BODY).await?;
        parse(&bytes).map(Self)
    }
}

/// A JSON body that may hold a document.
#[derive(Debug)]
pub(crate) struct DocumentBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for DocumentBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read(&parts, body, MAX_DOCUMENT_BODY).await?;
        parse(&bytes).map(Self)
    }
}

/// A body of any kind.
#[derive(Debug)]
pub(crate) struct RawBody(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        read(&parts, body, MAX_BODY).await.map(Self)
    }
}

/// A body with audio or images, and its content type.
#[derive(Debug)]
pub(crate) struct MediaBody {
    pub(crate) content_type: String,
    pub(crate) bytes: Bytes,
}

impl<S: Send + Sync> FromRequest<S> for MediaBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let content_type = parts.headers.get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or("application/json").to_owned();
        let bytes = read(&parts, body, MAX_MEDIA_BODY).await?;
        Ok(Self { content_type, bytes })
    }
}

/// A JSON body that may be left out.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read(&parts, body, MAX_BODY).await?;
        if bytes.is_empty() { Ok(Self(T::default())) } else { parse(&bytes).map(Self) }
    }
}

/// Reads and drops the body of a GET or HEAD, which no route uses. If its bytes arrived after the
/// answer had begun, the connection would not be read any more, and a client's disconnect would go
/// unnoticed.
pub(crate) async fn without_unused_body(request: Request) -> Result<Request, Problem> {
    let is_unused = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_unused || request.body().is_end_stream() {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    let _ = read(&parts, body, MAX_UNUSED_BODY).await?;
    Ok(Request::from_parts(parts, Body::empty()))
}

/// A query string, with the same errors as a body.
#[derive(Debug)]
pub struct QueryOf<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryOf<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(bad_query(&rejection)),
        }
    }
}

fn bad_query(rejection: &QueryRejection) -> Problem {
    let text = rejection.body_text();
    let why = text.split_once("query string: ").map_or(text.as_str(), |(_, why)| why);
    // axum gives the parameter's name and the reason only as one text, so they are taken apart
    // here.
    let problem = Problem::new(ErrorCode::InvalidRequest, format!("query: {why}"));
    match missing_field(why).or_else(|| why.split_once(": ").map(|(name, _)| name)) {
        Some(name) => problem.with_field(name),
        None => problem,
    }
}

fn unreadable(why: impl Into<String>) -> Problem {
    Problem::new(ErrorCode::InvalidRequest, why)
}

/// The size and time limits of a body. Without sign-in the time limit is that of the head.
fn bounds(parts: &Parts, most: usize) -> (usize, Duration) {
    let bodies = u32::try_from(most.div_ceil(MAX_BODY)).unwrap_or(u32::MAX);
    match parts.extensions.get::<Arc<ConnectionSlot>>() {
        Some(slot) if slot.is_known() => (most, slot.limits().body.saturating_mul(bodies)),
        Some(slot) => (most.min(MAX_STRANGERS_BODY), slot.limits().head),
        // A request without a connection comes from a test, or from a part of this program.
        None => (most, READ_LIMIT.saturating_mul(bodies)),
    }
}

async fn read(parts: &Parts, body: Body, most: usize) -> Result<Bytes, Problem> {
    let headers = &parts.headers;
    let (most, limit) = bounds(parts, most);
    let declared = content_length(headers)?;
    if declared.is_some_and(|length| length > most as u64) {
        // A client that waits for `100 Continue` has sent nothing and will not.
        if !headers.contains_key(header::EXPECT) {
            tokio::spawn(drain(body));
        }
        return Err(too_large(most));
    }
    match timeout(limit, collect(body, most)).await {
        Ok(result) => result,
        Err(_) => Err(Problem::new(ErrorCode::InvalidRequest, "the body did not arrive in time")
            .with_status(StatusCode::REQUEST_TIMEOUT)),
    }
}

fn content_length(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get(header::CONTENT_LENGTH) else { return Ok(None) };
    let length = value.to_str().ok().and_then(|text| text.parse().ok());
    length.map(Some).ok_or_else(|| Problem::field("Content-Length", "not a number of bytes"))
}

async fn collect(mut body: Body, most: usize) -> Result<Bytes, Problem> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Err(unreadable("the body ended too early"));
        };
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > most {
            tokio::spawn(drain(body));
            return Err(too_large(most));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

fn too_large(most: usize) -> Problem {
    let bound = match most / (1024 * 1024) {
        0 => format!("{} KiB", most / 1024),
        mebibytes => format!("{mebibytes} MiB"),
    };
    Problem::new(ErrorCode::TooLarge, format!("the body is larger than {bound}"))
}

/// Converts a JSON value, with the same errors as for a body.
pub(crate) fn typed<T: DeserializeOwned>(mut value: Value) -> Result<T, Problem> {
    make_whole(&mut value);
    serde_path_to_error::deserialize(value).map_err(misfit)
}

/// The body is well-formed JSON of the wrong shape.
fn misfit(error: serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let path = error.path().to_string();
    let inner = error.into_inner();
    let message = inner.to_string();
    let inside = |name: &str| match path.as_str() {
        "." => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match missing_field(&message) {
        Some(name) => Problem::field(inside(name), "missing"),
        None if path == "." => {
            Problem::new(ErrorCode::InvalidRequest, format!("the body: {inner}"))
        }
        None => Problem::field(path, inner),
    }
}

/// The name of a missing field, which serde gives only in its message.
fn missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.split('`').next()
}

/// `3.0` is a whole number in JSON, unlike in Rust's types. Returns whether there were any such
/// numbers.
fn make_whole(value: &mut Value) -> bool {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    match value {
        Value::Number(number) => {
            let whole = number
                .as_f64()
                .filter(|_| number.is_f64())
                .filter(|number| number.fract() == 0.0 && number.abs() <= EXACT);
            if let Some(whole) = whole {
                // The conversion is exact within these bounds.
                *number = (whole as i64).into();
            }
            whole.is_some()
        }
        Value::Array(items) => items.iter_mut().map(make_whole).filter(|whole| *whole).count() > 0,
        Value::Object(fields) => {
            fields.values_mut().map(make_whole).filter(|whole| *whole).count() > 0
        }
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Checks that the text is JSON of any kind, to its end.
fn must_be_whole(text: &str) -> Result<(), Problem> {
    let read = serde_json::from_str::<IgnoredAny>(text);
    read.map(drop).map_err(|broken| unreadable(format!("the body: {broken}")))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        unreadable(format!("the body is not UTF-8 (byte {at})"))
    })?;
    if text.trim().is_empty() {
        return Err(unreadable("the body is empty; expected a JSON object"));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    // serde would accept a list as the fields of a struct in their order.
    if text.trim_start().starts_with('[') {
        must_be_whole(text)?;
        return Err(Problem::new(
            ErrorCode::InvalidRequest,
            "the body is a list; expected a JSON object",
        ));
    }
    let read = serde_path_to_error::deserialize(&mut reader);
    if read.is_err()
        && let Ok(mut value) = serde_json::from_str::<Value>(text)
        && make_whole(&mut value)
        && let Ok(read) = serde_path_to_error::deserialize(value)
    {
        return Ok(read);
    }
    let value = read.map_err(|error| must_be_whole(text).err().unwrap_or_else(|| misfit(error)))?;
    reader.end().map_err(|error| unreadable(format!("the body: {error}")))?;
    Ok(value)
}
