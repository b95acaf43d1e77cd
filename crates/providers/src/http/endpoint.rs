use onyx_types::ModelFailure;
use reqwest::Url;
use reqwest::header::HeaderMap;

use crate::Secret;
use crate::oauth::TokenSource;

/// A provider's address, headers and key. The key is never sent to another address.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// The key, which is also among the headers. It is stored separately so that it can be shown
    /// redacted.
    pub(crate) key: Option<Secret>,
    /// The texts that must not show up in an error, even if the provider echoes them.
    pub(crate) secrets: Vec<Secret>,
    /// The source of tokens, if tokens take the place of the key. Each request gets its token from
    /// it.
    pub(crate) tokens: Option<TokenSource>,
}

/// The credential of one request in place of a key; empty if the headers hold the key.
pub(crate) struct Pass {
    token: Option<Secret>,
    pub(crate) headers: HeaderMap,
}

impl Endpoint {
    pub(crate) fn mask(&self, mut failure: ModelFailure) -> ModelFailure {
        let mut texts = vec![&mut failure.message];
        if let Some(upstream) = &mut failure.upstream {
            let fields = [&mut upstream.code, &mut upstream.kind, &mut upstream.param];
            texts.extend(fields.into_iter().flatten());
        }
        for text in texts {
            for secret in &self.secrets {
                *text = secret.mask_in(text);
            }
        }
        if let Some(tokens) = &self.tokens {
            failure.message = tokens.mask(failure.message);
        }
        failure
    }

    pub(crate) async fn pass(&self) -> Result<Pass, ModelFailure> {
        let Some(tokens) = &self.tokens else {
            return Ok(Pass { token: None, headers: HeaderMap::new() });
        };
        let (token, headers) = tokens.pass(None).await?;
        Ok(Pass { token: Some(token), headers })
    }

    /// The credential for a second try after one was refused; `None` if there is no other.
    pub(crate) async fn pass_after(&self, refused: &Pass) -> Result<Option<Pass>, ModelFailure> {
        let (Some(tokens), Some(token)) = (&self.tokens, &refused.token) else {
            return Ok(None);
        };
        let (token, headers) = tokens.pass(Some(token)).await?;
        Ok(Some(Pass { token: Some(token), headers }))
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Only the names of headers are shown, because a value may be a key.
        let names: Vec<&str> = self.headers.keys().map(|name| name.as_str()).collect();
        f.debug_struct("Endpoint")
            .field("url", &self.url.as_str())
            .field("headers", &names)
            .finish()
    }
}
