//! A folder of files inside the binary, as browsers get it: each as brotli, gzip or plain, tagged
//! by its content, and always with the headers that isolate a page.

use std::io::Read as _;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::EmbeddedFile;

pub(super) struct Site {
    pub(super) get: fn(&str) -> Option<EmbeddedFile>,
    /// The content policy of a file.
    pub(super) policy: fn(&str) -> &'static str,
    /// Whether a file with this name never changes. Browsers ask again for all others each time.
    pub(super) is_fixed: fn(&str) -> bool,
}

const SAFETY: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    ),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Brotli,
    Gzip,
    Identity,
}

impl Site {
    pub(super) fn find(&self, path: &str, headers: &HeaderMap) -> Option<Response> {
        if let Some(file) = (self.get)(path) {
            return Some(self.send(path, &file, headers, Coding::Identity));
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
            && let Some(file) = (self.get)(&format!("{path}.br"))
        {
            return Some(self.send(path, &file, headers, Coding::Brotli));
        }
        let file = (self.get)(&format!("{path}.gz"))?;
        let coding = if takes("gzip") { Coding::Gzip } else { Coding::Identity };
        Some(self.send(path, &file, headers, coding))
    }

    fn send(
        &self,
        path: &str,
        file: &EmbeddedFile,
        headers: &HeaderMap,
        coding: Coding,
    ) -> Response {
        let is_fixed = (self.is_fixed)(path);
        let cache = if is_fixed { "public, max-age=31536000, immutable" } else { "no-cache" };
        let tag = tag(file);
        let mut response = if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = Response::new(self.body(path, file, coding));
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
        safe(response, (self.policy)(path))
    }

    /// The file's content in the given coding. Few clients accept neither coding; for them the file
    /// is unpacked.
    fn body(&self, path: &str, file: &EmbeddedFile, coding: Coding) -> Body {
        let packed = coding == Coding::Identity && (self.get)(path).is_none();
        if !packed {
            return Body::from(file.data.clone().into_owned());
        }
        let mut plain = Vec::new();
        match flate2::read::GzDecoder::new(&*file.data).read_to_end(&mut plain) {
            Ok(_) => Body::from(plain),
            Err(error) => {
                tracing::error!(path, %error, "a file inside this binary is damaged");
                Body::empty()
            }
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
        "webp" => "image/webp",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Adds the headers that limit what the page may load and do, and forbid other sites to embed it.
pub(super) fn safe(mut response: Response, policy: &'static str) -> Response {
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    for (name, value) in SAFETY {
        fields.insert(name, HeaderValue::from_static(value));
    }
    response
}
