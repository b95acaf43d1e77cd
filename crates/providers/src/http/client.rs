use std::sync::OnceLock;
use std::time::Duration;

use onyx_types::{ModelFailure, ModelFailureClass};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use crate::Secret;
use crate::failure::failure;
use crate::oauth::TokenSource;

/// Where a provider is and how it is asked: the key is bound to this address for good.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// Part of the headers; kept apart to be shown shortened.
    pub(crate) key: Option<Secret>,
    /// What must not show up in an error, wherever the provider echoes it.
    pub(crate) secrets: Vec<Secret>,
    /// Where a token takes the place of the key: each request asks for it.
    pub(crate) tokens: Option<TokenSource>,
}

/// What one request shows in place of a key: nothing where the headers hold it.
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

    /// The pass to ask with again after one was refused; `None` where there is no other.
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
        // Header names only: a value may be a key.
        let names: Vec<&str> = self.headers.keys().map(|name| name.as_str()).collect();
        f.debug_struct("Endpoint")
            .field("url", &self.url.as_str())
            .field("headers", &names)
            .finish()
    }
}

/// A provider's client, made when it is first needed: loading the machine's certificates costs
/// more than a whole start may.
#[derive(Debug, Default)]
pub(crate) struct LazyClient(OnceLock<Client>);

impl LazyClient {
    pub(crate) fn get(&self, url: &Url, connect: Duration) -> Result<&Client, ModelFailure> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        let client = build(url, connect).map_err(|error| {
            let message = format!("the HTTP client cannot be made: {}", error.without_url());
            failure(ModelFailureClass::Unavailable, message)
        })?;
        Ok(self.0.get_or_init(|| client))
    }
}

#[allow(clippy::disallowed_methods, reason = "the egress client of providers is made here")]
fn build(url: &Url, connect: Duration) -> Result<Client, reqwest::Error> {
    let mut builder = Client::builder()
        .user_agent(HeaderValue::from_static(concat!("onyx/", env!("CARGO_PKG_VERSION"))))
        .connect_timeout(connect)
        // A redirect would carry prompt and key to an address nobody configured.
        .redirect(Policy::none())
        .dns_resolver(Names)
        .tcp_nodelay(true);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

/// The machine's own lookup, with an error that can be told from others.
struct Names;

/// A server's name that leads nowhere.
#[derive(Debug, thiserror::Error)]
#[error("its name leads to no address: {0}")]
pub(crate) struct UnknownName(std::io::Error);

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port is set by the client.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await.map_err(UnknownName)?;
            let addresses: Vec<_> = found.collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}
