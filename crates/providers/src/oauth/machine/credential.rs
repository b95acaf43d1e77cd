//! One provider's credential: its current token, and how it gets the next one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use onyx_types::{Clock, ModelFailure, ModelFailureClass, Timestamp};

use super::{MachineToken, ResolvedCredential, TokenFailure};
use crate::Secret;
use crate::failure::failure;
use crate::oauth::TokenStore;
use crate::oauth::record::renew_at;

/// How many tokens are masked in texts; older ones are no longer valid.
const REMEMBERED: usize = 8;

pub(crate) struct Credential {
    provider: String,
    resolved: ResolvedCredential,
    store: Arc<dyn TokenStore>,
    clock: Arc<dyn Clock>,
    /// Locked while a token is fetched, so that all other callers wait for that one.
    held: tokio::sync::Mutex<Option<IssuedPass>>,
    known: Mutex<CredentialState>,
}

struct IssuedPass {
    pass: MachinePass,
    renew_at: Timestamp,
}

/// The credential that a request carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachinePass {
    pub(crate) token: Secret,
    pub(crate) quota_project: Option<String>,
}

#[derive(Default)]
struct CredentialState {
    remembered: VecDeque<Secret>,
    account: Option<String>,
}

impl Credential {
    pub(in crate::oauth) fn new(
        provider: &str,
        resolved: ResolvedCredential,
        store: Arc<dyn TokenStore>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let account = match &resolved {
            ResolvedCredential::Google(google) => google.account(),
            ResolvedCredential::Azure(azure) => Some(azure.account()),
        };
        let known = Mutex::new(CredentialState { remembered: VecDeque::new(), account });
        let held = tokio::sync::Mutex::default();
        Self { provider: provider.to_owned(), resolved, store, clock, held, known }
    }

    pub(in crate::oauth) fn resolved(&self) -> &ResolvedCredential {
        &self.resolved
    }

    /// The account that the provider sees, as far as it is known.
    pub(crate) fn account(&self) -> Option<String> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).account.clone()
    }

    /// The text with all tokens of this credential masked.
    pub(crate) fn mask(&self, text: String) -> String {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remembered.iter().fold(text, |text, secret| secret.mask_in(&text))
    }

    /// The credential for a request, different from the refused one.
    pub(crate) async fn pass(&self, refused: Option<&Secret>) -> Result<MachinePass, ModelFailure> {
        let mut held = self.held.lock().await;
        if let Some(held) = &*held
            && held.renew_at > self.clock.wall()
            && refused != Some(&held.pass.token)
        {
            return Ok(held.pass.clone());
        }
        let granted = match &self.resolved {
            ResolvedCredential::Google(google) => google.granted(self.clock.wall()).await,
            ResolvedCredential::Azure(azure) => azure.granted().await,
        };
        let MachineToken { token, life, account, quota_project } =
            granted.map_err(|trouble| self.failed(trouble))?;
        self.remember(&token, account);
        let pass = MachinePass { token, quota_project };
        let renew_at = renew_at(&*self.clock, life);
        *held = Some(IssuedPass { pass: pass.clone(), renew_at });
        Ok(pass)
    }

    fn remember(&self, token: &Secret, account: Option<String>) {
        let gone = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.account = account.or(known.account.take());
            known.remembered.push_back(token.clone());
            let is_full = known.remembered.len() > REMEMBERED;
            if is_full { known.remembered.pop_front() } else { None }
        };
        self.store.hide(token, gone.as_ref());
    }

    fn failed(&self, trouble: TokenFailure) -> ModelFailure {
        let (class, words) = match trouble {
            TokenFailure::Passing(words) => (ModelFailureClass::Unavailable, words),
            TokenFailure::Refused(words) => (ModelFailureClass::Auth, words),
        };
        let at = format!("`providers.{}.credentials`", self.provider);
        let message = format!("{at} brings no token: {}", self.mask(words));
        failure(class, message)
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential").field("provider", &self.provider).finish_non_exhaustive()
    }
}
