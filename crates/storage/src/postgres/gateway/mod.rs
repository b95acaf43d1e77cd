//! This gateway as one of several: its incarnation, its heartbeat, and the sessions that it holds.
//! The database's clock decides which gateways are alive; a gateway that cannot reach the database
//! stops before others may take over.

mod agreed;
mod boot_clock;
mod database_clock;
mod directory;
mod heartbeat;
mod leases;
mod naming;
mod overview;
mod owners;
mod poll;
mod unanswered;
mod writer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onyx_types::{Clock, Timestamp};
use tokio_postgres::types::ToSql;

use super::connect::{Database, ServerError};
use super::convert::{get, integer};
use super::query::{execute, row, row_if_any};
use super::schema::of_database;
use super::transaction::TransactionError;
use crate::StoreError;
use crate::blocking::lock;

pub use agreed::{SharedConfig, read_shared_config};
pub use boot_clock::BootClock;
use database_clock::{DATABASE_TIME, DatabaseClock};
pub use directory::{GatewayRow, list_gateways};
pub(crate) use heartbeat::HeartbeatTask;
pub(in crate::postgres) use leases::MayWait;
pub(crate) use leases::PostgresLeases;
use naming::take_name;
pub use overview::{GatewayOverview, GatewayState};
pub(crate) use overview::{ask_to_drain, overview};
pub(in crate::postgres) use owners::keep_owner;
pub(crate) use owners::owner_of;
pub use poll::{ClusterChanges, PollPosition};
pub(in crate::postgres) use writer::{LifeFence, LifeWriter, last_statement};

/// How this gateway presents itself to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewaySettings {
    /// `gateway.id`: the gateway's name. A new process with the same name replaces the old one.
    pub id: String,
    /// `gateway.advertise`: the URL at which the others reach it.
    pub url: String,
    /// How long a gateway counts as alive after its last heartbeat.
    pub life: Duration,
}

impl GatewaySettings {
    /// Makes settings with the life from the specification: 15 seconds, with a heartbeat every
    /// five.
    pub fn new(id: impl Into<String>, url: impl Into<String>) -> Self {
        Self { id: id.into(), url: url.into(), life: Duration::from_secs(15) }
    }
}

/// This process's entry in the table of gateways.
#[derive(Debug)]
pub(crate) struct Gateway {
    database: Database,
    settings: GatewaySettings,
    /// A clock that also counts while the machine sleeps.
    clock: Arc<dyn Clock>,
    standing: Mutex<LifeState>,
    /// The incarnation that this process asked for last. The row may have it although its answer
    /// was lost.
    asked_for: Mutex<Option<i64>>,
    /// The database's time, read with each heartbeat.
    database_clock: DatabaseClock,
    /// Held during a heartbeat. Otherwise, two heartbeats that restart the gateway at once would
    /// take each other for another process of the same name.
    beating: tokio::sync::Mutex<()>,
    /// The URL at which the others reach this gateway, known once it listens. It is written again
    /// when the gateway starts again.
    url: Mutex<String>,
    /// Whether the gateway is draining and begins nothing new.
    is_draining: AtomicBool,
}

#[derive(Clone, Debug)]
enum LifeState {
    Alive {
        incarnation: i64,
        /// The end of the life on this machine's clock, counted from before the database was asked.
        until: Duration,
    },
    /// The owner had the gateway give everything back. It stays in the list of gateways.
    Drained { incarnation: i64 },
    /// Another process has this gateway's name now, or this one has ended. This state is final.
    Replaced,
}

impl Gateway {
    /// Takes the gateway's name, even if another process has it.
    pub(crate) async fn register(
        database: Database,
        settings: GatewaySettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, ServerError> {
        let asked_for = Mutex::default();
        let taken = take_name(&database, &settings, &settings.url, &*clock, &asked_for).await;
        let taken = match taken {
            Ok(taken) => taken,
            // This is the first write to the database, so it fails if the database user may not
            // write.
            Err(TransactionError::Database(error)) if error.code().is_some() => {
                return Err(of_database(&error));
            }
            Err(trouble) => return Err(StoreError::from(trouble).into()),
        };
        let url = Mutex::new(settings.url.clone());
        Ok(Arc::new(Self {
            database,
            settings,
            clock,
            standing: Mutex::new(taken.standing),
            asked_for,
            database_clock: DatabaseClock::new(taken.reading),
            beating: tokio::sync::Mutex::default(),
            url,
            is_draining: AtomicBool::new(false),
        }))
    }

    fn is_drained(&self) -> bool {
        matches!(&*lock(&self.standing), LifeState::Drained { .. })
    }

    pub(crate) fn id(&self) -> &str {
        &self.settings.id
    }

    /// How long this gateway counts as alive after its last heartbeat.
    pub(crate) fn life(&self) -> Duration {
        self.settings.life
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.now().mono
    }

    /// The database's time, which all gateways agree on although their own clocks may differ.
    pub(crate) fn database_now(&self) -> Timestamp {
        self.database_clock.now(self.now())
    }

    /// The incarnation, while the others count this gateway as alive. It is checked immediately
    /// before each write, and it expires earlier than in the database: the margin covers the time
    /// that a request may take.
    pub(crate) fn alive(&self) -> Result<i64, StoreError> {
        self.alive_for(Duration::ZERO)
    }

    /// The incarnation, if this gateway will certainly be alive for that much longer.
    pub(crate) fn alive_for(&self, more: Duration) -> Result<i64, StoreError> {
        match &*lock(&self.standing) {
            LifeState::Alive { incarnation, until }
                if self.now() + margin(self.settings.life) + more < *until =>
            {
                Ok(*incarnation)
            }
            LifeState::Drained { .. } => Err(drained()),
            LifeState::Alive { .. } | LifeState::Replaced => Err(StoreError::LeaseLost),
        }
    }

    /// The incarnation, even if its life may be over, for comparing it with the owner in a row.
    pub(crate) fn incarnation(&self) -> Result<i64, StoreError> {
        match &*lock(&self.standing) {
            LifeState::Alive { incarnation, .. } | LifeState::Drained { incarnation } => {
                Ok(*incarnation)
            }
            LifeState::Replaced => Err(StoreError::LeaseLost),
        }
    }

    /// The incarnation for beginning something new, which a draining gateway may not do. A gateway
    /// that was silent for too long starts again as a new incarnation, which holds nothing.
    pub(crate) async fn alive_again(&self) -> Result<i64, StoreError> {
        if self.is_draining.load(Ordering::Acquire) {
            return Err(drained());
        }
        self.alive_or_anew().await
    }

    /// The incarnation for work that belongs to something begun earlier, so it also works while
    /// draining.
    pub(crate) async fn alive_or_anew(&self) -> Result<i64, StoreError> {
        if let Ok(incarnation) = self.alive() {
            return Ok(incarnation);
        }
        self.beat().await?;
        self.alive()
    }

    /// Sends a heartbeat. `LeaseLost` when another process has this gateway's name. The call waits
    /// at most one life for a database that does not answer; the next heartbeat uses another
    /// connection.
    pub(crate) async fn beat(&self) -> Result<(), StoreError> {
        let beat = async {
            let _others_wait = self.beating.lock().await;
            self.beat_alone().await
        };
        tokio::time::timeout(self.settings.life, beat).await.unwrap_or_else(|_| {
            Err(StoreError::Unavailable("the database: it does not answer".to_owned()))
        })
    }

    async fn beat_alone(&self) -> Result<(), StoreError> {
        let incarnation = match &*lock(&self.standing) {
            LifeState::Alive { incarnation, .. } => *incarnation,
            LifeState::Drained { .. } => return Err(drained()),
            LifeState::Replaced => return Err(StoreError::LeaseLost),
        };
        let asked = self.now();
        let client = self.database.client().await?;
        let beat = [
            "UPDATE gateways
             SET until = clock_timestamp() + $3::DOUBLE PRECISION * INTERVAL '1 millisecond',
                 beaten = clock_timestamp()
             WHERE id = $1 AND incarnation = $2 AND until > clock_timestamp()
             RETURNING ",
            DATABASE_TIME,
        ];
        let life = millis(self.settings.life);
        let given: [&(dyn ToSql + Sync); 3] = [&self.settings.id, &incarnation, &life];
        let sent = self.now();
        if let Some(beaten) = row_if_any(&client, &beat.concat(), &given).await? {
            self.database_clock.read(get(&beaten, 0)?, sent, self.now());
            let until = asked + self.settings.life;
            *lock(&self.standing) = LifeState::Alive { incarnation, until };
            return Ok(());
        }
        let select = "SELECT incarnation FROM gateways WHERE id = $1";
        let found = row_if_any(&client, select, &[&self.settings.id]).await?;
        let is_ours = match &found {
            Some(found) => {
                let found = get::<i64>(found, 0)?;
                found == incarnation || *lock(&self.asked_for) == Some(found)
            }
            None => false,
        };
        if !is_ours {
            tracing::error!(
                gateway = self.settings.id,
                "another process has the name of this gateway, or this gateway was drained: it writes nothing more"
            );
            *lock(&self.standing) = LifeState::Replaced;
            return Err(StoreError::LeaseLost);
        }
        tracing::warn!(
            gateway = self.settings.id,
            "silent for longer than its life: what it held is released, and it starts again"
        );
        let url = lock(&self.url).clone();
        let (settings, asked_for) = (&self.settings, &self.asked_for);
        let taken = take_name(&self.database, settings, &url, &*self.clock, asked_for).await?;
        self.database_clock.set(taken.reading);
        *lock(&self.standing) = taken.standing;
        Ok(())
    }

    /// Leaves the list of gateways and so gives everything back at once, so that the others need
    /// not wait for the end of its life.
    pub(crate) async fn drain(&self) -> Result<(), StoreError> {
        // The answer to a heartbeat that is under way would make the gateway alive again.
        let _no_heartbeat = self.beating.lock().await;
        let incarnation = match std::mem::replace(&mut *lock(&self.standing), LifeState::Replaced) {
            LifeState::Alive { incarnation, .. } | LifeState::Drained { incarnation } => {
                incarnation
            }
            LifeState::Replaced => return Ok(()),
        };
        let client = self.database.client().await?;
        let leave = "DELETE FROM gateways WHERE id = $1 AND incarnation = $2";
        execute(&client, leave, &[&self.settings.id, &incarnation]).await?;
        Ok(())
    }

    /// Stops this gateway from beginning anything new: runs and jobs.
    pub(crate) fn begin_draining(&self) {
        self.is_draining.store(true, Ordering::Release);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// Gives everything back but stays in the list of gateways until the process ends or is
    /// restarted.
    pub(crate) async fn end_draining(&self) -> Result<(), StoreError> {
        // As when it leaves: a heartbeat that is under way ends first.
        let _no_heartbeat = self.beating.lock().await;
        let incarnation = match &*lock(&self.standing) {
            LifeState::Alive { incarnation, .. } => *incarnation,
            LifeState::Drained { .. } | LifeState::Replaced => return Ok(()),
        };
        *lock(&self.standing) = LifeState::Drained { incarnation };
        let client = self.database.client().await?;
        let leave = "UPDATE gateways SET until = clock_timestamp(), drained = clock_timestamp()
                     WHERE id = $1 AND incarnation = $2";
        execute(&client, leave, &[&self.settings.id, &incarnation]).await?;
        let owned = "DELETE FROM owners WHERE gateway = $1 AND incarnation = $2";
        execute(&client, owned, &[&self.settings.id, &incarnation]).await?;
        Ok(())
    }

    /// Publishes the URL at which the others reach this gateway, once it is known.
    pub(crate) async fn advertise(&self, url: &str) -> Result<(), StoreError> {
        url.clone_into(&mut lock(&self.url));
        let incarnation = self.alive_again().await?;
        let client = self.database.client().await?;
        let set = "UPDATE gateways SET url = $3 WHERE id = $1 AND incarnation = $2";
        execute(&client, set, &[&self.settings.id, &incarnation, &url]).await?;
        Ok(())
    }
}

fn drained() -> StoreError {
    StoreError::Unavailable("this gateway is drained; another one answers".to_owned())
}

/// How much earlier than in the others' view an owner stops, to be safe.
fn margin(life: Duration) -> Duration {
    (life / 10).min(Duration::from_secs(2))
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Turns a fence of the database into the number that a lease carries.
fn token(fence: i64) -> u64 {
    u64::try_from(fence).unwrap_or_default()
}

/// Takes a number that no lease has had or will have, to raise a fence to it.
async fn next_fence(database: &Database) -> Result<i64, StoreError> {
    let client = database.client_soon().await?;
    get(&row(&client, "SELECT nextval('fences')", &[]).await?, 0)
}

/// Turns a length into the integer of the database.
fn length(count: u64) -> i64 {
    integer(count)
}
