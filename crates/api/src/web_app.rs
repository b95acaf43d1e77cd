//! The web app, carried inside the binary: `web/dist` as `scripts/web` builds it, each text file
//! once as brotli and once as gzip. A binary built without it says how to build it.

use std::io::Read as _;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{Embed, EmbeddedFile};

#[derive(Embed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

/// Paths that belong to the server: the app never answers for them.
const SERVER: [&str; 10] =
    ["api", "v1", "auth", "ws", "mcp", "docs", "health", "ready", "metrics", "openapi.json"];

const INDEX: &str = "index.html";
const ASSETS: &str = "assets/";

/// `manifest-src` is what an installable app needs beyond showing pages; the last two make any
/// script that would turn text into markup fail where browsers can.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'; manifest-src 'self'; frame-src 'self'; \
    require-trusted-types-for 'script'; trusted-types onyx";

/// The frame in which HTML that a model wrote is shown and diagrams are drawn.
const PREVIEW: &str = "preview.html";

/// Scripts of the preview run in an origin of their own, without storage and without any way to a network; the
/// app's `frame-src` keeps the frame from going elsewhere.
const PREVIEW_POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

const SAFETY: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    ),
];

const NOT_BUILT: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Onyx</title>\
    <h1>The web app is not in this binary</h1><p>Build it with <code>scripts/web</code>, then \
    build Onyx again (<code>make run</code> does both). Everything else works: \
    <code>onyx chat</code>, the APIs.</p></html>";

/// The file at a path, or the app's page for one of its own routes; `None` where neither is meant.
pub(crate) fn answer(method: &Method, path: &str, headers: &HeaderMap) -> Option<Response> {
    if method != Method::GET && method != Method::HEAD {
        return None;
    }
    let path = path.trim_start_matches('/');
    let first = path.split('/').next().unwrap_or_default();
    if SERVER.contains(&first) {
        return None;
    }
    if !path.is_empty()
        && let Some(file) = find(path, headers)
    {
        return Some(file);
    }
    if !path.is_empty() && !wants_page(headers) || path.starts_with(ASSETS) {
        return None;
    }
    Some(find(INDEX, headers).unwrap_or_else(|| {
        let kind = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
        safe((StatusCode::SERVICE_UNAVAILABLE, kind, NOT_BUILT).into_response())
    }))
}

fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Brotli,
    Gzip,
    Identity,
}

fn find(path: &str, headers: &HeaderMap) -> Option<Response> {
    if let Some(file) = Files::get(path) {
        return Some(send(path, &file, headers, Coding::Identity));
    }
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let takes = |name: &str| {
        let mut codings = accepted.unwrap_or_default().split(',');
        codings.any(|coding| {
            let (coding, weight) = coding.split_once(';').unwrap_or((coding, ""));
            coding.trim() == name && weight.trim() != "q=0"
        })
    };
    if takes("br")
        && let Some(file) = Files::get(&format!("{path}.br"))
    {
        return Some(send(path, &file, headers, Coding::Brotli));
    }
    let file = Files::get(&format!("{path}.gz"))?;
    let coding = if takes("gzip") { Coding::Gzip } else { Coding::Identity };
    Some(send(path, &file, headers, coding))
}

fn send(path: &str, file: &EmbeddedFile, headers: &HeaderMap, coding: Coding) -> Response {
    // What is hashed into its name never changes; all else is asked for again each time.
    let is_asset = path.starts_with(ASSETS);
    let cache = if is_asset { "public, max-age=31536000, immutable" } else { "no-cache" };
    let tag = tag(file);
    let mut response = if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = Response::new(body(path, file, coding));
        let kind = HeaderValue::from_static(content_type(path));
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    };
    let fields = response.headers_mut();
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    fields.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    fields.insert(header::ETAG, tag);
    match coding {
        Coding::Brotli => {
            fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
        }
        Coding::Gzip => {
            fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        Coding::Identity => {}
    }
    let mut response = safe(response);
    if path == PREVIEW {
        let policy = HeaderValue::from_static(PREVIEW_POLICY);
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        let quiet =
            (HeaderName::from_static("x-dns-prefetch-control"), HeaderValue::from_static("off"));
        response.headers_mut().extend([quiet]);
    }
    response
}

/// Few clients take neither coding; theirs is unpacked for them.
fn body(path: &str, file: &EmbeddedFile, coding: Coding) -> Body {
    let packed = coding == Coding::Identity && Files::get(path).is_none();
    if !packed {
        return Body::from(file.data.clone().into_owned());
    }
    let mut plain = Vec::new();
    match flate2::read::GzDecoder::new(&*file.data).read_to_end(&mut plain) {
        Ok(_) => Body::from(plain),
        Err(error) => {
            tracing::error!(path, %error, "a file of the web app is damaged");
            Body::empty()
        }
    }
}

fn tag(file: &EmbeddedFile) -> HeaderValue {
    let hash = file.metadata.sha256_hash();
    let hex: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&format!("\"{hex}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn safe(mut response: Response) -> Response {
    for (name, value) in SAFETY {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
