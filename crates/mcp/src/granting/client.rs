//! The programs that ask for access to `/mcp`, by registration or by their own metadata document.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::GrantRefusal;

const REGISTERED: &str = "onyx-client.";
const LONGEST_ID: usize = 4 * 1024;
const LONGEST_NAME: usize = 100;
const MOST_ADDRESSES: usize = 10;

/// A program's description of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantClient {
    pub name: String,
    redirect_uris: Vec<String>,
}

/// Answers a registration (RFC 7591). Nothing is stored, because the id contains the whole
/// registration. Forging an id gains nothing, since any program may register.
pub fn registered(request: &Value) -> Result<Value, GrantRefusal> {
    let client = GrantClient::of(request)?;
    let text = serde_json::to_string(&client).unwrap_or_default();
    let id = format!("{REGISTERED}{}", BASE64.encode(text));
    if id.len() > LONGEST_ID {
        return Err(GrantRefusal::new("invalid_client_metadata", "it is too long"));
    }
    Ok(json!({
        "client_id": id,
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }))
}

impl GrantClient {
    /// Reads a registration or a client's own metadata document.
    fn of(metadata: &Value) -> Result<Self, GrantRefusal> {
        let addresses = metadata["redirect_uris"].as_array().map(Vec::as_slice).unwrap_or_default();
        if addresses.is_empty() || addresses.len() > MOST_ADDRESSES {
            let why = format!("1 to {MOST_ADDRESSES} redirect_uris are needed");
            return Err(GrantRefusal::new("invalid_redirect_uri", why));
        }
        let address = |value: &Value| {
            let address = value.as_str().filter(|address| may_come_back_to(address));
            address.map(str::to_owned).ok_or_else(|| {
                let why = "a redirect_uri is https, of this machine, or of a program's own scheme";
                GrantRefusal::new("invalid_redirect_uri", why)
            })
        };
        let redirect_uris = addresses.iter().map(address).collect::<Result<_, _>>()?;
        let name = metadata["client_name"].as_str().unwrap_or("A program without a name");
        let name: String = name.chars().take(LONGEST_NAME).collect();
        Ok(Self { name: onyx_types::visible_line(&name).to_string(), redirect_uris })
    }

    /// Reads the client from an id that a registration returned; `None` for any other text.
    pub fn read(id: &str) -> Option<Self> {
        let text = BASE64.decode(id.strip_prefix(REGISTERED)?).ok()?;
        let client: Self = serde_json::from_slice(&text).ok()?;
        let is_good = client.redirect_uris.iter().all(|address| may_come_back_to(address));
        is_good.then_some(client)
    }

    /// Whether the id is the address of the client's own metadata document.
    pub fn is_document(id: &str) -> bool {
        id.strip_prefix("https://").is_some_and(|rest| rest.contains('/')) && id.len() <= LONGEST_ID
    }

    /// Reads a client's metadata document. The document must name its own address, so that it
    /// cannot be presented under another one.
    pub fn documented(id: &str, document: &Value) -> Result<Self, GrantRefusal> {
        if document["client_id"] != id {
            let why = "the client's document does not name itself";
            return Err(GrantRefusal::new("invalid_client", why));
        }
        Self::of(document)
    }

    /// Whether the client may be sent back to the address. Addresses are compared exactly, except
    /// that on this machine the program chooses the port (RFC 8252).
    pub fn comes_back_to(&self, address: &str) -> bool {
        let same = |known: &String| {
            known == address
                || without_port(known).is_some_and(|known| Some(known) == without_port(address))
        };
        may_come_back_to(address) && self.redirect_uris.iter().any(same)
    }
}

/// Whether only the client can read a code that is sent to this address.
fn may_come_back_to(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once(':') else { return false };
    let is_plain = address.bytes().all(|byte| byte.is_ascii_graphic()) && !address.contains('#');
    let scheme_is_own = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        && !["http", "https", "javascript", "data", "file", "vbscript", "blob", "about"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known));
    let is_https = scheme == "https" && rest.len() > 3 && rest.starts_with("//");
    is_plain
        && (is_https || without_port(address).is_some() || (scheme_is_own && !scheme.is_empty()))
}

/// An address of this machine, without its port.
fn without_port(address: &str) -> Option<(&str, &str)> {
    let rest = address.strip_prefix("http://")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => authority,
    };
    ["127.0.0.1", "localhost", "[::1]"].contains(&host).then_some((host, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_is_read_from_its_id() {
        let request = json!({"client_name": "Tester\n\u{202e}x",
            "redirect_uris": ["http://127.0.0.1:1/cb", "https://a.example/cb", "cursor://x/cb"]});
        let metadata = registered(&request).unwrap();
        let client = GrantClient::read(metadata["client_id"].as_str().unwrap()).unwrap();
        assert!(!client.name.contains('\n'), "{}", client.name);
        assert!(client.comes_back_to("http://127.0.0.1:999/cb"), "its own port");
        assert!(client.comes_back_to("https://a.example/cb"));
        assert!(client.comes_back_to("cursor://x/cb"));
        for address in [
            "https://a.example/cb2",
            "https://a.example:444/cb",
            "http://127.0.0.1:1/other",
            "http://127.0.0.1.evil.example:1/cb",
            "http://evil.example/cb",
        ] {
            assert!(!client.comes_back_to(address), "{address}");
        }
        assert_eq!(GrantClient::read("other"), None);
    }

    #[test]
    fn addresses_that_anybody_can_read_are_refused() {
        for address in [
            "http://evil.example/cb",
            "javascript:alert(1)",
            "data:text/html,x",
            "https://",
            "https://a.example/#x",
            "",
        ] {
            let refused = registered(&json!({"redirect_uris": [address]})).unwrap_err();
            assert_eq!(refused.error, "invalid_redirect_uri", "{address}");
        }
        let id = "https://a.example/client.json";
        assert!(GrantClient::is_document(id));
        let document =
            json!({"client_id": "https://b.example/", "redirect_uris": ["https://a.example/cb"]});
        assert!(GrantClient::documented(id, &document).is_err());
    }
}
