//! LinkedIn: posts and comments in each person's own account, only with text that the person has
//! seen in full. Every request goes to the configured address with the token of the person whose
//! agent asks, and every post and comment is recorded in a file of that person's vault.

mod comment;
mod little_text;
mod post;
mod profile;
mod record;
mod service;
mod sharing;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use onyx_egress::Address;
use onyx_types::{Clock, PersonId, Timestamp};
use serde::Deserialize;

pub(super) use comment::Comment;
pub(super) use post::Post;
pub(super) use profile::ShowProfile;
use service::Service;

use crate::ToolError;
use crate::ports::Accounts;
use crate::web::Web;

/// The address of LinkedIn's API.
const USUAL_BASE: &str = "https://api.linkedin.com";
/// The default version of LinkedIn's API. There is one each month, and each is supported for about
/// a year.
const USUAL_VERSION: &str = "202604";
const SECRET: &str = "secret:";

/// The `tools.linkedin` section of the config as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LinkedInSettings {
    /// The client id of the owner's application at LinkedIn; without it LinkedIn is not available.
    pub client_id: Option<String>,
    /// The application's secret as `secret:<name>`.
    pub client_secret: Option<String>,
    /// The scopes to request instead of the default ones.
    pub scopes: Vec<String>,
    /// The version of the API, as `YYYYMM`.
    pub api_version: Option<String>,
    /// The address of the sign-in page instead of LinkedIn's own.
    pub issuer: Option<String>,
    /// The address of the API instead of LinkedIn's own.
    pub base_url: Option<String>,
}

/// A setting in `tools.linkedin` that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tools.linkedin.{0}")]
pub struct BadLinkedInSettings(String);

impl LinkedInSettings {
    /// Checks the settings before they take effect.
    pub fn check(&self) -> Result<(), BadLinkedInSettings> {
        self.resolved().map(drop)
    }

    /// The client id of the owner's application, if there is one.
    pub fn client(&self) -> Option<&str> {
        self.client_id.as_deref().filter(|client| !client.is_empty())
    }

    /// The name of the application's secret.
    pub fn secret_name(&self) -> Option<&str> {
        let name = self.client_secret.as_deref().and_then(|secret| secret.strip_prefix(SECRET));
        name.filter(|name| !name.is_empty())
    }

    pub fn base_url(&self) -> &str {
        self.base_url.as_deref().filter(|base| !base.is_empty()).unwrap_or(USUAL_BASE)
    }

    fn resolved(&self) -> Result<Option<LinkedInApi>, BadLinkedInSettings> {
        if self.client().is_none() {
            return Ok(None);
        }
        let bad = |why: &str| BadLinkedInSettings(why.to_owned());
        if self.secret_name().is_none() {
            let why = "clientSecret: must be secret:<name>, from onyx secrets; it holds the secret \
                       of your application at LinkedIn";
            return Err(bad(why));
        }
        let base = format!("{}/", self.base_url().trim_end_matches('/')).parse::<Address>();
        let base = base.map_err(|error| BadLinkedInSettings(format!("baseUrl: {error}")))?;
        let is_near = matches!(base.host(), "127.0.0.1" | "localhost" | "[::1]");
        if !base.as_str().starts_with("https://") && !is_near {
            return Err(bad("baseUrl: must be https (http leads to this machine only)"));
        }
        let version = self.api_version.clone().unwrap_or_else(|| USUAL_VERSION.to_owned());
        if version.len() != 6 || !version.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(bad("apiVersion: must be a month as YYYYMM"));
        }
        Ok(Some(LinkedInApi { base, version }))
    }
}

#[derive(Clone, Debug)]
struct LinkedInApi {
    base: Address,
    version: String,
}

/// The result of LinkedIn's last check of a person's account, since the server started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountCheck {
    /// When LinkedIn last accepted the account's token.
    pub validated_at: Option<Timestamp>,
    /// Why LinkedIn refused the last request; `None` after one that it accepted.
    pub error: Option<String>,
}

/// The client for LinkedIn. An edit of the config replaces its settings.
#[derive(Clone)]
pub struct LinkedIn {
    place: Arc<RwLock<Option<LinkedInApi>>>,
    web: Web,
    accounts: Arc<dyn Accounts>,
    checks: Arc<Mutex<BTreeMap<PersonId, AccountCheck>>>,
}

impl LinkedIn {
    pub fn new(
        settings: &LinkedInSettings,
        web: Web,
        accounts: Arc<dyn Accounts>,
    ) -> Result<Self, BadLinkedInSettings> {
        let place = Arc::new(RwLock::new(settings.resolved()?));
        Ok(Self { place, web, accounts, checks: Arc::default() })
    }

    /// Replaces the settings after an edit of the config. If they are invalid, nothing changes.
    pub fn follow(&self, settings: &LinkedInSettings) -> Result<(), BadLinkedInSettings> {
        let place = settings.resolved()?;
        *self.place.write().unwrap_or_else(PoisonError::into_inner) = place;
        Ok(())
    }

    pub fn last_check(&self, person: &PersonId) -> AccountCheck {
        self.checks().get(person).cloned().unwrap_or_default()
    }

    /// Forgets the last check of an account that was removed.
    pub fn forget(&self, person: &PersonId) {
        self.checks().remove(person);
    }

    /// Asks LinkedIn whose account this is, and stores the result as the person's last check.
    pub async fn validate(&self, person: &PersonId, clock: &dyn Clock) -> Result<String, String> {
        let profile = match self.service(person, clock) {
            Ok(service) => service.profile().await,
            Err(error) => Err(error),
        };
        profile.map(|profile| profile.name()).map_err(|error| error.to_string())
    }

    fn checks(&self) -> std::sync::MutexGuard<'_, BTreeMap<PersonId, AccountCheck>> {
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self) -> Option<LinkedInApi> {
        self.place.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn check_account(&self, person: &PersonId) -> Result<(), String> {
        if self.place().is_none() {
            let why = "LinkedIn is not configured; the owner sets tools.linkedin.clientId";
            return Err(why.to_owned());
        }
        self.accounts.absence(person).map_or(Ok(()), Err)
    }

    fn base(&self) -> Result<Address, ToolError> {
        self.place().map(|place| place.base).ok_or_else(not_configured)
    }

    fn service<'a>(
        &'a self,
        person: &'a PersonId,
        clock: &'a dyn Clock,
    ) -> Result<Service<'a>, ToolError> {
        let place = self.place().ok_or_else(not_configured)?;
        Ok(Service::new(self, place, person, clock))
    }
}

fn not_configured() -> ToolError {
    ToolError::Failed("LinkedIn is not configured".to_owned())
}
