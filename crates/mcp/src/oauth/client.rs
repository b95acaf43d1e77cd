//! How Onyx identifies itself to an authorization server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use onyx_egress::{Address, Egress};
use onyx_types::percent_encoded;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::OauthSettings;
use super::discovery::AuthorizationServer;
use crate::McpError;

/// Our client id and its proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OauthClient {
    pub(super) id: String,
    secret: Option<String>,
    method: Method,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Method {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
}

impl OauthClient {
    /// Adds our client id and its proof to a token request.
    pub(super) fn show<'a>(
        &'a self,
        fields: &mut Vec<(&'static str, &'a str)>,
        headers: &mut Vec<(&'static str, String)>,
    ) {
        let secret = self.secret.as_deref();
        match (self.method, secret) {
            (Method::Basic, Some(secret)) => {
                let pair = format!("{}:{}", percent_encoded(&self.id), percent_encoded(secret));
                headers.push(("authorization", format!("Basic {}", BASE64.encode(pair))));
            }
            (Method::Post, Some(secret)) => {
                fields.push(("client_id", &self.id));
                fields.push(("client_secret", secret));
            }
            (Method::None | Method::Basic | Method::Post, _) => {
                fields.push(("client_id", &self.id));
            }
        }
    }
}

/// Finds our client id: the owner's, our metadata document, or a registration, in this order.
pub(super) async fn known(
    egress: &Egress,
    server: &AuthorizationServer,
    settings: &OauthSettings,
    redirect_uri: &str,
    scope: Option<&str>,
) -> Result<OauthClient, McpError> {
    if let Some(id) = &settings.client_id {
        let secret = settings.client_secret.clone();
        let method = method_for(server, secret.is_some());
        return Ok(OauthClient { id: id.clone(), secret, method });
    }
    if let Some(url) = &settings.client_metadata_url
        && server.client_id_metadata_document_supported
    {
        return Ok(OauthClient { id: url.clone(), secret: None, method: Method::None });
    }
    register(egress, server, redirect_uri, scope).await
}

/// Our description of ourselves, for a document or a registration.
fn client_metadata(redirect_uri: &str) -> Value {
    json!({
        "client_name": "Onyx",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "native",
    })
}

async fn register(
    egress: &Egress,
    server: &AuthorizationServer,
    redirect_uri: &str,
    scope: Option<&str>,
) -> Result<OauthClient, McpError> {
    let Some(place) = &server.registration_endpoint else {
        let why = "its authorization server has no automatic registration: register Onyx there and set \
                   `oauth.clientId`";
        return Err(McpError::SignIn(why.to_owned()));
    };
    let mut wanted = client_metadata(redirect_uri);
    let method = if allows(server, "none") { Method::None } else { method_for(server, true) };
    wanted["token_endpoint_auth_method"] = json!(method);
    if let Some(scope) = scope {
        wanted["scope"] = json!(scope);
    }
    let address: Address =
        place.parse().map_err(|_| odd("its registration endpoint is not a valid address"))?;
    let body = wanted.to_string().into_bytes();
    let answer = egress.post(&address, "application/json", &[], body).await;
    let answer = answer.map_err(|error| McpError::Unreachable(error.to_string()))?;
    if !matches!(answer.status, 200 | 201) {
        return Err(odd(&format!(
            "its authorization server refused the registration (HTTP {})",
            answer.status
        )));
    }
    #[derive(Deserialize)]
    struct RegisteredClient {
        client_id: String,
        client_secret: Option<String>,
        token_endpoint_auth_method: Option<Method>,
    }
    let registered: RegisteredClient = serde_json::from_slice(&answer.body)
        .map_err(|error| odd(&format!("its registration answer could not be parsed: {error}")))?;
    let secret = registered.client_secret.filter(|secret| !secret.is_empty());
    let usual = method_for(server, secret.is_some());
    let method = registered.token_endpoint_auth_method.unwrap_or(usual);
    Ok(OauthClient { id: registered.client_id, secret, method })
}

fn method_for(server: &AuthorizationServer, has_secret: bool) -> Method {
    if !has_secret {
        Method::None
    } else if allows(server, "client_secret_basic") || !allows(server, "client_secret_post") {
        Method::Basic
    } else {
        Method::Post
    }
}

fn allows(server: &AuthorizationServer, method: &str) -> bool {
    match &server.token_endpoint_auth_methods_supported {
        Some(methods) => methods.iter().any(|known| known == method),
        // RFC 8414 defines this as the default.
        None => method == "client_secret_basic",
    }
}

fn odd(why: &str) -> McpError {
    McpError::SignIn(why.to_owned())
}
