use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use onyx_connectors::PushedRequest;

use super::key;
use crate::{ApiState, Problem};

/// The largest message that is accepted.
const LARGEST: usize = 1024 * 1024;

/// Stores the update before it is acknowledged. The account's signature decides who may deliver
/// one.
pub(crate) async fn receive(
    State(state): State<ApiState>,
    Path((network, account)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, Problem> {
    if body.len() > LARGEST {
        return Err(Problem::new(
            onyx_types::ErrorCode::TooLarge,
            "a message may have at most 1 MB",
        ));
    }
    let pushed = pushed(&headers, body.to_vec());
    state.connectors.accept(&key(network, account)?, &pushed).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) fn pushed(headers: &HeaderMap, body: Vec<u8>) -> PushedRequest {
    let headers = headers
        .iter()
        .filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        })
        .collect();
    PushedRequest { headers, body }
}
