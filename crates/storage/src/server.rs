//! Opens the stores of server mode: PostgreSQL and an object store instead of a home.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use onyx_types::{Clock, RunId, SessionKey, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::postgres::{
    AuditChains, Blobs, Database, Gateway, HeartbeatTask, OutdatedRows, PostgresAcceptances,
    PostgresAccounts, PostgresChunks, PostgresConnectors, PostgresDrafts, PostgresFiles,
    PostgresJobs, PostgresLeases, PostgresLedger, PostgresRunLog, PostgresSecrets,
    PostgresShortLived, PostgresTurnLog, SweepOwner, ask_to_drain, half_moved, overview, owner_of,
};
use crate::s3::Bucket;
use crate::{
    AuditWitnesses, ClusterChanges, DatabaseReport, DatabaseUrl, Duties, GatewayOverview,
    GatewayRow, GatewaySettings, Objects, ObjectsUrl, OwnedDuty, PollPosition, S3Settings, Sealing,
    ServerError, SharedConfig, SharedFailures, ShortLived, Steps, Store, StoreError,
    inspect_database,
};

/// How long objects without references are kept, because their writers may be about to refer to
/// them.
const KEPT_UNREFERRED: Duration = Duration::from_secs(24 * 60 * 60);
/// How much the clocks may differ. Beyond this, tokens would end too early and jobs would fire at
/// the wrong time.
const CLOCK_SLACK: Duration = Duration::from_secs(60);

/// The section `storage` of the config as it is written, with references to keys resolved.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StorageSettings {
    /// The database's URL, of the form `postgres://user:password@host/database`.
    pub database: Option<String>,
    /// The object store's URL, of the form `s3://bucket/prefix`.
    pub objects: Option<String>,
    pub s3: S3Settings,
}

/// Leaves out the database's URL, because it contains the password.
impl fmt::Debug for StorageSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageSettings")
            .field("objects", &self.objects)
            .field("s3", &self.s3)
            .finish_non_exhaustive()
    }
}

impl StorageSettings {
    /// The settings for server mode; `None`: one machine with files of its own.
    pub fn server(&self, gateway: GatewaySettings) -> Result<Option<ServerSettings>, ServerError> {
        let (database, objects) = match (&self.database, &self.objects) {
            (None, None) => return Ok(None),
            (Some(_), None) => return Err(ServerError::Incomplete("storage.objects")),
            (None, Some(_)) => return Err(ServerError::Incomplete("storage.database")),
            (Some(database), Some(objects)) => (database, objects),
        };
        Ok(Some(ServerSettings {
            database: DatabaseUrl::parse(database)?,
            objects: ObjectsUrl::parse(objects)?,
            s3: self.s3.clone(),
            gateway,
            sealing: Sealing::default(),
            clock_slack: Some(CLOCK_SLACK),
        }))
    }
}

/// The checked settings of the sections `storage` and `gateway`.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    pub database: DatabaseUrl,
    pub objects: ObjectsUrl,
    pub s3: S3Settings,
    pub gateway: GatewaySettings,
    pub sealing: Sealing,
    /// How much the clocks of this machine and of the database may differ. `None`: they may differ
    /// by any amount, for tests that set a clock.
    pub clock_slack: Option<Duration>,
}

impl ServerSettings {
    /// Tries each operation on the object store that the gateway will need once.
    pub async fn probe_objects(&self) -> Result<(), ServerError> {
        Bucket::new(self.objects.clone(), &self.s3)?.probe(&self.gateway.id).await
    }
}

/// This gateway as a member of its group. The store can be used as long as this lives.
#[derive(Debug)]
pub struct Membership {
    gateway: Arc<Gateway>,
    bucket: Bucket,
    blobs: Blobs,
    turns: PostgresTurnLog,
    files: PostgresFiles,
    short_lived: PostgresShortLived,
    failures: SharedFailures,
    outdated: OutdatedRows,
    database: Database,
    report: DatabaseReport,
    _heartbeat: HeartbeatTask,
}

impl Membership {
    /// Lists all gateways on this database by their names.
    pub async fn gateways(&self) -> Result<Vec<GatewayRow>, StoreError> {
        self.gateway.all().await
    }

    /// Lists all gateways with what each of them does, for the owner.
    pub async fn overview(&self) -> Result<Vec<GatewayOverview>, StoreError> {
        overview(&self.database).await
    }

    /// Asks a gateway to give everything back; a gateway that is not alive is removed from the
    /// list.
    pub async fn ask_to_drain(&self, id: &str) -> Result<(), StoreError> {
        ask_to_drain(&self.database, id).await
    }

    /// Stops this gateway from beginning anything new.
    pub fn begin_draining(&self) {
        self.gateway.begin_draining();
    }

    pub fn is_draining(&self) -> bool {
        self.gateway.is_draining()
    }

    /// Gives everything back, so that the others can take it at once, but stays in the list.
    pub async fn end_draining(&self) -> Result<(), StoreError> {
        self.gateway.end_draining().await
    }

    /// The state of the database when the gateway started.
    pub fn database(&self) -> &DatabaseReport {
        &self.report
    }

    /// Tries each operation on the object store once.
    pub async fn probe_objects(&self) -> Result<(), ServerError> {
        // The name differs from the gateway's own, which `onyx doctor` uses when it runs beside
        // this gateway.
        self.bucket.probe(&format!("{}-serving", self.gateway.id())).await
    }

    /// The name of this gateway.
    pub fn id(&self) -> &str {
        self.gateway.id()
    }

    /// The database's time, which all gateways agree on although their own clocks may differ. The
    /// call costs nothing.
    pub fn database_now(&self) -> Timestamp {
        self.gateway.database_now()
    }

    /// Publishes the URL at which the others reach this gateway, once it is known.
    pub async fn advertise(&self, url: &str) -> Result<(), StoreError> {
        self.gateway.advertise(url).await
    }

    /// The gateway that works on a session now; `None`: no living gateway does.
    pub async fn holder(&self, key: &SessionKey) -> Result<Option<GatewayRow>, StoreError> {
        self.gateway.holder(key).await
    }

    /// The living gateway on which a run was begun. It can be asked for the run's events.
    pub async fn runner(&self, run: RunId) -> Result<Option<GatewayRow>, StoreError> {
        self.gateway.runner(run).await
    }

    /// Offers a value and returns the one that counts for all gateways: this one, unless another
    /// was set before.
    pub async fn agree(&self, name: &str, value: &str) -> Result<String, StoreError> {
        self.gateway.agree(name, value).await
    }

    /// The shared `onyx.json` that all gateways follow.
    pub async fn config(&self) -> Result<Option<SharedConfig>, StoreError> {
        self.gateway.config().await
    }

    /// Writes the version after `before` (0: the first version). `Conflict` when another writer did
    /// so meanwhile.
    pub async fn put_config(&self, before: i64, text: &str) -> Result<i64, StoreError> {
        self.gateway.put_config(before, text).await
    }

    /// Returns what the other gateways did since `heard`, and sends them notices of what this one
    /// did. Notices are hints, and nothing may depend on one.
    pub async fn poll(
        &self,
        heard: &mut PollPosition,
        told: &[String],
    ) -> Result<ClusterChanges, StoreError> {
        self.gateway.poll(heard, told).await
    }

    /// Deletes notices that every gateway has had time to read. Returns how many.
    pub async fn forget_notices(&self) -> Result<u64, StoreError> {
        self.gateway.forget_notices().await
    }

    /// The entries that are kept for a short time, for every gateway.
    pub fn short_lived(&self) -> Arc<dyn ShortLived> {
        Arc::new(self.short_lived.clone())
    }

    /// The counts of failed guesses, over all gateways.
    pub fn failures(&self) -> SharedFailures {
        self.failures.clone()
    }

    /// Deletes short-lived entries that have ended, and counts whose failures are forgiven.
    pub async fn sweep_short_lived(&self) -> Result<(), StoreError> {
        self.short_lived.sweep().await?;
        self.failures.sweep().await?;
        Ok(())
    }

    /// Removes some of the rows that are not needed any more: leases of gateways that are gone, and
    /// what is left of sessions that were deleted a week ago.
    pub async fn remove_outdated_rows(&self) -> Result<(), StoreError> {
        self.outdated.remove_some().await
    }

    /// The complete outputs of tools, in a place where every gateway finds them.
    pub fn artifacts(&self) -> Arc<dyn Objects> {
        self.files.at("cache/artifacts")
    }

    /// Sends one more heartbeat. `LeaseLost` when another process has this gateway's name.
    pub async fn beat(&self) -> Result<(), StoreError> {
        self.gateway.beat().await
    }

    /// Gives everything back, so that the others can take it at once. Nothing is written after
    /// this.
    pub async fn drain(&self) -> Result<(), StoreError> {
        self.gateway.drain().await
    }

    /// The living gateway that has a duty, by its name; `None`: no gateway has it.
    pub async fn owner(&self, name: &str) -> Result<Option<String>, StoreError> {
        owner_of(&self.database, name).await
    }

    /// Takes a duty that one gateway has at a time, such as polling a connector's account. `None`:
    /// another gateway has it.
    pub async fn own(&self, name: &str) -> Result<Option<OwnedDuty>, StoreError> {
        self.gateway.own(name).await
    }

    /// Whether this gateway still has the duty. It must be asked immediately before each effect
    /// outside; the call costs nothing.
    pub fn still_owns(&self, owned: &OwnedDuty) -> bool {
        self.gateway.still_owns(owned)
    }

    pub async fn disown(&self, owned: &OwnedDuty) -> Result<(), StoreError> {
        self.gateway.disown(owned).await
    }

    /// Gives a duty up, and tries again until the database answers.
    pub async fn give_back(&self, owned: &OwnedDuty) {
        self.gateway.give_back(owned).await;
    }

    /// Deletes objects that nothing refers to and that were not touched for a day. Returns how
    /// many. One gateway at a time does this, so it ends with `LeaseLost` when the duty is lost.
    pub async fn sweep_objects(&self, duty: &OwnedDuty) -> Result<u64, StoreError> {
        self.blobs.sweep(KEPT_UNREFERRED, SweepOwner { gateway: &self.gateway, duty }).await
    }

    /// Moves up to a hundred of the logs that were not written to for this long from rows into
    /// objects. Returns how many.
    pub async fn seal_idle_logs(&self, idle: Duration) -> Result<u64, StoreError> {
        self.turns.seal_idle(idle).await
    }
}

/// The two clocks of a gateway.
#[derive(Clone, Debug)]
pub struct ServerClocks {
    /// The clock for records, and for the days of people.
    pub records: Arc<dyn Clock>,
    /// The clock that tells this gateway when to stop. It must continue while the machine sleeps,
    /// as `BootClock` does.
    pub leases: Arc<dyn Clock>,
}

impl Store {
    /// Opens the stores of server mode. It checks the database, the tables and the object store
    /// before anything is served, then takes this gateway's name.
    pub async fn open_server(
        settings: ServerSettings,
        clocks: ServerClocks,
        witnesses: AuditWitnesses,
    ) -> Result<(Self, Membership), ServerError> {
        let now = clocks.records.wall();
        let report = inspect_database(&settings.database, now, settings.clock_slack).await?;
        let bucket = Bucket::new(settings.objects, &settings.s3)?;
        bucket.probe(&settings.gateway.id).await?;
        let database = Database::new(&settings.database)?;
        let gateway = Gateway::register(database.clone(), settings.gateway, clocks.leases).await?;
        if half_moved(&database).await? {
            gateway.drain().await?;
            return Err(ServerError::HalfMoved);
        }
        let audit = AuditChains::new(database.clone(), witnesses);
        audit.export_missing().await?;
        let blobs = Blobs::new(database.clone(), bucket.clone());
        let leases = PostgresLeases::new(Arc::clone(&gateway));
        let turns =
            PostgresTurnLog::new(database.clone(), blobs.clone(), leases.clone(), settings.sealing);
        let files = PostgresFiles::new(database.clone(), blobs.clone());
        let ledger = PostgresLedger::new(
            database.clone(),
            audit.clone(),
            clocks.records,
            Arc::clone(&gateway),
            leases.clone(),
        );
        let short_lived = PostgresShortLived::new(database.clone());
        let store = Self {
            turns: Arc::new(turns.clone()),
            runs: Arc::new(PostgresRunLog::new(ledger.clone(), turns.clone())),
            ledger: Arc::new(ledger),
            drafts: Arc::new(PostgresDrafts::new(
                database.clone(),
                audit.clone(),
                leases.clone(),
                Arc::clone(&gateway),
            )),
            accounts: Arc::new(PostgresAccounts::new(database.clone())),
            secrets: Arc::new(PostgresSecrets::new(database.clone())),
            jobs: Arc::new(PostgresJobs::new(
                database.clone(),
                audit.clone(),
                Arc::clone(&gateway),
            )),
            acceptances: Arc::new(PostgresAcceptances::new(database.clone(), audit)),
            connectors: Arc::new(PostgresConnectors::new(database.clone(), Arc::clone(&gateway))),
            leases: Arc::new(leases),
            duties: Arc::clone(&gateway) as Arc<dyn Duties>,
            short_lived: Arc::new(short_lived.clone()),
            chunks: Arc::new(PostgresChunks::new(database.clone())),
            files: Arc::new(files.of_gateway(Arc::clone(&gateway))),
            steps: Steps::as_they_come(),
        };
        let heartbeat = HeartbeatTask::start(&gateway);
        let files =
            PostgresFiles::new(database.clone(), blobs.clone()).of_gateway(Arc::clone(&gateway));
        let membership = Membership {
            gateway,
            bucket,
            blobs,
            turns,
            files,
            short_lived,
            failures: SharedFailures::new(database.clone()),
            outdated: OutdatedRows::new(database.clone()),
            database,
            report,
            _heartbeat: heartbeat,
        };
        Ok((store, membership))
    }
}
