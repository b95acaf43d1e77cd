//! Finds model servers on this machine that are not configured: each known server is asked at its
//! usual address.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use onyx_types::Clock;
use reqwest::Url;

use super::catalogue::Catalogue;
use super::reference::{NoSecrets, References};
use super::settings::ProviderSettings;
use super::vendor::{Locality, VENDORS, Vendor};
use super::{listing, resolve};
use crate::connect::is_loopback;
use crate::oauth::Logins;

/// A server on this machine answers at once, or it is not running.
const PATIENCE: Duration = Duration::from_millis(500);

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    pub name: String,
    pub base_url: String,
    pub models: Vec<String>,
    pub latency: Duration,
}

impl LocalServer {
    /// The first of its models that can answer. Such servers also list models that only make
    /// vectors or sort results, and most of these are recognisable only by name.
    pub fn answers_with(&self) -> Option<&str> {
        let answers = |model: &&String| {
            let name = model.to_ascii_lowercase();
            !["embed", "rerank"].iter().any(|other| name.contains(other))
        };
        self.models.iter().find(answers).map(String::as_str)
    }
}

/// Asks all of them at once. `ports`: where a vendor listens if it is not at its usual port; the
/// host is always this machine.
pub(super) async fn found(
    catalogue: &Catalogue,
    clock: &Arc<dyn Clock>,
    ports: &BTreeMap<String, u16>,
) -> Vec<LocalServer> {
    let mut servers: Vec<(&Vendor, Url)> = Vec::new();
    let here = VENDORS.iter().filter(|vendor| vendor.locality == Locality::ThisMachine);
    for vendor in here {
        let Some(base) = vendor.base_url.and_then(|base| Url::parse(base).ok()) else {
            continue;
        };
        let base = at_port(base, ports.get(vendor.name).copied());
        // A server with two names is asked only once.
        let is_asked = servers.iter().any(|(_, other)| is_same_place(other, &base));
        if !is_asked && !is_configured(catalogue, vendor.name, &base) {
            servers.push((vendor, base));
        }
    }
    let servers = servers.into_iter().map(|(vendor, base)| ask(vendor, base, clock));
    join_all(servers).await.into_iter().flatten().collect()
}

fn is_configured(catalogue: &Catalogue, name: &str, base: &Url) -> bool {
    catalogue.providers.iter().any(|entry| {
        let is_there = |provider: &super::provider::Provider| is_same_place(&provider.base, base);
        entry.name == name || entry.resolved.as_deref().is_ok_and(is_there)
    })
}

async fn ask(vendor: &Vendor, base: Url, clock: &Arc<dyn Clock>) -> Option<LocalServer> {
    let base_url = base.as_str().trim_end_matches('/').to_owned();
    let settings =
        ProviderSettings { base_url: Some(base_url.clone()), ..ProviderSettings::default() };
    let nothing = |_: &str| None;
    let references = References { environment: &nothing, secrets: &NoSecrets };
    let logins = Logins::new(Arc::new(crate::NoTokens), Arc::clone(clock));
    let provider = resolve::resolve(vendor.name, &settings, references, &logins).ok()?;
    let start = clock.now().mono;
    // A server that does not answer is treated as absent; it was not configured, so this is no
    // error.
    let models = listing::list_as(&provider, provider.kind, &base_url, PATIENCE).await.ok()?;
    Some(LocalServer {
        name: vendor.name.to_owned(),
        base_url,
        models: models.into_iter().map(|model| model.id).collect(),
        latency: clock.now().mono.saturating_sub(start),
    })
}

fn at_port(mut base: Url, port: Option<u16>) -> Url {
    if let Some(port) = port {
        // Setting the port only fails for an address without a host, and this one has a host.
        let _ = base.set_port(Some(port));
    }
    base
}

/// Whether both addresses mean the same port of this machine, under any of its names.
fn is_same_place(one: &Url, other: &Url) -> bool {
    let is_same_host =
        one.host_str() == other.host_str() || (is_loopback(one) && is_loopback(other));
    is_same_host && one.port_or_known_default() == other.port_or_known_default()
}
