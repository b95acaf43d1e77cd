//! Sign-ins to a service that agents use through their tools: one account for each person, so that
//! no one acts in another person's name.

use std::sync::{Arc, PoisonError, RwLock};

use onyx_types::{Clock, ErrorCode, Fault, ModelFailure, PersonId};
use reqwest::Url;

use super::book::{Logins, TokenStore};
use super::login::Login;
use super::resolved_login::{LoginSettings, LoginWay, ResolvedLogin};
use super::status::{LoginStatus, Pending};
use super::vendors::{LINKEDIN, VendorLogin};
use crate::Secret;

/// Every sign-in to one service. It outlives configs.
#[derive(Debug)]
pub struct ServiceLogins {
    /// The prefix of the names under which the tokens are stored.
    key: &'static str,
    title: &'static str,
    known: VendorLogin,
    logins: Logins,
    resolved: RwLock<Option<ResolvedLogin>>,
}

impl ServiceLogins {
    pub fn linkedin(store: Arc<dyn TokenStore>, clock: Arc<dyn Clock>) -> Self {
        let logins = Logins::new(store, clock);
        let resolved = RwLock::default();
        Self { key: "linkedin", title: "LinkedIn", known: LINKEDIN, logins, resolved }
    }

    /// Applies the config; tokens that belong to other addresses are not used.
    pub fn follow(&self, settings: &LoginSettings, base_url: &str) -> Result<(), String> {
        let audience = Url::parse(base_url).map_err(|error| format!("baseUrl: {error}"))?;
        let resolved = ResolvedLogin::resolve(settings, Some(&self.known), &audience);
        self.set(Some(resolved.map_err(|error| error.to_string())?));
        Ok(())
    }

    /// The service was removed from the config. Stored sign-ins are kept in case it returns.
    pub fn unfollow(&self) {
        self.set(None);
    }

    fn set(&self, resolved: Option<ResolvedLogin>) {
        *self.resolved.write().unwrap_or_else(PoisonError::into_inner) = resolved;
    }

    /// `None` while the config does not name the service.
    pub fn of(&self, person: &PersonId) -> Option<ServiceLogin> {
        let resolved = self.resolved.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        let key = format!("{}.{person}", self.key);
        Some(ServiceLogin(self.logins.titled(&key, self.title.to_owned(), resolved)))
    }

    /// Deletes a person's sign-in, also when the config no longer names the service.
    pub async fn forget(&self, person: &PersonId) -> Result<(), Fault> {
        self.logins.forget(&format!("{}.{person}", self.key)).await
    }

    /// Waits for renewals under way, for a while.
    pub async fn settle(&self) {
        self.logins.settle().await;
    }
}

/// One person's sign-in.
#[derive(Clone, Debug)]
pub struct ServiceLogin(Arc<Login>);

impl ServiceLogin {
    pub fn status(&self) -> LoginStatus {
        self.0.status()
    }

    /// The address to send the browser to, which returns to this page of the gateway.
    pub async fn begin(&self, page: &str) -> Result<Pending, Fault> {
        let page = Url::parse(page).map_err(|error| {
            let message = format!("The page to come back to is no address: {error}");
            Fault::new(ErrorCode::InvalidRequest, message)
        })?;
        self.0.begin_at(Some(LoginWay::Browser), Some(&page)).await
    }

    /// Finishes with the fields that the browser sent to that page. The tokens are fetched in the
    /// background.
    pub fn finish(&self, fields: &[(&str, &str)]) -> Result<(), Fault> {
        self.0.came_back(fields)
    }

    /// The token for a request, different from the refused one. One renewal serves all callers that
    /// wait.
    pub async fn token(&self, refused: Option<&Secret>) -> Result<Secret, ModelFailure> {
        match refused {
            None => self.0.token().await,
            Some(refused) => self.0.token_after(refused).await,
        }
    }

    /// Forgets the tokens here and revokes them at the service; the inner `Err` says why the
    /// service did not confirm it.
    pub async fn revoke(&self) -> Result<Result<(), String>, Fault> {
        self.0.revoke().await
    }
}
