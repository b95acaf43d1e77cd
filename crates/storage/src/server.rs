//! Opens the stores of server mode: PostgreSQL and an object store instead of a home.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use onyx_types::{Clock, RunId, SessionKey};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::postgres::{
    AuditChains, Blobs, Database, Gateway, HeartbeatTask, PostgresAcceptances, PostgresAccounts,
    PostgresChunks, PostgresConnectors, PostgresDrafts, PostgresFiles, PostgresJobs,
    PostgresLeases, PostgresLedger, PostgresPending, PostgresRunLog, PostgresSecrets,
    PostgresTurnLog, ask_to_drain, half_moved, overview,
};
use crate::s3::Bucket;
use crate::{
    AuditWitnesses, ClusterChanges, DatabaseReport, DatabaseUrl, Duties, GatewayOverview,
    GatewayRow, GatewaySettings, Objects, ObjectsUrl, OwnedDuty, PendingEntries, PollPosition,
    S3Settings, Sealing, ServerError, SharedConfig, SharedFailures, Steps, Store, StoreError,
    inspect_database,
};

/// Unreferenced objects are kept this long, because their writer may be about to refer to them.
const KEPT_UNREFERRED: Duration = Duration::from_secs(24 * 60 * 60);
/// Beyond this, tokens would end too early and jobs fire at the wrong time.
const CLOCK_SLACK: Duration = Duration::from_secs(60);

/// `storage` of the config, as it is written there, with the references to keys resolved.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StorageSettings {
    /// `postgres://user:password@host/database`
    pub database: Option<String>,
    /// `s3://bucket/prefix`
    pub objects: Option<String>,
    pub s3: S3Settings,
}

/// The URL of a database holds its password.
impl fmt::Debug for StorageSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageSettings")
            .field("objects", &self.objects)
            .field("s3", &self.s3)
            .finish_non_exhaustive()
    }
}

impl StorageSettings {
    /// What server mode is opened with; `None`: one machine with files of its own.
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

/// `storage` and `gateway` of the config, checked.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    pub database: DatabaseUrl,
    pub objects: ObjectsUrl,
    pub s3: S3Settings,
    pub gateway: GatewaySettings,
    pub sealing: Sealing,
    /// How much the clocks of this machine and of the database may differ. `None`: they may differ
    /// by any time, for tests that set one.
    pub clock_slack: Option<Duration>,
}

impl ServerSettings {
    /// Does everything with the object store once that it will be asked for.
    pub async fn probe_objects(&self) -> Result<(), ServerError> {
        Bucket::new(self.objects.clone(), &self.s3)?.probe(&self.gateway.id).await
    }
}

/// This gateway's place among the others. The store is usable as long as this lives.
#[derive(Debug)]
pub struct Membership {
    gateway: Arc<Gateway>,
    bucket: Bucket,
    blobs: Blobs,
    turns: PostgresTurnLog,
    files: PostgresFiles,
    pending: PostgresPending,
    failures: SharedFailures,
    database: Database,
    report: DatabaseReport,
    _heartbeat: HeartbeatTask,
}

impl Membership {
    /// Every gateway on this database, by name.
    pub async fn gateways(&self) -> Result<Vec<GatewayRow>, StoreError> {
        self.gateway.all().await
    }

    /// The same with what each does, for the owner.
    pub async fn overview(&self) -> Result<Vec<GatewayOverview>, StoreError> {
        overview(&self.database).await
    }

    /// Asks a gateway to give everything back; one that nothing is heard of is forgotten.
    pub async fn ask_to_drain(&self, id: &str) -> Result<(), StoreError> {
        ask_to_drain(&self.database, id).await
    }

    /// From now on nothing new is begun here.
    pub fn begin_draining(&self) {
        self.gateway.begin_draining();
    }

    pub fn is_draining(&self) -> bool {
        self.gateway.is_draining()
    }

    /// Gives everything back, so that the others can take it at once, and stays in the list.
    pub async fn end_draining(&self) -> Result<(), StoreError> {
        self.gateway.end_draining().await
    }

    /// The database as it was found at the start.
    pub fn database(&self) -> &DatabaseReport {
        &self.report
    }

    /// Does everything with the object store once that it is asked for.
    pub async fn probe_objects(&self) -> Result<(), ServerError> {
        // `onyx doctor` beside this gateway uses the gateway's name alone.
        self.bucket.probe(&format!("{}-serving", self.gateway.id())).await
    }

    /// The name of this gateway.
    pub fn id(&self) -> &str {
        self.gateway.id()
    }

    /// Where the others reach this gateway, once that is known.
    pub async fn advertise(&self, url: &str) -> Result<(), StoreError> {
        self.gateway.advertise(url).await
    }

    /// The gateway that works on a session now; `None`: no living gateway.
    pub async fn holder(&self, key: &SessionKey) -> Result<Option<GatewayRow>, StoreError> {
        self.gateway.holder(key).await
    }

    /// The living gateway on which a run was begun: the run's events can be asked for there.
    pub async fn runner(&self, run: RunId) -> Result<Option<GatewayRow>, StoreError> {
        self.gateway.runner(run).await
    }

    /// The value that counts for all gateways: this one, if none set another before.
    pub async fn agree(&self, name: &str, value: &str) -> Result<String, StoreError> {
        self.gateway.agree(name, value).await
    }

    /// `onyx.json` as all gateways follow it.
    pub async fn config(&self) -> Result<Option<SharedConfig>, StoreError> {
        self.gateway.config().await
    }

    /// Writes the version after `before` (0: the first). `Conflict` when another writer did meanwhile.
    pub async fn put_config(&self, before: i64, text: &str) -> Result<i64, StoreError> {
        self.gateway.put_config(before, text).await
    }

    /// What the other gateways did since `heard`, and tells them what this one did. Notices are
    /// hints: nothing may rely on one.
    pub async fn poll(
        &self,
        heard: &mut PollPosition,
        told: &[String],
    ) -> Result<ClusterChanges, StoreError> {
        self.gateway.poll(heard, told).await
    }

    /// Deletes the hints that every gateway has read. Returns how many.
    pub async fn forget_notices(&self) -> Result<u64, StoreError> {
        self.gateway.forget_notices().await
    }

    /// What waits a short while to be taken once, at any gateway.
    pub fn pending(&self) -> Arc<dyn PendingEntries> {
        Arc::new(self.pending.clone())
    }

    /// Counts of failed guesses, at all gateways.
    pub fn failures(&self) -> SharedFailures {
        self.failures.clone()
    }

    /// Removes sign-ins that were not finished and failures that are forgiven.
    pub async fn sweep_sign_ins(&self) -> Result<(), StoreError> {
        self.pending.sweep().await?;
        self.failures.sweep().await?;
        Ok(())
    }

    /// Whole outputs of tools, where every gateway finds them.
    pub fn artifacts(&self) -> Arc<dyn Objects> {
        self.files.at("cache/artifacts")
    }

    /// Says once more that this gateway lives, beside the heartbeat. `LeaseLost` when another process has its name.
    pub async fn beat(&self) -> Result<(), StoreError> {
        self.gateway.beat().await
    }

    /// Gives everything back, so that the others can take it at once. Nothing is written after this.
    pub async fn drain(&self) -> Result<(), StoreError> {
        self.gateway.drain().await
    }

    /// Takes something that one gateway does, such as polling a connector's account. `None`: another one does it.
    pub async fn own(&self, name: &str) -> Result<Option<OwnedDuty>, StoreError> {
        self.gateway.own(name).await
    }

    /// May it still be done? To be asked immediately before each effect outside; costs nothing.
    pub fn still_owns(&self, owned: &OwnedDuty) -> bool {
        self.gateway.still_owns(owned)
    }

    pub async fn disown(&self, owned: &OwnedDuty) -> Result<(), StoreError> {
        self.gateway.disown(owned).await
    }

    /// Deletes objects that nothing refers to and that were not touched for a day. Returns how many.
    pub async fn sweep_objects(&self) -> Result<u64, StoreError> {
        self.blobs.sweep(KEPT_UNREFERRED).await
    }

    /// Moves some of the logs that were not written to for this long from rows into objects. Returns how many.
    pub async fn seal_idle_logs(&self, idle: Duration) -> Result<u64, StoreError> {
        self.turns.seal_idle(idle).await
    }
}

/// The two clocks of a gateway.
#[derive(Clone, Debug)]
pub struct ServerClocks {
    /// The clock of records, and of the days that people live by.
    pub records: Arc<dyn Clock>,
    /// The clock by which this gateway stops: it must continue while the machine sleeps, as `BootClock` does.
    pub leases: Arc<dyn Clock>,
}

impl Store {
    /// Checks database, tables and object store before anything is served, then takes this gateway's name.
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
        let store = Self {
            turns: Arc::new(turns.clone()),
            runs: Arc::new(PostgresRunLog::new(ledger.clone(), turns.clone())),
            ledger: Arc::new(ledger),
            drafts: Arc::new(PostgresDrafts::new(database.clone(), audit.clone(), leases.clone())),
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
            chunks: Arc::new(PostgresChunks::new(database.clone())),
            files: Arc::new(files.of_gateway(Arc::clone(&gateway))),
            steps: Steps::as_they_come(),
        };
        let heartbeat = gateway.keep_alive();
        let files =
            PostgresFiles::new(database.clone(), blobs.clone()).of_gateway(Arc::clone(&gateway));
        let membership = Membership {
            gateway,
            bucket,
            blobs,
            turns,
            files,
            pending: PostgresPending::new(database.clone()),
            failures: SharedFailures::new(database.clone()),
            database,
            report,
            _heartbeat: heartbeat,
        };
        Ok((store, membership))
    }
}
