//! Every sign-in of a home, by the provider's name. It outlives configs: a new registry keeps the
//! sign-ins that did not change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, join_all};
use onyx_types::{Clock, Fault};

use super::login::Login;
use super::machine::{Credential, ResolvedCredential};
use super::resolved_login::ResolvedLogin;
use super::shared::SharedSignIns;
use crate::Secret;

/// How long a renewal under way may take when the process ends: a new token that is not stored
/// would be lost.
const FAREWELL: Duration = Duration::from_secs(2);

/// Where tokens are kept, by the provider's name.
pub trait TokenStore: Send + Sync {
    /// `None` when the store has no tokens for this provider.
    fn load(&self, provider: &str) -> Result<Option<Secret>, Fault>;

    fn keep<'a>(
        &'a self,
        provider: &'a str,
        tokens: &'a Secret,
    ) -> BoxFuture<'a, Result<(), Fault>>;

    fn forget<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<(), Fault>>;

    /// The state that several gateways share; `None` if this is the only process.
    fn shared(&self) -> Option<&dyn SharedSignIns> {
        None
    }

    /// Masks the `fresh` secret in all texts from now on. `gone` is too old to be of any use and
    /// need not be masked.
    fn hide(&self, fresh: &Secret, gone: Option<&Secret>);
}

/// Stores nothing: for tests and small tools.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTokens;

impl TokenStore for NoTokens {
    fn load(&self, _: &str) -> Result<Option<Secret>, Fault> {
        Ok(None)
    }

    fn keep<'a>(&'a self, _: &'a str, _: &'a Secret) -> BoxFuture<'a, Result<(), Fault>> {
        async { Ok(()) }.boxed()
    }

    fn forget<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), Fault>> {
        async { Ok(()) }.boxed()
    }

    fn hide(&self, _: &Secret, _: Option<&Secret>) {}
}

pub struct Logins {
    store: Arc<dyn TokenStore>,
    clock: Arc<dyn Clock>,
    known: Mutex<BTreeMap<String, Arc<Login>>>,
    credentials: Mutex<BTreeMap<String, Arc<Credential>>>,
}

impl Logins {
    pub fn new(store: Arc<dyn TokenStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, known: Mutex::default(), credentials: Mutex::default() }
    }

    /// The sign-in of a provider; an existing one with other settings is stopped.
    pub(crate) fn of(&self, provider: &str, resolved: ResolvedLogin) -> Arc<Login> {
        self.titled(provider, format!("`{provider}`"), resolved)
    }

    /// The sign-in of a provider whose name for people is `title`.
    pub(super) fn titled(
        &self,
        provider: &str,
        title: String,
        resolved: ResolvedLogin,
    ) -> Arc<Login> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = known.get(provider) {
            if *before.resolved() == resolved {
                // The keyring may have been unlocked since the tokens were last read.
                before.look_again();
                return Arc::clone(before);
            }
            before.stop();
        }
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let login = Arc::new(Login::open(provider, title, resolved, store, clock));
        known.insert(provider.to_owned(), Arc::clone(&login));
        login
    }

    /// The credential of a provider. It keeps its token as long as the settings are the same.
    pub(crate) fn credential(
        &self,
        provider: &str,
        resolved: ResolvedCredential,
    ) -> Arc<Credential> {
        let mut known = self.credentials.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = known.get(provider)
            && *before.resolved() == resolved
        {
            return Arc::clone(before);
        }
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let credential = Arc::new(Credential::new(provider, resolved, store, clock));
        known.insert(provider.to_owned(), Arc::clone(&credential));
        credential
    }

    /// Signs out, even if the config no longer has the provider.
    pub async fn forget(&self, provider: &str) -> Result<(), Fault> {
        let known =
            self.known.lock().unwrap_or_else(PoisonError::into_inner).get(provider).cloned();
        match known {
            Some(login) => login.sign_out().await,
            None => self.store.forget(provider).await,
        }
    }

    /// Applies what other gateways changed.
    pub fn follow_others(&self) {
        for login in self.all() {
            login.follow_others();
        }
    }

    fn all(&self) -> Vec<Arc<Login>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.values().cloned().collect()
    }

    /// Waits for renewals under way, for a while.
    pub async fn settle(&self) {
        let all = self.all();
        let all = join_all(all.iter().map(|login| login.settled()));
        if tokio::time::timeout(FAREWELL, all).await.is_err() {
            tracing::warn!("a sign-in was being renewed when the process had to end");
        }
    }
}

impl std::fmt::Debug for Logins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logins").finish_non_exhaustive()
    }
}
