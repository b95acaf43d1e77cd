//! The metadata that programs read, and the header with which `/mcp` refers them to it.

use axum::extract::{Extension, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use schemars::Schema;
use schemars::generate::SchemaGenerator;
use serde_json::{Value, json};

use crate::access::Scheme;

/// The address under which the program reached the server; Host was checked before.
pub(in crate::routes) fn base(scheme: Scheme, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let scheme = match scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    format!("{scheme}://{host}")
}

pub(super) fn any_object(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"type": "object"})
}

pub(super) async fn resource(
    Extension(scheme): Extension<Scheme>,
    headers: HeaderMap,
) -> axum::Json<Value> {
    let base = base(scheme, &headers);
    axum::Json(json!({
        "resource": format!("{base}/mcp"),
        "resource_name": "Onyx",
        "authorization_servers": [base],
        "scopes_supported": ["chat", "read"],
        "bearer_methods_supported": ["header"],
    }))
}

pub(super) async fn server(
    Extension(scheme): Extension<Scheme>,
    headers: HeaderMap,
) -> axum::Json<Value> {
    let base = base(scheme, &headers);
    axum::Json(json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/oauth/authorize"),
        "token_endpoint": format!("{base}/oauth/token"),
        "registration_endpoint": format!("{base}/oauth/register"),
        "scopes_supported": ["chat", "read", "write"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": true,
        "authorization_response_iss_parameter_supported": true,
    }))
}

/// Adds to a refusal of `/mcp` where the program can sign in.
pub(in crate::routes) async fn tell_where_to_sign_in(
    request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    if request.uri().path() != "/mcp" {
        return next(request).await;
    }
    let scheme = request.extensions().get::<Scheme>().copied().unwrap_or(Scheme::Http);
    let base = base(scheme, request.headers());
    let mut response = next(request).await;
    if response.status() == StatusCode::UNAUTHORIZED {
        let place = format!("{base}/.well-known/oauth-protected-resource/mcp");
        let challenge = format!("Bearer resource_metadata=\"{place}\", scope=\"chat read\"");
        if let Ok(value) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
        }
    }
    response
}
