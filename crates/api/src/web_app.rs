//! The web app inside the binary: `web/dist` as `scripts/web` builds it, each text file once as
//! brotli and once as gzip. A binary built without it explains how to build it. The manual is
//! included and sent in the same way.

mod manual;
mod site;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::Embed;

use site::{Site, safe};

#[derive(Embed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

const APP: Site = Site {
    get: Files::get,
    policy: |path| if path == PREVIEW { PREVIEW_POLICY } else { CONTENT_POLICY },
    // A file with a hash in its name never changes.
    is_fixed: |path| path.starts_with(ASSETS),
};

/// Paths of the server, for which the app never answers.
const SERVER: [&str; 10] =
    ["api", "v1", "auth", "ws", "mcp", "docs", "health", "ready", "metrics", "openapi.json"];

const INDEX: &str = "index.html";
const ASSETS: &str = "assets/";

/// `manifest-src` is needed for an installable app; the last two make any script that would turn
/// text into markup fail in browsers that support them.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'; manifest-src 'self'; frame-src 'self'; \
    require-trusted-types-for 'script'; trusted-types onyx";

/// The frame in which HTML that a model wrote is shown and diagrams are drawn.
const PREVIEW: &str = "preview.html";

/// Scripts of the preview run in their own origin, without storage and without network access; the
/// app's `frame-src` keeps the frame from navigating elsewhere.
const PREVIEW_POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

const NOT_BUILT: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Onyx</title>\
    <h1>The web app is not in this binary</h1><p>Build it with <code>scripts/web</code>, then \
    build Onyx again (<code>make run</code> does both). Everything else works: \
    <code>onyx chat</code>, the APIs.</p></html>";

/// The file at a path, or the app's page for one of its own routes; `None` where the path is
/// neither.
pub(crate) fn answer(method: &Method, path: &str, headers: &HeaderMap) -> Option<Response> {
    if method != Method::GET && method != Method::HEAD {
        return None;
    }
    let path = path.trim_start_matches('/');
    let first = path.split('/').next().unwrap_or_default();
    if SERVER.contains(&first) {
        return None;
    }
    if first == manual::NAME {
        return Some(manual::answer(path, headers));
    }
    if !path.is_empty()
        && let Some(file) = APP.find(path, headers)
    {
        return Some(quiet(path, file));
    }
    if !path.is_empty() && !wants_page(headers) || path.starts_with(ASSETS) {
        return None;
    }
    Some(APP.find(INDEX, headers).unwrap_or_else(|| {
        let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
        let page = (StatusCode::SERVICE_UNAVAILABLE, kind, NOT_BUILT).into_response();
        safe(page, CONTENT_POLICY)
    }))
}

/// Keeps browsers from resolving host names ahead that stand in text which a model wrote.
fn quiet(path: &str, mut response: Response) -> Response {
    if path == PREVIEW {
        let name = HeaderName::from_static("x-dns-prefetch-control");
        response.headers_mut().insert(name, HeaderValue::from_static("off"));
    }
    response
}

fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}
