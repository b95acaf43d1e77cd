//! menos, the owner's content vault beside Onyx. It is searched and added to over its HTTP API.
//! Every request is signed with the owner's ed25519 key and goes to no other server.

mod ingest;
mod search;
mod service;
mod signing;

use std::sync::{Arc, PoisonError, RwLock};

use onyx_egress::Address;
use onyx_types::{PersonId, Timestamp};
use serde::Deserialize;

pub(super) use ingest::Ingest;
pub(super) use search::Search;
use service::Service;
use signing::SigningKey;

use super::OpenSecret;
use crate::ToolError;
use crate::web::Web;

/// The `tools.menos` section of the config as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MenosSettings {
    /// The address of menos; without it menos is not available.
    pub base_url: Option<String>,
    /// `secret:<name>`: the private key in OpenSSH's form, without a passphrase. menos knows the
    /// public one.
    pub key: Option<String>,
}

/// A setting in `tools.menos` that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tools.menos.{0}")]
pub struct BadMenosSettings(String);

const SECRET: &str = "secret:";

impl MenosSettings {
    /// Checks the settings before they take effect.
    pub fn check(&self) -> Result<(), BadMenosSettings> {
        self.resolved().map(drop)
    }

    fn resolved(&self) -> Result<Option<MenosServer>, BadMenosSettings> {
        let Some(base) = self.base_url.as_deref().filter(|base| !base.is_empty()) else {
            return Ok(None);
        };
        let base = format!("{}/", base.trim_end_matches('/'));
        let base = base.parse::<Address>();
        let base = base.map_err(|error| BadMenosSettings(format!("baseUrl: {error}")))?;
        let name = self.key.as_deref().and_then(|key| key.strip_prefix(SECRET));
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            let why = "key: must be secret:<name>, from onyx secrets; it holds the private key \
                       whose public one menos knows";
            return Err(BadMenosSettings(why.to_owned()));
        };
        Ok(Some(MenosServer { base, key: name.to_owned() }))
    }
}

#[derive(Clone, Debug)]
struct MenosServer {
    base: Address,
    /// The name of the secret that holds the key.
    key: String,
}

/// The client for menos. An edit of the config replaces its settings. Only the owner may use it,
/// because its content is not for other members of a household.
#[derive(Clone)]
pub struct Menos {
    place: Arc<RwLock<Option<MenosServer>>>,
    web: Web,
    open: OpenSecret,
    owner: PersonId,
}

impl Menos {
    pub fn new(
        settings: &MenosSettings,
        web: Web,
        open: OpenSecret,
        owner: PersonId,
    ) -> Result<Self, BadMenosSettings> {
        let place = Arc::new(RwLock::new(settings.resolved()?));
        Ok(Self { place, web, open, owner })
    }

    /// Replaces the settings after an edit of the config. If they are invalid, nothing changes.
    pub fn follow(&self, settings: &MenosSettings) -> Result<(), BadMenosSettings> {
        let place = settings.resolved()?;
        *self.place.write().unwrap_or_else(PoisonError::into_inner) = place;
        Ok(())
    }

    /// The address of menos, if it is configured.
    pub fn address(&self) -> Option<String> {
        self.place().map(|place| place.base.to_string())
    }

    /// Whether requests can be signed; `None` if menos is not configured.
    pub fn is_ready(&self) -> Option<Result<(), String>> {
        self.place().map(|place| self.key(&place).map(drop).map_err(|error| error.to_string()))
    }

    fn place(&self) -> Option<MenosServer> {
        self.place.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn check(&self, person: &PersonId) -> Result<(), String> {
        if self.place().is_none() {
            return Err("menos is not configured; the owner sets tools.menos.baseUrl".to_owned());
        }
        if *person != self.owner {
            return Err("menos is for the owner only".to_owned());
        }
        Ok(())
    }

    fn base(&self) -> Result<Address, ToolError> {
        let none = || ToolError::Failed("menos is not configured".to_owned());
        self.place().map(|place| place.base).ok_or_else(none)
    }

    fn service(&self, now: Timestamp) -> Result<Service, ToolError> {
        let none = || ToolError::Failed("menos is not configured".to_owned());
        let place = self.place().ok_or_else(none)?;
        let key = self.key(&place)?;
        Ok(Service::new(place.base, key, &self.web, now))
    }

    fn key(&self, place: &MenosServer) -> Result<SigningKey, ToolError> {
        let name = &place.key;
        let failed = |why: String| ToolError::Failed(format!("the secret {name} for menos {why}"));
        match (self.open)(name) {
            Ok(Some(text)) => {
                SigningKey::from_openssh(&text).map_err(|why| failed(why.to_string()))
            }
            Ok(None) => Err(failed(format!("is not there; set it with: onyx secrets set {name}"))),
            Err(fault) => Err(failed(format!("cannot be opened: {}", fault.message))),
        }
    }
}
