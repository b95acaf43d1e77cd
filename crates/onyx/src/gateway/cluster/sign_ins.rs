//! Sign-ins at providers, services and MCP servers that all gateways share: only one gateway renews at a time, and a
//! sign-in that one gateway began can be finished at another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, FutureExt};
use onyx_identity::{Sealer, Secrets};
use onyx_providers::{Secret, SharedSignIns, SignInTurn};
use onyx_storage::{OwnedDuty, ShortLived, ShortLivedEntry, ShortLivedKind, ShortLivedRoom};
use onyx_types::{ErrorCode, Fault, Hash};
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedMutexGuard;

use crate::gateway::duty::Duty;
use crate::gateway::storage::SharedStorage;

/// How often a gateway checks whether another one has finished.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// The longest wait for another gateway: longer than a renewal takes, and longer than a dead gateway counts as alive.
const LONGEST_TURN: Duration = Duration::from_secs(40);
/// How long to wait before a sign-in is released again after the database could not be asked.
const RELEASE_AGAIN: Duration = Duration::from_secs(1);
/// How many pending sign-ins are remembered; the oldest are dropped.
const MOST: ShortLivedRoom = ShortLivedRoom::of_entries(1_000);

/// What this gateway knows about sign-ins, and how it notifies the others.
pub(crate) struct SharedLogins {
    shared: Arc<SharedStorage>,
    secrets: Arc<Secrets>,
    pending: Arc<dyn ShortLived>,
    sealer: Sealer,
    /// Pending sign-ins by provider, as last read.
    attempts: RwLock<BTreeMap<String, PendingAttempt>>,
    /// Held while `attempts` and the database change together.
    changing: tokio::sync::Mutex<()>,
    /// The database lets a gateway take the same lease twice, so its own tasks wait for each other here.
    turns: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>,
    asking: Mutex<BTreeMap<String, OwnedDuty>>,
}

/// A pending sign-in, sealed in the database.
#[derive(Clone, Serialize, Deserialize)]
struct PendingAttempt {
    provider: String,
    id: String,
    attempt: String,
}

impl SharedLogins {
    pub(in crate::gateway) fn new(shared: Arc<SharedStorage>, secrets: Arc<Secrets>) -> Arc<Self> {
        let sealer = Sealer::new(shared.master.derived("onyx: sign-ins under way"));
        let pending = shared.membership.short_lived();
        Arc::new(Self {
            shared,
            secrets,
            pending,
            sealer,
            attempts: RwLock::default(),
            changing: tokio::sync::Mutex::default(),
            turns: Mutex::default(),
            asking: Mutex::default(),
        })
    }

    /// Reads the pending sign-ins again.
    pub(super) async fn follow(&self) -> Result<(), Fault> {
        let _one_by_one = self.changing.lock().await;
        let mut attempts = BTreeMap::new();
        for entry in self.pending.list(ShortLivedKind::SignIn, None).await? {
            // An entry that was sealed with another key, or has the form of a newer gateway, is
            // ignored.
            let opened = self.sealer.open(&entry.value).ok();
            let pending =
                opened.and_then(|text| serde_json::from_str::<PendingAttempt>(text.reveal()).ok());
            if let Some(pending) = pending {
                attempts.insert(pending.provider.clone(), pending);
            }
        }
        *self.attempts.write().unwrap_or_else(PoisonError::into_inner) = attempts;
        Ok(())
    }

    /// Takes the right to change the stored tokens of a sign-in. Waits while another gateway has
    /// it, then reads the latest tokens.
    pub(in crate::gateway) async fn turn(&self, name: &str) -> Result<SignInLease, Fault> {
        let here = Arc::clone(lock(&self.turns).entry(name.to_owned()).or_default());
        let here = here.lock_owned().await;
        let owner = Duty::RenewSignIn(name.to_owned()).to_string();
        let began = Instant::now();
        let owned = loop {
            if let Some(owned) = self.shared.membership.own(&owner).await? {
                break owned;
            }
            if began.elapsed() > LONGEST_TURN {
                let message = "another gateway has been renewing this sign-in for too long";
                return Err(Fault::new(ErrorCode::StorageUnavailable, message));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        };
        let held = Some((owned, here));
        let turn = SignInLease { held, shared: Arc::clone(&self.shared) };
        self.secrets.refresh().await?;
        Ok(turn)
    }

    /// Keeps a sign-in at an MCP server until its browser comes back, to any gateway.
    pub(in crate::gateway) async fn wait(
        &self,
        state: &str,
        attempt: &str,
        life: Duration,
    ) -> Result<(), Fault> {
        let key = Hash::of(state.as_bytes());
        let entry = ShortLivedEntry::of_nobody(key, self.sealer.seal(attempt)?, life);
        Ok(self.pending.put(ShortLivedKind::McpSignIn, entry, MOST).await?)
    }

    /// Returns a kept sign-in and removes it, so that it can be finished only once.
    pub(in crate::gateway) async fn waited(&self, state: &str) -> Result<Option<String>, Fault> {
        let taken =
            self.pending.take(ShortLivedKind::McpSignIn, Hash::of(state.as_bytes())).await?;
        let Some(taken) = taken else { return Ok(None) };
        Ok(Some(self.sealer.open(&taken)?.reveal().to_owned()))
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, PendingAttempt>)) {
        change(&mut self.attempts.write().unwrap_or_else(PoisonError::into_inner));
    }

    async fn put(&self, pending: PendingAttempt, life: Duration) -> Result<(), Fault> {
        let _one_by_one = self.changing.lock().await;
        let text = serde_json::to_string(&pending)
            .map_err(|error| Fault::new(ErrorCode::Internal, error.to_string()))?;
        let key = key(&pending.provider, &pending.id);
        let entry = ShortLivedEntry::of_nobody(key, self.sealer.seal(&text)?, life);
        self.pending.put(ShortLivedKind::SignIn, entry, MOST).await?;
        self.change(|attempts| drop(attempts.insert(pending.provider.clone(), pending)));
        Ok(())
    }

    async fn take(&self, provider: &str, id: &str) -> Result<bool, Fault> {
        let _one_by_one = self.changing.lock().await;
        let taken = self.pending.take(ShortLivedKind::SignIn, key(provider, id)).await?;
        self.change(|attempts| {
            attempts.retain(|_, pending| pending.provider != provider || pending.id != id)
        });
        let asking = lock(&self.asking).remove(provider);
        if let Some(asking) = asking {
            self.shared.membership.disown(&asking).await?;
        }
        Ok(taken.is_some())
    }

    async fn asks(&self, provider: &str) -> bool {
        match self.begin_asking(provider).await {
            Ok(asks) => asks,
            Err(fault) => {
                tracing::warn!(%fault, provider, "cannot find out which gateway polls a sign-in");
                false
            }
        }
    }

    /// The gateway that finished a sign-in stops asking. The next one must not redeem the same code
    /// again, which would make the first grant worthless.
    async fn begin_asking(&self, provider: &str) -> Result<bool, Fault> {
        let duty = Duty::AwaitSignIn(provider.to_owned()).to_string();
        let Some(owned) = self.shared.membership.own(&duty).await? else { return Ok(false) };
        lock(&self.asking).insert(provider.to_owned(), owned);
        let entry = {
            let attempts = self.attempts.read().unwrap_or_else(PoisonError::into_inner);
            attempts.get(provider).map(|pending| key(provider, &pending.id))
        };
        let Some(entry) = entry else { return Ok(false) };
        Ok(self.pending.get(ShortLivedKind::SignIn, entry).await?.is_some())
    }
}

fn key(provider: &str, id: &str) -> Hash {
    Hash::of_parts([provider.as_bytes(), id.as_bytes()])
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lease on a sign-in. It is given back in the background when it is dropped.
pub(in crate::gateway) struct SignInLease {
    held: Option<(OwnedDuty, OwnedMutexGuard<()>)>,
    shared: Arc<SharedStorage>,
}

impl SignInLease {
    pub(in crate::gateway) fn is_held(&self) -> bool {
        self.held.as_ref().is_some_and(|(owned, _)| self.shared.membership.still_owns(owned))
    }
}

impl Drop for SignInLease {
    fn drop(&mut self) {
        let Some((owned, here)) = self.held.take() else { return };
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            // The other gateways could not renew the sign-in as long as this one lives.
            while let Err(error) = shared.membership.disown(&owned).await {
                tracing::warn!(%error, "a sign-in could not be released; trying again");
                tokio::time::sleep(RELEASE_AGAIN).await;
            }
            // The lock of this gateway is released last, because the next task here would take the
            // same row.
            drop(here);
        });
    }
}

impl SignInTurn for SignInLease {
    fn still_holds(&self) -> bool {
        self.is_held()
    }
}

impl SharedSignIns for SharedLogins {
    fn turn<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, Result<Box<dyn SignInTurn>, Fault>> {
        async move {
            let turn = self.turn(provider).await?;
            Ok(Box::new(turn) as Box<dyn SignInTurn>)
        }
        .boxed()
    }

    fn attempt(&self, provider: &str) -> Option<Secret> {
        let attempts = self.attempts.read().unwrap_or_else(PoisonError::into_inner);
        attempts.get(provider).map(|pending| Secret::new(pending.attempt.as_str()))
    }

    fn put_attempt<'a>(
        &'a self,
        provider: &'a str,
        id: &'a str,
        attempt: &'a Secret,
        life: Duration,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        let pending = PendingAttempt {
            provider: provider.to_owned(),
            id: id.to_owned(),
            attempt: attempt.reveal().to_owned(),
        };
        self.put(pending, life).boxed()
    }

    fn take_attempt<'a>(
        &'a self,
        provider: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        self.take(provider, id).boxed()
    }

    fn asks_for<'a>(&'a self, provider: &'a str) -> BoxFuture<'a, bool> {
        self.asks(provider).boxed()
    }
}
