//! A real PostgreSQL server and a real S3 server that all tests share, with a database and a bucket
//! for each test.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{
    AuditWitnesses, DatabaseUrl, GatewaySettings, Membership, ObjectsUrl, S3Settings, Sealing,
    ServerClocks, ServerError, ServerSettings, Store, migrate_database,
};
use onyx_test_support::{ManualClock, Servers};
use onyx_types::Clock;
use tokio_postgres::{Client, NoTls};

pub(crate) fn s3(servers: &Servers) -> S3Settings {
    S3Settings {
        endpoint: Some(format!("http://{}", servers.objects)),
        region: Some("us-east-1".into()),
        access_key_id: Some("test".into()),
        secret_access_key: Some("test".into()),
        path_style: true,
    }
}

/// A database for one test, with a bucket of the same name.
pub(crate) struct TestDatabase {
    pub(crate) servers: Servers,
    pub(crate) name: String,
}

impl TestDatabase {
    /// Creates the database without any tables.
    pub(crate) async fn empty() -> Self {
        let servers = Servers::start();
        let mut random = [0; 8];
        getrandom::fill(&mut random).unwrap();
        let name = format!("t{:016x}", u64::from_le_bytes(random));
        let client = connect(&servers.database).await;
        client.batch_execute(&["CREATE DATABASE ", &name].concat()).await.unwrap();
        Self { servers, name }
    }

    pub(crate) async fn migrated() -> Self {
        let database = Self::empty().await;
        database.servers.make_bucket(&database.name);
        migrate_database(&database.database_url()).await.unwrap();
        database
    }

    pub(crate) fn database_url(&self) -> DatabaseUrl {
        DatabaseUrl::parse(&format!("{}?sslmode=disable", self.servers.url(&self.name))).unwrap()
    }

    pub(crate) async fn sql(&self) -> Client {
        connect(&self.servers.url(&self.name)).await
    }

    pub(crate) fn settings(&self, gateway: &str) -> ServerSettings {
        ServerSettings {
            database: self.database_url(),
            objects: ObjectsUrl::parse(&format!("s3://{}/onyx", self.name)).unwrap(),
            s3: s3(&self.servers),
            // The life is longer than any test, so that only the leases' own times count.
            gateway: GatewaySettings {
                life: LIFE,
                ..GatewaySettings::new(gateway, "http://127.0.0.1:1")
            },
            sealing: Sealing::AtOnce { rows: 3 },
            // The tests' clock does not show the real time, so its difference from the database's
            // is not checked.
            clock_slack: None,
        }
    }

    pub(crate) async fn open(&self, gateway: &str) -> OpenGateway {
        self.open_with(self.settings(gateway)).await.unwrap()
    }

    pub(crate) async fn open_with(
        &self,
        settings: ServerSettings,
    ) -> Result<OpenGateway, ServerError> {
        let clock = Arc::new(ManualClock::new());
        let clocks = ServerClocks {
            records: Arc::clone(&clock) as Arc<dyn Clock>,
            leases: Arc::clone(&clock) as Arc<dyn Clock>,
        };
        let (store, membership) =
            Store::open_server(settings, clocks, AuditWitnesses::default()).await?;
        Ok(OpenGateway { store, membership, clock })
    }

    /// Lets time pass for the database, so that every deadline comes nearer.
    pub(crate) async fn pass(&self, by: Duration) {
        pass(&self.servers.url(&self.name), by).await;
    }
}

pub(crate) async fn pass(url: &str, by: Duration) {
    let (client, by) = (connect(url).await, by.as_secs_f64());
    for earlier in [
        "UPDATE session_log SET until = until - $1::FLOAT8 * INTERVAL '1 second',
                                written = written - $1::FLOAT8 * INTERVAL '1 second'",
        "UPDATE gateways SET until = until - $1::FLOAT8 * INTERVAL '1 second'",
        "UPDATE pending_entries SET until = until - $1::FLOAT8 * INTERVAL '1 second'",
        "UPDATE blobs SET touched = touched - $1::FLOAT8 * INTERVAL '1 second'",
    ] {
        client.execute(earlier, &[&by]).await.unwrap();
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (url, name) = (self.servers.database.clone(), self.name.clone());
        let remove = move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let client = connect(&url).await;
                client.batch_execute(&["DROP DATABASE ", &name, " WITH (FORCE)"].concat()).await
            })
        };
        let (done, removed) = std::sync::mpsc::sync_channel(1);
        std::thread::spawn(move || done.send(remove()));
        // The outcome is ignored: what cannot be dropped is in a scratch folder, and a panic here
        // would hide the test's own. After a connection that the server ended, PostgreSQL 15 may
        // wait a minute for its autovacuum launcher, so this waits for a few seconds at most.
        drop(removed.recv_timeout(Duration::from_secs(5)));
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// One gateway with a clock of its own.
pub(crate) struct OpenGateway {
    pub(crate) store: Store,
    pub(crate) membership: Membership,
    pub(crate) clock: Arc<ManualClock>,
}

/// The life of the gateways in these tests, unless a test sets another one.
pub(crate) const LIFE: Duration = Duration::from_secs(3600);

/// Opens two gateways on a database of their own.
pub(crate) async fn two() -> (TestDatabase, OpenGateway, OpenGateway) {
    let database = TestDatabase::migrated().await;
    let (one, two) = (database.open("one").await, database.open("two").await);
    (database, one, two)
}

/// Lets the lives of all gateways end, except that of the given one.
pub(crate) async fn let_die(database: &TestDatabase, survivor: &OpenGateway) {
    database.pass(LIFE).await;
    survivor.membership.beat().await.unwrap();
}
