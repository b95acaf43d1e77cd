//! Runs the accounts of the config. Each has a listener, a dispatcher and a sender, is restarted if
//! it receives nothing for too long, and is started or stopped when the config is edited. Surfaces
//! use [`Connectors`]. `answers` decides what to do with a message, and `networks` knows how each
//! network works.

mod account;
mod admin;
mod announce;
mod dispatch;
mod health;
mod listen;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use onyx_storage::AccountKey;

use crate::context::{AccountContext, HomeContext};
use crate::networks::Transcriber;
use crate::notices::OwnerNotice;
use crate::settings::{Account, AccountElsewhere, ResolvedConnectors, ResolvedTranscriber};
use crate::setup::ConnectorSetup;
use account::{RemoteAccount, RunningAccount};

pub use admin::{DeadLetterView, PeerView, TestReport};
pub use health::{AccountState, AccountStatus};

/// All connectors of this home. A clone is cheap, because it shares the same state.
#[derive(Clone)]
pub struct Connectors {
    shared: Arc<Shared>,
}

struct Shared {
    home: Arc<HomeContext>,
    accounts: RwLock<Accounts>,
    /// This lock is held while settings are applied, so that they are applied one after the other.
    changing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Accounts {
    running: BTreeMap<AccountKey, Arc<RunningAccount>>,
    /// Accounts that other gateways serve. One that is about to start or stop here may be in both
    /// sets; then `running` counts.
    elsewhere: BTreeMap<AccountKey, Arc<RemoteAccount>>,
    unusable: BTreeMap<AccountKey, String>,
    /// Changed accounts whose old version has to end before the new one starts. They are kept here
    /// so that they are still listed.
    restarting: BTreeSet<AccountKey>,
}

/// A weak reference to the connectors. The agent holds it, because the connectors hold the agent
/// through their port.
#[derive(Clone)]
pub struct WeakConnectors {
    shared: Weak<Shared>,
}

impl WeakConnectors {
    /// The connectors; `None` if the server is shutting down.
    pub fn get(&self) -> Option<Connectors> {
        self.shared.upgrade().map(|shared| Connectors { shared })
    }
}

impl Connectors {
    pub fn downgrade(&self) -> WeakConnectors {
        WeakConnectors { shared: Arc::downgrade(&self.shared) }
    }

    pub fn new(setup: ConnectorSetup) -> Self {
        let shared = Shared {
            home: Arc::new(HomeContext::new(setup)),
            accounts: RwLock::default(),
            changing: tokio::sync::Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Applies the resolved settings. Unchanged accounts continue without interruption. A
    /// changed account is stopped before it is started again, so that two never read the same
    /// updates.
    pub async fn follow(&self, resolved: ResolvedConnectors) {
        let _one_by_one = self.shared.changing.lock().await;
        self.shared.home.set_bindings(resolved.bindings);
        self.listen_with(resolved.transcriber);
        let wanted: BTreeMap<_, _> =
            resolved.accounts.into_iter().map(|account| (account.key.clone(), account)).collect();
        let mut unusable: BTreeMap<_, _> = resolved.unusable.into_iter().collect();
        let mut elsewhere = BTreeMap::new();
        for account in resolved.elsewhere {
            let key = account.account.key.clone();
            match self.remote(account) {
                Ok(account) => {
                    elsewhere.insert(key, account);
                }
                Err(why) => {
                    unusable.insert(key, why);
                }
            }
        }
        // An account that changes its gateway stays listed until it has started or stopped here.
        self.accounts_mut(|accounts| {
            accounts.elsewhere.retain(|key, _| wanted.contains_key(key));
            accounts.elsewhere.extend(elsewhere.clone());
        });
        for account in self.running() {
            if wanted.get(account.key()) != Some(account.settings()) {
                let begins_anew = wanted.contains_key(account.key());
                self.accounts_mut(|accounts| {
                    accounts.running.remove(account.key());
                    if begins_anew {
                        accounts.restarting.insert(account.key().clone());
                    }
                });
                account.stop().await;
            }
        }
        for (key, account) in wanted {
            if self.find(&key).is_some() {
                continue;
            }
            match self.start(account) {
                Ok(account) => self.accounts_mut(|accounts| {
                    accounts.restarting.remove(&key);
                    accounts.running.insert(key, account);
                }),
                Err(why) => {
                    unusable.insert(key, why);
                }
            }
        }
        self.accounts_mut(|accounts| {
            accounts.restarting.clear();
            accounts.elsewhere = elsewhere;
            accounts.unusable = unusable;
        });
    }

    fn listen_with(&self, settings: Option<ResolvedTranscriber>) {
        let home = &self.shared.home;
        let made = settings.map(|settings| Transcriber::new(settings, &home.setup));
        let transcriber = match made.transpose() {
            Ok(transcriber) => transcriber.map(Arc::new),
            Err(why) => {
                home.tell(why);
                None
            }
        };
        home.set_transcriber(transcriber);
    }

    fn remote(&self, account: AccountElsewhere) -> Result<Arc<RemoteAccount>, String> {
        let home = &self.shared.home;
        let connector = crate::networks::connect(&account.account, &home.setup)?;
        Ok(Arc::new(RemoteAccount::new(home, account, connector)))
    }

    fn start(&self, account: Account) -> Result<Arc<RunningAccount>, String> {
        let twin = self.running().into_iter().find(|other| {
            let settings = other.settings();
            settings.key.network == account.key.network
                && !account.token.is_empty()
                && settings.token == account.token
        });
        if let Some(twin) = twin {
            return Err(format!("the account {} has the same token", twin.key()));
        }
        let home = &self.shared.home;
        let connector = crate::networks::connect(&account, &home.setup)?;
        let hub = Arc::downgrade(&self.shared);
        Ok(Arc::new(RunningAccount::start(home, account, connector, hub)))
    }

    /// Stops every account, so that nothing more is read or sent.
    pub async fn close(&self) {
        let _one_by_one = self.shared.changing.lock().await;
        for account in self.running() {
            account.stop().await;
        }
        self.accounts_mut(|accounts| {
            accounts.running.clear();
            accounts.elsewhere.clear();
        });
    }

    /// The notices that the owner got recently, newest first.
    pub fn notices(&self) -> Vec<OwnerNotice> {
        self.shared.home.notices.all()
    }

    fn running(&self) -> Vec<Arc<RunningAccount>> {
        self.shared.running()
    }

    fn find(&self, key: &AccountKey) -> Option<Arc<RunningAccount>> {
        let accounts = self.shared.accounts.read().unwrap_or_else(PoisonError::into_inner);
        accounts.running.get(key).cloned()
    }

    fn find_remote(&self, key: &AccountKey) -> Option<Arc<RemoteAccount>> {
        let accounts = self.shared.accounts.read().unwrap_or_else(PoisonError::into_inner);
        accounts.elsewhere.get(key).cloned()
    }

    /// The contexts of all accounts, whichever gateway serves them.
    fn contexts(&self) -> Vec<Arc<AccountContext>> {
        let accounts = self.shared.accounts.read().unwrap_or_else(PoisonError::into_inner);
        let here = accounts.running.values().map(|account| Arc::clone(&account.context));
        let elsewhere = accounts.elsewhere.iter();
        let elsewhere = elsewhere.filter(|(key, _)| !accounts.running.contains_key(*key));
        here.chain(elsewhere.map(|(_, account)| Arc::clone(&account.context))).collect()
    }

    fn accounts_mut<T>(&self, change: impl FnOnce(&mut Accounts) -> T) -> T {
        change(&mut self.shared.accounts.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    fn running(&self) -> Vec<Arc<RunningAccount>> {
        let accounts = self.accounts.read().unwrap_or_else(PoisonError::into_inner);
        accounts.running.values().cloned().collect()
    }
}
