//! OAuth 2.1 for programs that know only this server's address, such as MCP clients: they read here
//! where to sign in, register, and send their person's browser to our page `/oauth/authorize`. The
//! person grants access there, and the program fetches its tokens.
//!
//! The rules for programs and redirect addresses are in `onyx_mcp::granting`; codes and tokens are
//! in `onyx_identity`.

mod exchange;
mod metadata;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use onyx_identity::GrantRequest;
use onyx_mcp::granting::{GrantClient, GrantRefusal, registered};
use onyx_types::{ErrorCode, Fault, Grant, Grants};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::Scheme;
use crate::wire::{Json, RawBody};
use crate::{Access, ApiState, AuthContext, JsonBody, Problem, QueryOf, Route, Routes};

pub(super) use metadata::{base as base_address, tell_where_to_sign_in};

/// The scopes of a program that requests none: tools and reading, but no approving.
const USUAL_SCOPE: &str = "chat read";

pub(super) fn routes() -> Routes {
    use Access::{Chat, Public};
    let rows = [
        Route::get("/.well-known/oauth-protected-resource", Public, metadata::resource)
            .summary("Get the OAuth metadata of /mcp (RFC 9728)")
            .answers_json_as(metadata::any_object),
        Route::get("/.well-known/oauth-protected-resource/mcp", Public, metadata::resource)
            .summary("Get the OAuth metadata where MCP clients look for it (RFC 9728)")
            .answers_json_as(metadata::any_object),
        Route::get("/.well-known/oauth-authorization-server", Public, metadata::server)
            .summary("Get the authorization server's metadata (RFC 8414)")
            .answers_json_as(metadata::any_object),
        Route::post("/oauth/register", Public, register)
            .summary("Register a program (RFC 7591)")
            .answers_json_as(metadata::any_object),
        Route::post("/oauth/token", Public, exchange::token)
            .summary("Exchange a code or a refresh token for tokens (form-encoded, RFC 6749)")
            .answers_json_as(metadata::any_object),
        Route::get("/api/oauth/request", Chat, look)
            .summary("Get what a program asks for, for the consent page")
            .query::<AuthorizeQuery>()
            .answers_json::<AccessRequestView>(),
        Route::post("/api/oauth/authorize", Chat, authorize)
            .summary("Grant a program access: get the address to open")
            .body::<AuthorizeQuery>()
            .answers_json::<AccessGranted>(),
    ];
    Routes::tagged("oauth", rows)
}

async fn register(RawBody(body): RawBody) -> Response {
    let registration: Value = serde_json::from_slice(&body).unwrap_or_default();
    match registered(&registration) {
        Ok(client) => (StatusCode::CREATED, axum::Json(client)).into_response(),
        Err(refusal) => refused(&refusal),
    }
}

/// An error in the form of RFC 6749.
fn refused(refusal: &GrantRefusal) -> Response {
    let body = json!({"error": refusal.error, "error_description": refusal.message});
    (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
}

/// The query that the program put into the address of the page.
#[derive(Clone, Deserialize, JsonSchema)]
pub(crate) struct AuthorizeQuery {
    response_type: String,
    client_id: String,
    redirect_uri: String,
    code_challenge: String,
    code_challenge_method: String,
    state: Option<String>,
    scope: Option<String>,
    resource: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AccessRequestView {
    /// The program's own name for itself; it is not verified.
    name: String,
    /// The address that the browser goes to, which receives the access.
    goes_to: String,
    /// Scopes: chat, read, write.
    scopes: Vec<&'static str>,
}

async fn look(
    State(state): State<ApiState>,
    Extension(scheme): Extension<Scheme>,
    headers: HeaderMap,
    QueryOf(query): QueryOf<AuthorizeQuery>,
) -> Result<Json<AccessRequestView>, Problem> {
    let client = checked(&state, &metadata::base(scheme, &headers), &query).await?;
    let scopes = scopes(query.scope.as_deref())?.iter().map(|grant| grant.as_str()).collect();
    let goes_to = query.redirect_uri.split(['?', '#']).next().unwrap_or_default().to_owned();
    Ok(Json(AccessRequestView { name: client.name, goes_to, scopes }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AccessGranted {
    redirect: String,
}

async fn authorize(
    State(state): State<ApiState>,
    caller: AuthContext,
    Extension(scheme): Extension<Scheme>,
    headers: HeaderMap,
    JsonBody(query): JsonBody<AuthorizeQuery>,
) -> Result<Json<AccessGranted>, Problem> {
    let base = metadata::base(scheme, &headers);
    let client = checked(&state, &base, &query).await?;
    let grants = scopes(query.scope.as_deref())?;
    let request = GrantRequest {
        client_id: query.client_id,
        redirect_uri: query.redirect_uri.clone(),
        code_challenge: query.code_challenge,
    };
    let identity = state.auth.identity();
    let code = identity.grant_access(&caller, request, grants, client.name).await?;
    let mut pairs = vec![("code", code.reveal()), ("iss", &base)];
    pairs.extend(query.state.as_deref().map(|state| ("state", state)));
    Ok(Json(AccessGranted { redirect: with_query(&query.redirect_uri, &pairs) }))
}

/// The program of a valid request. An error is shown to the person and never sent to the program:
/// an unverified address gets nothing.
async fn checked(
    state: &ApiState,
    base: &str,
    query: &AuthorizeQuery,
) -> Result<GrantClient, Problem> {
    let client = if GrantClient::is_document(&query.client_id) {
        let document = state.extensions.mcp.client_document(&query.client_id).await?;
        let client = GrantClient::documented(&query.client_id, &document);
        client.map_err(|refusal| Problem::field("client_id", refusal.message))?
    } else {
        let unknown = || Problem::field("client_id", "no registered program has this id");
        GrantClient::read(&query.client_id).ok_or_else(unknown)?
    };
    if !client.comes_back_to(&query.redirect_uri) {
        return Err(Problem::field("redirect_uri", "the program did not register this address"));
    }
    if query.response_type != "code" {
        return Err(Problem::field("response_type", "only `code` is supported"));
    }
    let challenge = &query.code_challenge;
    if query.code_challenge_method != "S256" || !(43..=128).contains(&challenge.len()) {
        return Err(Problem::field("code_challenge", "PKCE with S256 is required"));
    }
    let own = format!("{base}/mcp");
    let is_own = |resource: &String| {
        let resource = resource.trim_end_matches('/');
        resource == base || resource == own
    };
    if query.resource.as_ref().is_some_and(|resource| !is_own(resource)) {
        return Err(Problem::field("resource", "it names another server than this one"));
    }
    Ok(client)
}

fn scopes(requested: Option<&str>) -> Result<Grants, Problem> {
    let requested = requested.filter(|scope| !scope.trim().is_empty()).unwrap_or(USUAL_SCOPE);
    let known = |word: &str| match word {
        "read" => Some(Grant::Read),
        "write" => Some(Grant::Write),
        "chat" => Some(Grant::Chat),
        // Refresh tokens are always included; administration cannot be granted here.
        _ => None,
    };
    let grants: Grants = requested.split(' ').filter_map(known).collect();
    if grants.is_empty() {
        return Err(Fault::new(
            ErrorCode::InvalidRequest,
            "scope: none of the requested scopes is known",
        )
        .with_hint("Ask for `chat`, `read` or `write`.")
        .into());
    }
    Ok(grants)
}

fn with_query(address: &str, pairs: &[(&str, &str)]) -> String {
    let query = onyx_mcp::oauth::form(pairs);
    let joint = if address.contains('?') { '&' } else { '?' };
    format!("{address}{joint}{query}")
}
