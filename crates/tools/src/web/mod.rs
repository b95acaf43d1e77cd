//! The web for tools: the search engine, pages as text, and the addresses that a run may fetch
//! without approval.
//!
//! The web tools and commands with network access use this room. Every request goes through
//! `onyx_egress`.

mod addresses;
pub(crate) mod readable;
pub(crate) mod search_words;
pub(crate) mod searxng;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use onyx_egress::{Address, Bounds, Egress, PrivateHost, PrivateHosts, Resolver};
use serde::Deserialize;

pub use addresses::{Addresses, FetchBudget};

/// The `tools.web` section of the config as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WebSettings {
    pub search: SearchSettings,
    /// Hosts of private networks that `web_fetch` may reach.
    pub allow_private_hosts: PrivateHosts,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SearchSettings {
    /// The address of a SearXNG; without it there is no search.
    pub base_url: Option<String>,
}

impl WebSettings {
    /// Checks the settings before they take effect.
    pub fn check(&self) -> Result<(), BadWebSettings> {
        engine(self).map(drop)
    }
}

/// The limits of a search. Redirects are not followed, because they could take the words to a
/// server that the owner did not name.
const ENGINE: Bounds = Bounds {
    connect: Duration::from_secs(10),
    total: Duration::from_secs(25),
    redirects: 0,
    bytes: 1024 * 1024,
};

/// Web access. An edit of the config replaces its settings.
#[derive(Clone)]
pub struct Web(Arc<RwLock<ResolvedWeb>>);

#[derive(Clone)]
struct ResolvedWeb {
    egress: Egress,
    engine: Option<Address>,
}

/// A setting in `tools.web` that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tools.web.search.baseUrl: {0}")]
pub struct BadWebSettings(String);

impl Web {
    pub fn new(
        resolver: Arc<dyn Resolver>,
        settings: &WebSettings,
    ) -> Result<Self, BadWebSettings> {
        let engine = engine(settings)?;
        let private = settings.allow_private_hosts.clone();
        let egress = Egress::new(resolver, private, Bounds::default());
        Ok(Self(Arc::new(RwLock::new(ResolvedWeb { egress, engine }))))
    }

    /// Replaces the settings after an edit of the config. If they are invalid, nothing changes.
    pub fn follow(&self, settings: &WebSettings) -> Result<(), BadWebSettings> {
        let engine = engine(settings)?;
        let mut resolved = self.0.write().unwrap_or_else(PoisonError::into_inner);
        resolved.egress = resolved.egress.reaching(settings.allow_private_hosts.clone());
        resolved.engine = engine;
        Ok(())
    }

    /// The egress client with the present settings.
    pub fn egress(&self) -> Egress {
        self.resolved().egress
    }

    /// The address of the search engine, if there is one.
    pub fn search_engine(&self) -> Option<String> {
        self.resolved().engine.map(|engine| engine.to_string())
    }

    pub(crate) fn has_engine(&self) -> bool {
        self.resolved().engine.is_some()
    }

    /// The search engine and a client that may reach it wherever it is. The owner named it, and a
    /// model chooses only the words of a search.
    pub(crate) fn engine(&self) -> Option<(Address, Egress)> {
        let ResolvedWeb { egress, engine } = self.resolved();
        let engine = engine?;
        let egress = egress.reaching(vec![PrivateHost::of(&engine)]).within(ENGINE);
        Some((engine, egress))
    }

    fn resolved(&self) -> ResolvedWeb {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn engine(settings: &WebSettings) -> Result<Option<Address>, BadWebSettings> {
    let Some(base) = settings.search.base_url.as_deref().filter(|base| !base.is_empty()) else {
        return Ok(None);
    };
    let base = format!("{}/search", base.trim_end_matches('/'));
    let base = base
        .parse()
        .map_err(|error: onyx_egress::EgressError| BadWebSettings(error.to_string()))?;
    Ok(Some(base))
}
