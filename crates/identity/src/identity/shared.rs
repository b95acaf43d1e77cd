//! Identity in one of several gateways over the same ledger. Changes by other gateways are applied
//! here, and a credential that is unknown here is looked up in the ledger before its caller is
//! refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// How long to wait between two looks at the ledger for unknown credentials. A look reads one
/// number, so that a stranger who guesses cannot make the gateways read all credentials again.
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

/// How far this gateway has read the ledger that it shares with the others.
pub(super) struct SharedLedger {
    /// When it was last asked for changes because of an unknown credential.
    looked: tokio::sync::Mutex<Duration>,
    /// The count of changes that the register contains.
    loaded: AtomicU64,
}

impl Identity {
    /// Does the same as `open`, with the state that all gateways share.
    pub async fn open_shared(
        accounts: Arc<dyn Accounts>,
        clock: Arc<dyn Clock>,
        declared: DeclaredPeople,
        shared: SharedAuthentication,
    ) -> Result<Self, Fault> {
        // The count is read before the rows, so that a change in between is loaded again later.
        let loaded = AtomicU64::new(accounts.changes().await?);
        let mut identity = Self::open(accounts, clock, declared).await?;
        identity.signer = Signer::with_key(shared.access_key);
        identity.links = Links::new(Arc::clone(&shared.pending));
        identity.pairings = Pairings::new(Arc::clone(&shared.pending));
        identity.grant_codes = GrantCodes::new(shared.pending);
        let clock = Arc::clone(&identity.clock);
        identity.limits = Limits::of_all_gateways(clock, shared.failures);
        let looked = tokio::sync::Mutex::new(identity.clock.now().mono);
        identity.shared = Some(SharedLedger { looked, loaded });
        Ok(identity)
    }

    /// Reloads people, passwords and credentials. A credential that ended elsewhere ends here, with
    /// its running requests.
    pub async fn follow(&self) -> Result<(), Fault> {
        let _order = self.changing.lock().await;
        let changes = self.accounts.changes().await?;
        let people = self.accounts.people().await?;
        let passwords = self.accounts.passwords().await?;
        let rows = self.accounts.credentials().await?;
        self.change(|register| register.replace(people, passwords, rows)).await?;
        if let Some(shared) = &self.shared {
            shared.loaded.store(changes, Ordering::Release);
        }
        Ok(())
    }

    /// Looks for changes after an unknown credential, because another gateway may have created it a
    /// moment ago, and reloads if there are any. Callers that come during a look, or soon after,
    /// share the next one. `false`: this is the only gateway.
    pub(super) async fn catch_up(&self) -> Result<bool, Fault> {
        let Some(shared) = &self.shared else { return Ok(false) };
        let came = self.clock.now().mono;
        let mut looked = shared.looked.lock().await;
        if *looked <= came {
            let since = self.clock.now().mono.saturating_sub(*looked);
            self.clock.sleep(LEAST_BETWEEN.saturating_sub(since)).await;
            *looked = self.clock.now().mono;
            if self.accounts.changes().await? != shared.loaded.load(Ordering::Acquire) {
                self.follow().await?;
            }
        }
        Ok(true)
    }
}
