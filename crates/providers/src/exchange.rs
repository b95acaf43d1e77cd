//! One short question to a provider and its whole answer: lists of models, embeddings. Answers
//! that stream are `http`'s.

use std::time::Duration;

use onyx_types::{ModelFailure, ModelFailureClass};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{RequestBuilder, Response};

use crate::failure::failure;
use crate::http::Endpoint;
use crate::wire::http_failure;

/// What an answer may take and hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) patience: Duration,
    pub(crate) max_bytes: usize,
}

/// The body of a good answer. Failures carry no key, whatever the provider echoes.
pub(crate) async fn exchange(
    request: RequestBuilder,
    endpoint: &Endpoint,
    bounds: Bounds,
) -> Result<Vec<u8>, ModelFailure> {
    let answer = tokio::time::timeout(bounds.patience, ask(request, bounds.max_bytes)).await;
    let answer = answer.unwrap_or_else(|_| {
        let message = format!("no whole answer within {} s", bounds.patience.as_secs_f64());
        Err(failure(ModelFailureClass::Timeout, message))
    });
    answer.map_err(|failure| endpoint.mask(failure))
}

async fn ask(request: RequestBuilder, max_bytes: usize) -> Result<Vec<u8>, ModelFailure> {
    let response = request.send().await.map_err(transport)?;
    let (status, wait) = (response.status(), retry_after(response.headers()));
    let body = body(response, max_bytes).await?;
    if status.is_success() { Ok(body) } else { Err(http_failure(status.as_u16(), wait, &body)) }
}

async fn body(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, ModelFailure> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(transport)? {
        if body.len() + bytes.len() > max_bytes {
            let message = format!("the answer is longer than {max_bytes} bytes");
            return Err(failure(ModelFailureClass::Transport, message));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The address is left out: it says nothing that the provider's name does not.
fn transport(error: reqwest::Error) -> ModelFailure {
    let class = if error.is_timeout() {
        ModelFailureClass::Timeout
    } else if error.is_connect() {
        ModelFailureClass::Unavailable
    } else {
        ModelFailureClass::Transport
    };
    failure(class, error.without_url().to_string())
}
