//! Identity in one of several gateways over the same ledger. Changes by other gateways are applied
//! here, and a credential that is unknown here is looked up in the ledger before its caller is
//! refused.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{Accounts, SharedFailures, ShortLived};
use onyx_types::{Clock, Fault};

use super::Identity;
use crate::grant_codes::GrantCodes;
use crate::jwt::Signer;
use crate::limiter::Limits;
use crate::links::Links;
use crate::pairing::Pairings;
use crate::settings::DeclaredPeople;

/// Limits the database queries that guessed credentials can cause.
const LEAST_BETWEEN: Duration = Duration::from_millis(200);

/// The state that several gateways share, so that a sign-in that began at one can be finished at
/// another.
pub struct SharedAuthentication {
    /// The key that signs access tokens.
    pub access_key: [u8; 32],
    /// Links, pairings and codes of programs that wait to be redeemed or approved.
    pub pending: Arc<dyn ShortLived>,
    /// The counts of failed guesses.
    pub failures: SharedFailures,
}

impl Identity {
    /// Does the same as `open`, with the state that all gateways share.
    pub async fn open_shared(
        accounts: Arc<dyn Accounts>,
        clock: Arc<dyn Clock>,
        declared: DeclaredPeople,
        shared: SharedAuthentication,
    ) -> Result<Self, Fault> {
        let mut identity = Self::open(accounts, clock, declared).await?;
        identity.signer = Signer::with_key(shared.access_key);
        identity.links = Links::new(Arc::clone(&shared.pending));
        identity.pairings = Pairings::new(Arc::clone(&shared.pending));
        identity.grant_codes = GrantCodes::new(shared.pending);
        let clock = Arc::clone(&identity.clock);
        identity.limits = Limits::of_all_gateways(clock, shared.failures);
        identity.looked = Some(tokio::sync::Mutex::new(identity.clock.now().mono));
        Ok(identity)
    }

    /// Reloads people, passwords and credentials. A credential that ended elsewhere ends here, with
    /// its running requests.
    pub async fn follow(&self) -> Result<(), Fault> {
        let _order = self.changing.lock().await;
        let people = self.accounts.people().await?;
        let passwords = self.accounts.passwords().await?;
        let rows = self.accounts.credentials().await?;
        self.change(|register| register.replace(people, passwords, rows)).await
    }

    /// Reloads after an unknown credential, because another gateway may have created it a moment
    /// ago. Callers that come during a reload, or soon after, wait for the next one. `false`: this
    /// is the only gateway.
    pub(super) async fn catch_up(&self) -> Result<bool, Fault> {
        let Some(looked) = &self.looked else { return Ok(false) };
        let came = self.clock.now().mono;
        let mut looked = looked.lock().await;
        if *looked <= came {
            let since = self.clock.now().mono.saturating_sub(*looked);
            self.clock.sleep(LEAST_BETWEEN.saturating_sub(since)).await;
            *looked = self.clock.now().mono;
            self.follow().await?;
        }
        Ok(true)
    }
}
