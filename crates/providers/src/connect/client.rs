use std::sync::OnceLock;
use std::time::Duration;

use onyx_types::{ModelFailure, ModelFailureClass};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use crate::failure::failure;

/// A provider's client, made on first use: loading the machine's certificates takes longer than
/// Onyx may take to start.
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
        // A redirect would carry the prompt and the key to an address that is not configured.
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

/// Resolves names as the machine does, and gives the error a type of its own, by which `obstacle`
/// recognises it.
struct Names;

/// The name of a server could not be resolved.
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
