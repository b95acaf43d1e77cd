//! Finds the authorization server of an MCP server, and its endpoints.

use onyx_egress::{Address, Egress};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Challenge;
use crate::McpError;

/// An MCP server's metadata (RFC 9728).
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Resource {
    pub(super) resource: Option<String>,
    #[serde(default)]
    authorization_servers: Vec<String>,
    pub(super) scopes_supported: Option<Vec<String>>,
}

/// An authorization server's metadata (RFC 8414).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(super) scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

pub(super) struct DiscoveredServer {
    pub(super) resource: Resource,
    pub(super) server: AuthorizationServer,
}

pub(super) async fn find(
    egress: &Egress,
    address: &Address,
    challenge: &Challenge,
) -> Result<DiscoveredServer, McpError> {
    let resource = resource(egress, address, challenge).await?;
    if let Some(named) = &resource.resource
        && !covers(named, address)
    {
        let shown: String = named.chars().take(200).collect();
        return Err(odd(&format!("it says that it is {shown:?}, which is another address")));
    }
    let issuer = match resource.authorization_servers.first() {
        Some(issuer) => issuer.clone(),
        // Servers of versions before 2025-06-18 are their own authorization servers.
        None => origin(address),
    };
    let server = authorization_server(egress, &issuer).await?;
    if !server.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(odd("its authorization server does not announce support for PKCE"));
    }
    Ok(DiscoveredServer { resource, server })
}

async fn resource(
    egress: &Egress,
    address: &Address,
    challenge: &Challenge,
) -> Result<Resource, McpError> {
    if let Some(place) = &challenge.resource_metadata {
        let found = fetch(egress, place).await?;
        return found.ok_or_else(|| odd("its metadata is not at the address that it names"));
    }
    let path = path(address.as_str());
    let well_known = "/.well-known/oauth-protected-resource";
    let mut places = vec![format!("{well_known}{path}"), well_known.to_owned()];
    places.dedup();
    for place in places {
        let place = address.join(&place).map_err(|error| odd(&error.to_string()))?;
        if let Some(found) = fetch(egress, place.as_str()).await? {
            return Ok(found);
        }
    }
    Ok(Resource::default())
}

async fn authorization_server(
    egress: &Egress,
    issuer: &str,
) -> Result<AuthorizationServer, McpError> {
    let base: Address = issuer.parse().map_err(|_| odd("its issuer is not a valid address"))?;
    let path = path(base.as_str());
    let places = if path.is_empty() {
        vec![
            "/.well-known/oauth-authorization-server".to_owned(),
            "/.well-known/openid-configuration".to_owned(),
        ]
    } else {
        vec![
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("/.well-known/openid-configuration{path}"),
            format!("{path}/.well-known/openid-configuration"),
        ]
    };
    for place in places {
        let place = base.join(&place).map_err(|error| odd(&error.to_string()))?;
        let found: Option<AuthorizationServer> = fetch(egress, place.as_str()).await?;
        let Some(found) = found else { continue };
        // The issuers are compared exactly, because another spelling may be another server.
        if found.issuer != issuer {
            return Err(odd("its authorization server names another issuer than expected"));
        }
        return Ok(found);
    }
    Err(odd("its authorization server does not say how to sign in"))
}

/// Fetches a JSON document; `None` if the address does not exist.
async fn fetch<T: DeserializeOwned>(egress: &Egress, place: &str) -> Result<Option<T>, McpError> {
    let address: Address =
        place.parse().map_err(|_| odd("it names an address that is not valid"))?;
    let fetched = egress.get(&address, "application/json").await;
    let fetched = fetched.map_err(|error| McpError::Unreachable(error.to_string()))?;
    if fetched.status != 200 {
        return Ok(None);
    }
    let read = serde_json::from_slice(&fetched.body);
    read.map(Some).map_err(|error| {
        odd(&format!("the answer of {} could not be parsed: {error}", address.host()))
    })
}

/// Whether the address is the resource itself, or under it.
fn covers(resource: &str, address: &Address) -> bool {
    let Ok(resource) = resource.parse::<Address>() else { return false };
    if origin(&resource) != origin(address) {
        return false;
    }
    let (resource, address) = (path(resource.as_str()), path(address.as_str()));
    match address.strip_prefix(resource) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || resource.is_empty(),
        None => false,
    }
}

pub(super) fn origin(address: &Address) -> String {
    let text = address.as_str();
    let after_scheme = text.find("://").map_or(0, |at| at + 3);
    let end = text[after_scheme..].find('/').map_or(text.len(), |at| after_scheme + at);
    text[..end].to_owned()
}

/// The path of an address, without a query and without a trailing slash.
fn path(address: &str) -> &str {
    let after_scheme = address.find("://").map_or(0, |at| at + 3);
    let from = address[after_scheme..].find('/').map_or(address.len(), |at| after_scheme + at);
    let path = &address[from..];
    let end = path.find(['?', '#']).unwrap_or(path.len());
    path[..end].trim_end_matches('/')
}

fn odd(why: &str) -> McpError {
    McpError::SignIn(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_covers_itself_and_what_is_under_it_only() {
        let covers = |resource: &str, address: &str| covers(resource, &address.parse().unwrap());
        assert!(covers("https://a.example/mcp", "https://a.example/mcp"));
        assert!(covers("https://a.example/", "https://a.example/mcp?x=1"));
        assert!(covers("https://a.example", "https://a.example/mcp/one"));
        assert!(!covers("https://a.example/mc", "https://a.example/mcp"));
        assert!(!covers("https://evil.example/mcp", "https://a.example/mcp"));
        assert!(!covers("http://a.example/mcp", "https://a.example/mcp"));
        assert!(!covers("nonsense", "https://a.example/mcp"));
    }
}
