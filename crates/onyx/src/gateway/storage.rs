//! Chooses the gateway's stores: the home's own files, or PostgreSQL and an object store that
//! several gateways share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use onyx_connectors::{Account, AccountElsewhere};
use onyx_identity::MasterKey;
use onyx_storage::{
    BootClock, Home, Membership, OwnedDuty, ServerClocks, ServerError, ServerSettings,
    SharedConfig, Store, StoreError,
};
use onyx_types::{Cancel, Clock, Fault, Hash};

use super::duty::Duty;
use super::probe::{DatabaseProbe, ObjectsProbe};
use super::witnesses::audit_witnesses;
use crate::config::{self, Config, ConfigError, last_good};
use crate::home::HomeFolder;
use crate::{env, files};

/// Networks that are not polled: their messages may arrive at any gateway.
const ANSWERED_ANYWHERE: [&str; 2] = ["webhook", "widget"];

pub(super) struct OpenedStorage {
    pub(super) store: Store,
    /// The shared storage of server mode; `None` for a machine with its own files.
    pub(super) shared: Option<Arc<SharedStorage>>,
}

/// What this gateway shares with the others on the same database, and what it holds.
pub(crate) struct SharedStorage {
    pub(super) membership: Membership,
    /// The last check of the database.
    pub(super) database: DatabaseProbe,
    /// The last check of the object store.
    pub(super) objects: ObjectsProbe,
    pub(super) master: MasterKey,
    /// The address at which the other gateways reach this one, if the config sets it.
    pub(super) advertise: Option<String>,
    /// Cancelled when this gateway begins to drain.
    pub(super) draining: Cancel,
    /// The `onyx.json` that all gateways share.
    config: Mutex<SharedConfig>,
    /// Which gateway serves which polled account.
    accounts: Mutex<AccountPlaces>,
    /// The socket, lock and caches of this process are in a home of its own.
    _home: Home,
}

/// The places of polled accounts, by the accounts' names.
pub(super) type AccountPlaces = BTreeMap<String, AccountPlace>;

/// Which gateway serves a polled account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AccountPlace {
    Here,
    /// Another gateway, with its name if it is known.
    Elsewhere(Option<String>),
}

/// Accounts, separated by where they are served.
pub(super) struct PlacedAccounts {
    pub(super) here: Vec<Account>,
    pub(super) elsewhere: Vec<AccountElsewhere>,
}

impl SharedStorage {
    /// The current shared text, as far as this gateway has read it.
    pub(super) fn config(&self) -> SharedConfig {
        self.config.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the shared text again. `false` if it has not changed.
    pub(super) async fn follow_config(&self) -> Result<bool, StoreError> {
        let Some(now) = self.membership.config().await? else { return Ok(false) };
        let mut known = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = now.version > known.version;
        if is_new {
            *known = now;
        }
        Ok(is_new)
    }

    /// Writes a new text for all gateways. `Conflict` if another gateway has written since
    /// `before`.
    pub(super) async fn put_config(&self, before: i64, text: &str) -> Result<(), StoreError> {
        let version = self.membership.put_config(before, text).await?;
        let now = SharedConfig { version, text: text.to_owned() };
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = now;
        Ok(())
    }

    /// Takes the accounts that no other gateway serves. Each has only one gateway, or its network
    /// would be polled twice. Networks that are not polled are served by every gateway. One that is
    /// drained serves none.
    pub(super) async fn place_accounts(&self, accounts: Vec<Account>) -> PlacedAccounts {
        let mut placed = PlacedAccounts { here: Vec::new(), elsewhere: Vec::new() };
        let mut places = AccountPlaces::new();
        for account in accounts {
            if ANSWERED_ANYWHERE.contains(&account.key.network.as_str()) {
                if self.membership.is_draining() {
                    placed.elsewhere.push(AccountElsewhere { account, gateway: None });
                } else {
                    placed.here.push(account);
                }
                continue;
            }
            let key = account.key.to_string();
            let place = self.account_place(&key).await.unwrap_or_else(|error| {
                tracing::warn!(%error, %key, "cannot find out which gateway serves an account");
                AccountPlace::Elsewhere(None)
            });
            places.insert(key, place.clone());
            match place {
                AccountPlace::Here => placed.here.push(account),
                AccountPlace::Elsewhere(gateway) => {
                    placed.elsewhere.push(AccountElsewhere { account, gateway });
                }
            }
        }
        *self.accounts.lock().unwrap_or_else(PoisonError::into_inner) = places;
        placed
    }

    async fn account_place(&self, account: &str) -> Result<AccountPlace, StoreError> {
        let duty = Duty::Connector(account.to_owned()).to_string();
        if !self.membership.is_draining() && self.membership.own(&duty).await?.is_some() {
            return Ok(AccountPlace::Here);
        }
        let owner = self.membership.owner(&duty).await?;
        // A gateway that is being drained owns its accounts for a moment longer.
        Ok(AccountPlace::Elsewhere(owner.filter(|owner| owner != self.membership.id())))
    }

    pub(super) fn account_places(&self) -> AccountPlaces {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the duty of cleaning up for all gateways. `None`: another gateway has it, or this one is
    /// drained.
    pub(super) async fn own_clean_up(&self) -> Result<Option<OwnedDuty>, StoreError> {
        if self.membership.is_draining() {
            return Ok(None);
        }
        self.membership.own(&Duty::CleanUp.to_string()).await
    }

    /// Publishes the address at which this gateway answers.
    pub(super) async fn listens_at(&self, address: std::net::SocketAddr) -> Result<(), StoreError> {
        let url = self.advertise.clone().unwrap_or_else(|| format!("http://{address}"));
        self.membership.advertise(&url).await
    }
}

/// Opens the stores that the config names.
pub(super) async fn open(
    folder: &HomeFolder,
    home: Home,
    clock: &Arc<dyn Clock>,
) -> Result<OpenedStorage> {
    let Some(settings) = server_settings(folder)? else {
        let witnesses = audit_witnesses(folder.path(), None)?;
        let store = Store::open_witnessed(home, Arc::clone(clock), witnesses)
            .await
            .context("cannot open the store")?;
        return Ok(OpenedStorage { store, shared: None });
    };
    let master = master_key()?;
    let witnesses = audit_witnesses(folder.path(), Some(&master))?;
    let clocks =
        ServerClocks { records: Arc::clone(clock), leases: Arc::new(BootClock::default()) };
    let advertise = Some(settings.gateway.url.clone()).filter(|url| !url.is_empty());
    let opened = Store::open_server(with_test_sealing(settings), clocks, witnesses).await;
    let (store, membership) = opened.map_err(Fault::from)?;
    for warning in &membership.database().warnings {
        tracing::warn!("{warning}");
    }
    agree_on_key(&membership, &master).await?;
    write_token(folder, &master)?;
    let config = Mutex::new(first_config(folder, &membership).await?);
    tracing::info!(gateway = membership.id(), "one of several gateways on one database");
    let shared = SharedStorage {
        membership,
        database: DatabaseProbe::default(),
        objects: ObjectsProbe::default(),
        master,
        advertise,
        draining: Cancel::new(),
        config,
        accounts: Mutex::default(),
        _home: home,
    };
    Ok(OpenedStorage { store, shared: Some(Arc::new(shared)) })
}

/// A test may have logs sealed early, so that the few turns of its conversations lie in objects.
#[cfg(debug_assertions)]
fn with_test_sealing(mut settings: ServerSettings) -> ServerSettings {
    if let Some(bytes) = env::test_sealing() {
        settings.sealing = onyx_storage::Sealing::Beside { bytes };
    }
    settings
}

#[cfg(not(debug_assertions))]
fn with_test_sealing(settings: ServerSettings) -> ServerSettings {
    settings
}

/// Reads the file or, if it is broken, the last good one: a bad edit must not turn one gateway of
/// several into a separate server.
pub(crate) fn server_settings(folder: &HomeFolder) -> Result<Option<ServerSettings>> {
    let broken = match config::load(folder).and_then(|config| config.server()) {
        Ok(settings) => return Ok(settings),
        Err(broken) => broken,
    };
    let good = last_good::load(folder).and_then(Result::ok);
    match good.map(|config| config.server()) {
        Some(Ok(settings)) => Ok(settings),
        Some(Err(_)) | None => Err(broken.into()),
    }
}

/// The key that opens the secrets that gateways share, and from which other keys are derived.
pub(crate) fn master_key() -> Result<MasterKey> {
    let Some(given) = env::master_key() else {
        let message = "server mode needs ONYX_MASTER_KEY, the key that opens what gateways share";
        let hint = "Make one with `openssl rand -hex 32` and give it to every gateway; file:/path leads to a file.";
        return Err(Fault::new(onyx_types::ErrorCode::InvalidRequest, message)
            .with_hint(hint)
            .into());
    };
    let text = match given.strip_prefix("file:") {
        Some(path) => std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the master key in {path}"))?,
        None => given,
    };
    if text.trim().is_empty() {
        bail!("ONYX_MASTER_KEY is empty");
    }
    Ok(MasterKey::parse(&text)?)
}

/// The config in use for a gateway.
pub(super) fn load_config(
    folder: &HomeFolder,
    shared: Option<&SharedStorage>,
) -> Result<Config, ConfigError> {
    match shared {
        Some(shared) => config::shared(folder, &shared.config().text),
        None => config::load(folder),
    }
}

/// Parses a text as it would be read if it were in use.
pub(super) fn read_config(
    folder: &HomeFolder,
    shared: Option<&SharedStorage>,
    text: String,
) -> Result<Config, ConfigError> {
    match shared {
        Some(_) => config::shared(folder, &text),
        None => config::read(folder, text),
    }
}

/// The first config in the database. If several gateways start at once on a new database, one of
/// them shares its file with all.
async fn first_config(folder: &HomeFolder, membership: &Membership) -> Result<SharedConfig> {
    loop {
        if let Some(config) = membership.config().await? {
            return Ok(config);
        }
        let text = config::for_sharing(folder)?;
        // A text that no gateway could apply must not become the config of all.
        config::shared(folder, &text)?;
        match membership.put_config(0, &text).await {
            Ok(version) => return Ok(SharedConfig { version, text }),
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

async fn agree_on_key(membership: &Membership, master: &MasterKey) -> Result<()> {
    let ours = master.check_value();
    if membership.agree("master key", &ours).await? == ours {
        return Ok(());
    }
    membership.drain().await?;
    Err(Fault::from(ServerError::OtherMasterKey).into())
}

/// Writes the owner's token if the config gives none. It is derived from the master key, so it is
/// the same at every gateway and in no database.
fn write_token(folder: &HomeFolder, master: &MasterKey) -> Result<()> {
    let digits = Hash::from_bytes(master.derived("onyx: token of the owner")).to_string();
    let path = folder.token();
    let text = format!("onyx_sk_{}\n", &digits[..48]);
    if std::fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    files::replace(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    files::only_owner(&path)
}
