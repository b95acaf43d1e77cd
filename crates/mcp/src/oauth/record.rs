//! The sealed record of a sign-in, bound to the server's address and its authorization server.

use serde::{Deserialize, Serialize};

use super::client::OauthClient;

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Record {
    /// The MCP server's address. Tokens are never used for, or sent to, another one.
    pub(super) server: String,
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) resource: String,
    pub(super) client: OauthClient,
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    /// The end of the access token in milliseconds since 1970; `None` if the server did not say.
    pub(super) expires_at: Option<i64>,
    pub(super) scope: Option<String>,
}

impl Record {
    pub(super) fn read(text: &str, server: &str) -> Option<Self> {
        let record: Self = serde_json::from_str(text).ok()?;
        (record.server == server).then_some(record)
    }
}

/// The scopes granted so far together with those requested now.
pub(super) fn union(granted: Option<&str>, requested: Option<&str>) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    for word in granted.iter().chain(requested.iter()).flat_map(|scope| scope.split(' ')) {
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    (!words.is_empty()).then(|| words.join(" "))
}
