//! Pages of other sites that the owner allows (`gateway.cors.origins`). They use a token; their
//! cookies are never accepted, so browsers are not asked to send any.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;

/// The headers of an answer that a page may read.
const EXPOSED: &str = "x-onyx-session-id, x-onyx-run-id, x-onyx-ignored-fields, x-request-id, \
    request-id, retry-after, retry-after-ms, etag, x-ratelimit-limit-requests, \
    x-ratelimit-remaining-requests, x-ratelimit-reset-requests, x-ratelimit-limit-tokens, \
    x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens";

const METHODS: &str = "GET, POST, PUT, PATCH, DELETE, OPTIONS";

/// How long, in seconds, a browser may reuse the answer to its preflight request.
const REMEMBERED: &str = "600";

pub(super) fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Any header may be sent: each is checked where it is read.
pub(super) fn preflight(request: &Request) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let requested = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(REMEMBERED));
    if let Some(requested) = requested {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, requested);
    }
    response
}

pub(super) fn open(response: &mut Response, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}
