//! Versions of readable and writable content: `ETag`, `If-Match`, `If-None-Match`.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use onyx_storage::Expect;
use onyx_types::Hash;

use crate::Problem;

pub(crate) fn etag(hash: &Hash) -> (HeaderName, HeaderValue) {
    let value = HeaderValue::try_from(format!("\"{hash}\""));
    // A hash is hexadecimal, so it is always a valid header value.
    (header::ETAG, value.unwrap_or(HeaderValue::from_static("\"\"")))
}

pub(crate) fn expected(headers: &HeaderMap) -> Result<Expect, Problem> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(tag) = text(&header::IF_MATCH) {
        let hash = Hash::from_hex(tag.trim().trim_matches('"'));
        return hash.map(Expect::Is).ok_or_else(|| {
            Problem::field("If-Match", "not an ETag of this server")
                .with_status(StatusCode::PRECONDITION_FAILED)
        });
    }
    match text(&header::IF_NONE_MATCH) {
        Some("*") => Ok(Expect::Absent),
        Some(_) => Err(Problem::field("If-None-Match", "only `*` is supported here")),
        None => Ok(Expect::Anything),
    }
}
