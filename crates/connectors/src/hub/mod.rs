//! The accounts of the config at work: each has a listener, a dispatcher and a sender, is watched
//! for deafness, and is started and stopped as the config is edited. Surfaces come in through
//! [`Connectors`]. What a message means is decided in `answers`, what a network is in `networks`.

mod account;
mod context;
mod desk;
mod dispatch;
mod health;
mod listen;
mod telling;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use onyx_egress::Egress;
use onyx_storage::{AccountKey, ConnectorLedger};
use onyx_types::Clock;

use crate::connector::PaceLimits;
use crate::networks::Transcriber;
use crate::port::AgentPort;
use crate::settings::{Account, Binding, Plan, TranscriberPlan};
use account::RunningAccount;
use telling::OwnerNotices;

pub(crate) use context::AccountContext;
pub use desk::{DeadLetterView, PeerView, TestReport};
pub use health::{AccountState, AccountStatus};
pub use telling::OwnerNotice;

/// Every wait that tests shorten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tempo {
    /// How long a network may wait with its answer to a question for updates.
    pub poll: Duration,
    /// How long any other question may take.
    pub request: Duration,
    /// An account that has heard nothing for so long is started anew.
    pub deaf: Duration,
    /// After a failed poll; grows with each.
    pub backoff: Duration,
    /// Instead of the network's own pace.
    pub pace: Option<PaceLimits>,
}

impl Default for Tempo {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(50),
            request: Duration::from_secs(30),
            deaf: Duration::from_secs(120),
            backoff: Duration::from_secs(1),
            pace: None,
        }
    }
}

/// What connectors are made from.
#[derive(Clone)]
pub struct Ground {
    pub ledger: Arc<dyn ConnectorLedger>,
    pub port: Arc<dyn AgentPort>,
    pub clock: Arc<dyn Clock>,
    /// The way to the networks.
    pub egress: Egress,
    pub tempo: Tempo,
}

/// All connectors of this home. Cheap to clone.
#[derive(Clone)]
pub struct Connectors {
    shared: Arc<Shared>,
}

struct Shared {
    ground: Ground,
    bindings: Arc<RwLock<Vec<Binding>>>,
    accounts: RwLock<Accounts>,
    /// One change of the plan after the other.
    changing: tokio::sync::Mutex<()>,
    notices: OwnerNotices,
    transcriber: RwLock<Option<Arc<Transcriber>>>,
}

#[derive(Default)]
struct Accounts {
    running: BTreeMap<AccountKey, Arc<RunningAccount>>,
    unusable: BTreeMap<AccountKey, String>,
}

/// Connectors, held by whom they hold themselves: the agent behind their port.
#[derive(Clone)]
pub struct WeakConnectors {
    shared: Weak<Shared>,
}

impl WeakConnectors {
    /// `None`: the server is ending.
    pub fn get(&self) -> Option<Connectors> {
        self.shared.upgrade().map(|shared| Connectors { shared })
    }
}

impl Connectors {
    pub fn downgrade(&self) -> WeakConnectors {
        WeakConnectors { shared: Arc::downgrade(&self.shared) }
    }

    pub fn new(ground: Ground) -> Self {
        let shared = Shared {
            ground,
            bindings: Arc::default(),
            accounts: RwLock::default(),
            changing: tokio::sync::Mutex::default(),
            notices: OwnerNotices::default(),
            transcriber: RwLock::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Does from now on what the config says. Accounts that stay the same go on undisturbed; one
    /// that changed has ended before it begins anew, so that no two ever read the same updates.
    pub async fn follow(&self, plan: Plan) {
        let _one_by_one = self.shared.changing.lock().await;
        *self.shared.bindings.write().unwrap_or_else(PoisonError::into_inner) = plan.bindings;
        self.listen_with(plan.transcriber);
        let wanted: BTreeMap<_, _> =
            plan.accounts.into_iter().map(|account| (account.key.clone(), account)).collect();
        let mut unusable: BTreeMap<_, _> = plan.unusable.into_iter().collect();
        for account in self.running() {
            if wanted.get(account.key()) != Some(account.settings()) {
                self.accounts_mut(|accounts| accounts.running.remove(account.key()));
                account.stop().await;
            }
        }
        for (key, account) in wanted {
            if self.find(&key).is_some() {
                continue;
            }
            match self.start(account) {
                Ok(account) => self.accounts_mut(|accounts| {
                    accounts.running.insert(key, account);
                }),
                Err(why) => {
                    unusable.insert(key, why);
                }
            }
        }
        self.accounts_mut(|accounts| accounts.unusable = unusable);
    }

    fn listen_with(&self, plan: Option<TranscriberPlan>) {
        let made = plan.map(|plan| Transcriber::new(plan, &self.shared.ground.egress));
        let transcriber = match made.transpose() {
            Ok(transcriber) => transcriber.map(Arc::new),
            Err(why) => {
                self.shared.tell(why);
                None
            }
        };
        *self.shared.transcriber.write().unwrap_or_else(PoisonError::into_inner) = transcriber;
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
        let ground = &self.shared.ground;
        let connector = crate::networks::connect(&account, ground)?;
        let hub = Arc::downgrade(&self.shared);
        Ok(Arc::new(RunningAccount::start(ground, account, connector, hub)))
    }

    /// Ends every account: nothing is read or sent any more.
    pub async fn close(&self) {
        let _one_by_one = self.shared.changing.lock().await;
        for account in self.running() {
            account.stop().await;
        }
        self.accounts_mut(|accounts| accounts.running.clear());
    }

    /// What the owner was told lately, newest first.
    pub fn notices(&self) -> Vec<OwnerNotice> {
        self.shared.notices.all()
    }

    fn running(&self) -> Vec<Arc<RunningAccount>> {
        self.shared.running()
    }

    fn find(&self, key: &AccountKey) -> Option<Arc<RunningAccount>> {
        let accounts = self.shared.accounts.read().unwrap_or_else(PoisonError::into_inner);
        accounts.running.get(key).cloned()
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
