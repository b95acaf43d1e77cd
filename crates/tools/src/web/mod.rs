//! The web as tools see it: the search engine, pages as text, and which addresses a run may fetch
//! without asking.
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

/// `tools.web` of the config, as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WebSettings {
    pub search: SearchSettings,
    /// Hosts beside the internet that `web_fetch` may reach.
    pub allow_private_hosts: PrivateHosts,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SearchSettings {
    /// Where a SearXNG answers; without one there is no search.
    pub base_url: Option<String>,
}

impl WebSettings {
    /// Whether they lead anywhere, before any of them counts.
    pub fn check(&self) -> Result<(), BadWebSettings> {
        engine(self).map(drop)
    }
}

/// An answer to a search. A redirect would take the words elsewhere than the owner said.
const ENGINE: Bounds = Bounds {
    connect: Duration::from_secs(10),
    total: Duration::from_secs(25),
    redirects: 0,
    bytes: 1024 * 1024,
};

/// The way to the web, following the config.
#[derive(Clone)]
pub struct Web(Arc<RwLock<Resolved>>);

#[derive(Clone)]
struct Resolved {
    egress: Egress,
    engine: Option<Address>,
}

/// A setting that leads nowhere.
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
        Ok(Self(Arc::new(RwLock::new(Resolved { egress, engine }))))
    }

    /// Takes up an edit of the config, or nothing of it.
    pub fn follow(&self, settings: &WebSettings) -> Result<(), BadWebSettings> {
        let engine = engine(settings)?;
        let mut resolved = self.0.write().unwrap_or_else(PoisonError::into_inner);
        resolved.egress = resolved.egress.reaching(settings.allow_private_hosts.clone());
        resolved.engine = engine;
        Ok(())
    }

    /// The way out as the settings are now.
    pub fn egress(&self) -> Egress {
        self.resolved().egress
    }

    /// Where searches are sent, if anywhere.
    pub fn search_engine(&self) -> Option<String> {
        self.resolved().engine.map(|engine| engine.to_string())
    }

    pub(crate) fn has_engine(&self) -> bool {
        self.resolved().engine.is_some()
    }

    /// The engine, and a way out that leads to it wherever it stands: the owner named it, and a
    /// model chooses only what it is asked.
    pub(crate) fn engine(&self) -> Option<(Address, Egress)> {
        let Resolved { egress, engine } = self.resolved();
        let engine = engine?;
        let egress = egress.reaching(vec![PrivateHost::of(&engine)]).within(ENGINE);
        Some((engine, egress))
    }

    fn resolved(&self) -> Resolved {
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
