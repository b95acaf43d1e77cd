//! One short request to a provider and its whole answer: lists of models, embeddings. `call` reads
//! answers that stream.

use std::time::Duration;

use onyx_types::{ModelFailure, ModelFailureClass};
use reqwest::{RequestBuilder, Response, StatusCode};

use super::endpoint::Endpoint;
use super::retry_after::retry_after;
use crate::connect::{ConnectFailure, transport};
use crate::failure::failure;
use crate::wire::http_failure;

/// The limits of an answer's time and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) patience: Duration,
    pub(crate) max_bytes: usize,
}

/// Why there is no good answer, and the obstacle if none came at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoAnswer {
    pub(crate) failure: ModelFailure,
    pub(crate) obstacle: Option<ConnectFailure>,
    /// The status of a bad answer.
    status: Option<StatusCode>,
}

impl From<ModelFailure> for NoAnswer {
    fn from(failure: ModelFailure) -> Self {
        Self { failure, obstacle: None, status: None }
    }
}

impl From<reqwest::Error> for NoAnswer {
    fn from(error: reqwest::Error) -> Self {
        Self { obstacle: Some(ConnectFailure::of(&error)), failure: transport(error), status: None }
    }
}

/// The body of a good answer. A failure never contains the key, even if the provider echoes it.
pub(crate) async fn exchange(
    request: RequestBuilder,
    endpoint: &Endpoint,
    bounds: Bounds,
) -> Result<Vec<u8>, NoAnswer> {
    let asked = ask_with_pass(request, endpoint, bounds.max_bytes);
    let answer = tokio::time::timeout(bounds.patience, asked).await;
    let answer = answer.unwrap_or_else(|_| {
        let message = format!("no whole answer within {} s", bounds.patience.as_secs_f64());
        let failure = failure(ModelFailureClass::Timeout, message);
        Err(NoAnswer { failure, obstacle: Some(ConnectFailure::Slow), status: None })
    });
    answer.map_err(|none| NoAnswer { failure: endpoint.mask(none.failure), ..none })
}

/// Asks again if the token of a sign-in was refused and there is another.
async fn ask_with_pass(
    request: RequestBuilder,
    endpoint: &Endpoint,
    max_bytes: usize,
) -> Result<Vec<u8>, NoAnswer> {
    let pass = endpoint.pass().await?;
    let again = request.try_clone();
    let refused = match ask(request.headers(pass.headers.clone()), max_bytes).await {
        Err(none) if none.status == Some(StatusCode::UNAUTHORIZED) => none,
        other => return other,
    };
    match (again, endpoint.pass_after(&pass).await?) {
        (Some(again), Some(next)) => ask(again.headers(next.headers), max_bytes).await,
        (None, _) | (_, None) => Err(refused),
    }
}

async fn ask(request: RequestBuilder, max_bytes: usize) -> Result<Vec<u8>, NoAnswer> {
    let response = request.send().await?;
    let (status, wait) = (response.status(), retry_after(response.headers()));
    let body = body(response, max_bytes).await?;
    if status.is_success() {
        Ok(body)
    } else {
        let failure = http_failure(status.as_u16(), wait, &body);
        Err(NoAnswer { failure, obstacle: None, status: Some(status) })
    }
}

async fn body(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, NoAnswer> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await? {
        if body.len() + bytes.len() > max_bytes {
            let message = format!("the answer is longer than {max_bytes} bytes");
            return Err(failure(ModelFailureClass::Transport, message).into());
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}
