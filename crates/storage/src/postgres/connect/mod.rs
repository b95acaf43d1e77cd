//! Connects to the database: its URL, encryption, pools of connections, and the errors when that fails.

mod error;
mod tls;
mod url;

use std::error::Error as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, QueueMode, RecyclingMethod,
    Runtime,
};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config};

use crate::StoreError;
use crate::blocking::lock;

pub use error::ServerError;
pub use url::DatabaseUrl;

/// The most connections that a gateway opens. Each costs the server a process.
const MOST_CONNECTIONS: usize = 16;
/// The most connections for live text, whose commits wait for no disk.
const MOST_RELAXED: usize = 2;
/// How long a request tries to connect before it reports that the database cannot be reached.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the holder of a lease waits for a database that is away. A database that fails over is
/// back within a moment.
const AWAY: Duration = Duration::from_secs(2);
const AWAY_AGAIN: Duration = Duration::from_millis(100);
/// How long a request waits for a free connection before it reports that all are in use.
const PATIENCE_IN_THE_QUEUE: Duration = Duration::from_secs(30);

/// Makes the server end a transaction that pauses this long. A gateway that is frozen or cut off in
/// the middle of a transaction holds rows that the others need; this frees them long before the
/// gateway's life is over.
const LONGEST_PAUSE: &str = "-c idle_in_transaction_session_timeout=5s";
/// The same limit, for code that needs to know how long its own transactions may pause.
pub(super) const MOST_IDLE: Duration = Duration::from_secs(5);

/// Sets the isolation level. Statements compare before they set, which is right only under READ
/// COMMITTED. If the database had another default, single statements would fail when two gateways
/// write at once.
const ISOLATION: &str = "-c default_transaction_isolation=read\\ committed";

/// The connection pools of one gateway. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    pool: Pool,
    relaxed: Pool,
    reader: Arc<Mutex<Option<Arc<Object>>>>,
    forgotten: ForgottenBefore,
}

/// When the connections were forgotten last. One that was opened before that is not used again,
/// even if it was in use at that time and came back to its pool later.
type ForgottenBefore = Arc<Mutex<Option<Instant>>>;

impl Database {
    /// Creates the pools. Connections are opened when they are first needed.
    pub(crate) fn new(url: &DatabaseUrl) -> Result<Self, ServerError> {
        let usual = with_options(with_options(url.config.clone(), ISOLATION), LONGEST_PAUSE);
        let relaxed = with_options(usual.clone(), "-c synchronous_commit=off");
        let forgotten = ForgottenBefore::default();
        Ok(Self {
            pool: pool(url, usual, MOST_CONNECTIONS, &forgotten)?,
            relaxed: pool(url, relaxed, MOST_RELAXED, &forgotten)?,
            reader: Arc::default(),
            forgotten,
        })
    }

    /// Closes the connections, those in use as soon as they are not used any more. A server that
    /// became a standby keeps its connections open, and none of them can be used for writing; one
    /// that vanished answers on none of them.
    pub(crate) fn forget_connections(&self) {
        *lock(&self.forgotten) = Some(Instant::now());
        *lock(&self.reader) = None;
        for pool in [&self.pool, &self.relaxed] {
            pool.retain(|_, _| false);
        }
    }

    /// Returns a connection that many readers of a few rows share, so that queries sent at the same
    /// time travel together.
    pub(crate) async fn reader(&self) -> Result<Arc<Object>, StoreError> {
        if let Some(reader) = &*lock(&self.reader)
            && !reader.is_closed()
        {
            return Ok(Arc::clone(reader));
        }
        let reader = Arc::new(self.client().await?);
        *lock(&self.reader) = Some(Arc::clone(&reader));
        Ok(reader)
    }

    pub(crate) async fn client(&self) -> Result<Object, StoreError> {
        self.pool.get().await.map_err(|error| unavailable(&error))
    }

    /// Returns a connection like `client`, but retries for a while. Nothing was sent yet, so
    /// retrying is safe, and these callers would fail for good without a connection.
    pub(crate) async fn client_soon(&self) -> Result<Object, StoreError> {
        let begun = Instant::now();
        loop {
            match self.client().await {
                Err(StoreError::Unavailable(_)) if begun.elapsed() < AWAY => {
                    tokio::time::sleep(AWAY_AGAIN).await;
                }
                answered => return answered,
            }
        }
    }

    /// Returns a connection whose commits do not wait for the disk, so the server's loss of power
    /// may undo them.
    pub(crate) async fn relaxed_client(&self) -> Result<Object, StoreError> {
        self.relaxed.get().await.map_err(|error| unavailable(&error))
    }
}

fn pool(
    url: &DatabaseUrl,
    config: Config,
    most: usize,
    forgotten: &ForgottenBefore,
) -> Result<Pool, ServerError> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(with_patience(config), tls::connector(url)?, recycling);
    let forgotten = Arc::clone(forgotten);
    let is_current = Hook::sync_fn(move |_, connection| {
        let is_forgotten = lock(&forgotten).is_some_and(|before| connection.created <= before);
        if is_forgotten { Err(HookError::message("it was forgotten")) } else { Ok(()) }
    });
    Pool::builder(manager)
        .max_size(most)
        .pre_recycle(is_current)
        // The connection that was used last is used next, because its statements are prepared and
        // its caches are warm.
        .queue_mode(QueueMode::Lifo)
        .wait_timeout(Some(PATIENCE_IN_THE_QUEUE))
        .create_timeout(Some(PATIENCE))
        .recycle_timeout(Some(PATIENCE))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| ServerError::Failed(error.to_string()))
}

fn with_options(mut config: Config, more: &str) -> Config {
    let options = config.get_options().unwrap_or_default().to_owned();
    config.options(format!("{options} {more}").trim_start());
    config
}

fn with_patience(mut config: Config) -> Config {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(PATIENCE);
    }
    config
}

fn unavailable(error: &PoolError) -> StoreError {
    let why = match error {
        PoolError::Backend(error) => message_of(error),
        other => other.to_string(),
    };
    StoreError::Unavailable(format!("the database: {why}"))
}

/// Opens one connection outside of the pools, for the start and for migrations. Its error says
/// exactly why there is none.
pub(super) async fn connect_once(url: &DatabaseUrl) -> Result<Client, ServerError> {
    let config = with_patience(with_options(url.config.clone(), ISOLATION));
    let (client, connection) =
        config.connect(tls::connector(url)?).await.map_err(|error| classify(url, &error))?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to the database ended");
        }
    });
    Ok(client)
}

fn classify(url: &DatabaseUrl, error: &tokio_postgres::Error) -> ServerError {
    let place = url.place.clone();
    match error.code() {
        Some(code) if *code == SqlState::INVALID_PASSWORD => ServerError::WrongPassword { place },
        Some(code) if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            // A pg_hba.conf that refuses unencrypted connections gives the same code as one that
            // refuses the user.
            ServerError::WrongPassword { place }
        }
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => ServerError::NoDatabase {
            place,
            name: url.config.get_dbname().unwrap_or_default().to_owned(),
        },
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            ServerError::NoRights(message_of(error))
        }
        Some(_) => ServerError::Unreachable { place, why: message_of(error) },
        None if is_about_tls(error) => ServerError::TlsRefused { place, why: message_of(error) },
        None if is_about_password(error) => ServerError::WrongPassword { place },
        None => ServerError::Unreachable { place, why: message_of(error) },
    }
}

/// Whether the error is about encryption. tokio-postgres has no code for that, so this looks at the
/// error's text, which comes from tokio-postgres and not from the server.
fn is_about_tls(error: &tokio_postgres::Error) -> bool {
    error.to_string().contains("TLS handshake")
}

/// Whether the error means that the server asks for a password and the URL has none.
fn is_about_password(error: &tokio_postgres::Error) -> bool {
    error.to_string().contains("configuration") || error.to_string().contains("authentication")
}

/// The error and its cause in one line.
pub(super) fn message_of(error: &tokio_postgres::Error) -> String {
    if let Some(cause) = error.as_db_error() {
        return cause.message().to_owned();
    }
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
