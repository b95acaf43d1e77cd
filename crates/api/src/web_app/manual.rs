//! The manual at `/manual`: `docs/dist` as `scripts/docs-site` builds it, inside the binary. A
//! binary built without it explains how to build it.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::Embed;

use super::site::{Site, safe};

/// The first part of its paths.
pub(super) const NAME: &str = "manual";

#[derive(Embed)]
#[folder = "../../docs/dist"]
#[allow_missing = true]
struct Files;

/// Only the manual's own scripts and pictures. Inline styles are allowed: the generator writes
/// some.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; \
    form-action 'none'; frame-ancestors 'self'; frame-src 'self'";

const MANUAL: Site = Site { get: Files::get, policy: |_| POLICY, is_fixed: |_| false };

const INDEX: &str = "index.html";
const NOT_FOUND: &str = "404.html";

const NOT_BUILT: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Onyx</title>\
    <h1>The manual is not in this binary</h1><p>Build it with <code>make docs-site</code>, then \
    build Onyx again. The same pages are in the folder <code>docs</code> of the source.</p></html>";

/// `path` begins with `manual`, without a slash before it.
pub(super) fn answer(path: &str, headers: &HeaderMap) -> Response {
    let Some(inner) = path.strip_prefix("manual/") else {
        // Links of the pages are relative: they need the folder's name to end in a slash.
        let to = [(header::LOCATION, "/manual/")];
        return safe((StatusCode::PERMANENT_REDIRECT, to).into_response(), POLICY);
    };
    let file = if inner.is_empty() || inner.ends_with('/') {
        MANUAL.find(&format!("{inner}{INDEX}"), headers)
    } else {
        MANUAL.find(inner, headers)
    };
    file.unwrap_or_else(|| missing(headers))
}

fn missing(headers: &HeaderMap) -> Response {
    if Files::iter().next().is_none() {
        let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
        let page = (StatusCode::SERVICE_UNAVAILABLE, kind, NOT_BUILT).into_response();
        return safe(page, POLICY);
    }
    let mut page = MANUAL
        .find(NOT_FOUND, headers)
        .unwrap_or_else(|| safe(StatusCode::NOT_FOUND.into_response(), POLICY));
    *page.status_mut() = StatusCode::NOT_FOUND;
    page.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    page
}
