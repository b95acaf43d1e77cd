//! `/oauth/token`: exchanges a code or a refresh token for tokens.

use axum::extract::{Extension, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use onyx_identity::{GrantProof, Tokens};
use onyx_mcp::granting::GrantRefusal;
use onyx_types::{ErrorCode, Fault, Grants};
use serde_json::json;

use super::refused;
use crate::access::address_of;
use crate::serve::RequestSender;
use crate::wire::RawBody;
use crate::{ApiState, Problem};

pub(super) async fn token(
    State(state): State<ApiState>,
    sender: Option<Extension<RequestSender>>,
    RawBody(body): RawBody,
) -> Response {
    let fields = onyx_mcp::oauth::pairs(&String::from_utf8_lossy(&body));
    let field = |name: &str| {
        let found = fields.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let identity = state.auth.identity();
    let tokens = match field("grant_type") {
        "authorization_code" => {
            let proof = GrantProof {
                code: field("code"),
                client_id: field("client_id"),
                redirect_uri: field("redirect_uri"),
                verifier: field("code_verifier"),
            };
            match identity.redeem_grant(&proof).await {
                Ok(Some((tokens, grants))) => Ok((tokens, Some(grants))),
                Ok(None) => return refused(&unknown_code()),
                Err(fault) => Err(fault),
            }
        }
        "refresh_token" => {
            let from = address_of(sender.as_ref().map(|Extension(sender)| sender));
            identity.refresh(field("refresh_token"), from).await.map(|tokens| (tokens, None))
        }
        _ => return refused(&GrantRefusal::new("unsupported_grant_type", "which grant?")),
    };
    match tokens {
        Ok((tokens, grants)) => token_answer(&tokens, grants),
        // The program must not take an outage for a refusal.
        Err(fault) if fault.code == ErrorCode::StorageUnavailable => {
            Problem::from(fault).into_response()
        }
        Err(fault) => refused(&invalid_grant(&fault)),
    }
}

fn unknown_code() -> GrantRefusal {
    GrantRefusal::new("invalid_grant", "the code is not known, or was used")
}

fn invalid_grant(fault: &Fault) -> GrantRefusal {
    GrantRefusal::new("invalid_grant", fault.message.clone())
}

fn token_answer(tokens: &Tokens, grants: Option<Grants>) -> Response {
    let mut body = json!({
        "access_token": tokens.access.reveal(),
        "token_type": "Bearer",
        "expires_in": tokens.expires_in.as_secs(),
        "refresh_token": tokens.refresh.reveal(),
    });
    if let Some(grants) = grants {
        let words: Vec<&str> = grants.iter().map(|grant| grant.as_str()).collect();
        body["scope"] = json!(words.join(" "));
    }
    (StatusCode::OK, [(header::CACHE_CONTROL, "no-store")], axum::Json(body)).into_response()
}
