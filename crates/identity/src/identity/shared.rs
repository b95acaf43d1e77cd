//! One of several gateways over the same ledger: what another one changed is taken up, and what is not known here is
//! looked for there before anybody is turned away.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{Accounts, PendingEntries, SharedFailures};
use onyx_types::{Clock, Fault};

use super::Identity;
use crate::jwt::Signer;
use crate::limiter::Limits;
use crate::links::Links;
use crate::pairing::Pairings;
use crate::settings::Declared;

/// Whoever guesses must not make every guess a question to the database.
const LEAST_BETWEEN: Duration = Duration::from_millis(200);

/// What several gateways have in common, so that a sign-in that one began is finished at another.
pub struct SharedAuthentication {
    /// By which access tokens are signed.
    pub access_key: [u8; 32],
    /// Links and pairings that wait.
    pub pending: Arc<dyn PendingEntries>,
    /// How often somebody guessed wrong.
    pub failures: SharedFailures,
}

impl Identity {
    /// The same as `open`, with what all gateways have in common.
    pub async fn open_shared(
        accounts: Arc<dyn Accounts>,
        clock: Arc<dyn Clock>,
        declared: Declared,
        shared: SharedAuthentication,
    ) -> Result<Self, Fault> {
        let mut identity = Self::open(accounts, clock, declared).await?;
        identity.signer = Signer::with_key(shared.access_key);
        identity.links = Links::new(Arc::clone(&shared.pending));
        identity.pairings = Pairings::new(shared.pending);
        let clock = Arc::clone(&identity.clock);
        identity.limits = Limits::of_all_gateways(clock, shared.failures);
        identity.looked = Some(tokio::sync::Mutex::new(identity.clock.now().mono));
        Ok(identity)
    }

    /// Reads people, passwords and credentials anew. What ended elsewhere ends here, with every answer under way.
    pub async fn follow(&self) -> Result<(), Fault> {
        let _order = self.changing.lock().await;
        let people = self.accounts.people().await?;
        let passwords = self.accounts.passwords().await?;
        let rows = self.accounts.credentials().await?;
        self.change(|register| register.replace(people, passwords, rows)).await
    }

    /// Something is not known here: another gateway may have made it a moment ago. Whoever comes while somebody looks, or
    /// soon after, waits for the next look. `false`: there is nothing to look for.
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
