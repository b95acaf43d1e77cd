//! The id of every request, and counts of requests by result.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use http_body_util::BodyExt as _;
use tracing::Instrument as _;

use crate::ApiState;
use crate::problem::{Form, form_of};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const ANTHROPIC_ID: HeaderName = HeaderName::from_static("request-id");
/// The longest id that is accepted from a client; a longer one is replaced.
const LONGEST_ID: usize = 128;

/// Counts of answers since the start.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Counts of answers by status class, from 1xx to 5xx.
    classes: [AtomicU64; 5],
    streams: Arc<AtomicU64>,
}

impl Traffic {
    pub(crate) fn figures(&self) -> (Vec<(String, u64)>, u64) {
        let classes = self.classes.iter().enumerate();
        let classes = classes
            .map(|(index, count)| (format!("{}xx", index + 1), count.load(Ordering::Relaxed)));
        (classes.collect(), self.streams.load(Ordering::Relaxed))
    }

    fn count(&self, response: &Response) {
        let class = usize::from(response.status().as_u16() / 100);
        if let Some(counter) = class.checked_sub(1).and_then(|index| self.classes.get(index)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Counts a stream as open until its body is dropped.
struct OpenStream(Arc<AtomicU64>);

impl OpenStream {
    fn new(count: &Arc<AtomicU64>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Gives the request an id, which the log and the answer name. A client's own id is kept.
pub(crate) async fn followed(
    state: &ApiState,
    request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let sent = request.headers().get(&REQUEST_ID).filter(|id| is_usable(id)).cloned();
    let id = sent.unwrap_or_else(|| {
        let id = format!("req_{}", state.agent.fresh_id());
        HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("req"))
    });
    // Anthropic's clients look for the id in another header.
    let anthropic = form_of(request.uri().path()) == Some(Form::Anthropic)
        || request.headers().contains_key("anthropic-version");
    let span = tracing::info_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        method = %request.method(),
        path = request.uri().path(),
    );
    let mut response = next(request).instrument(span).await;
    state.traffic.count(&response);
    if anthropic {
        response.headers_mut().insert(ANTHROPIC_ID, id.clone());
    }
    response.headers_mut().insert(REQUEST_ID, id);
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let open = OpenStream::new(&state.traffic.streams);
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _ = &open;
            frame
        }))
    })
}

fn is_usable(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    !bytes.is_empty() && bytes.len() <= LONGEST_ID && bytes.iter().all(u8::is_ascii_graphic)
}
