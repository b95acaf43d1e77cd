//! A real PostgreSQL and a real S3 server, shared by all tests; a database and a bucket for each.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{
    AuditWitnesses, DatabaseUrl, GatewaySettings, Membership, ObjectsUrl, S3Settings, Sealing,
    ServerClocks, ServerError, ServerSettings, Store, migrate_database,
};
use onyx_test_support::ManualClock;
use onyx_types::Clock;
use tokio_postgres::{Client, NoTls};

/// Where the servers are. They stay while this lives.
pub(crate) struct Servers {
    pub(crate) database: String,
    pub(crate) objects: String,
    pub(crate) certificate: PathBuf,
    _in_use: File,
}

impl Servers {
    pub(crate) fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/test-servers");
        let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "scripts/test-servers failed; it says why above");
        let told = String::from_utf8(output.stdout).unwrap();
        let mut lines = told.lines().map(str::to_owned);
        let mut next = || lines.next().expect("scripts/test-servers prints four lines");
        let (database, objects, in_use) = (next(), next(), next());
        let in_use = File::options().read(true).write(true).open(in_use).unwrap();
        rustix::fs::flock(&in_use, rustix::fs::FlockOperation::LockShared).unwrap();
        Self { database, objects, certificate: next().into(), _in_use: in_use }
    }

    /// The URL with another path, and options behind it.
    pub(crate) fn url(&self, database: &str) -> String {
        let (server, _) = self.database.rsplit_once('/').unwrap();
        format!("{server}/{database}")
    }

    pub(crate) fn s3(&self) -> S3Settings {
        S3Settings {
            endpoint: Some(format!("http://{}", self.objects)),
            region: Some("us-east-1".into()),
            access_key_id: Some("test".into()),
            secret_access_key: Some("test".into()),
            path_style: true,
        }
    }

    pub(crate) fn make_bucket(&self, name: &str) {
        assert_eq!(self.http("PUT", &format!("/{name}"), ""), 200);
    }

    /// A request to the S3 server, which looks at no signature. Answers the status.
    pub(crate) fn http(&self, method: &str, path: &str, body: &str) -> u16 {
        let mut stream = TcpStream::connect(&self.objects).unwrap();
        let length = body.len();
        let host = &self.objects;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
             authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, \
             SignedHeaders=host, Signature=none\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
    }
}

/// A database of its own, with a bucket of the same name.
pub(crate) struct TestDatabase {
    pub(crate) servers: Servers,
    pub(crate) name: String,
}

impl TestDatabase {
    /// Without any table.
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
            s3: self.servers.s3(),
            // Longer than any test, so that only the leases' own times count.
            gateway: GatewaySettings {
                life: Duration::from_secs(3600),
                ..GatewaySettings::new(gateway, "http://127.0.0.1:1")
            },
            sealing: Sealing::AtOnce { rows: 3 },
            // The tests' own clock stands at a time of its own.
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

    /// Lets time pass for the database: every deadline comes nearer.
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
        // What cannot be dropped lies in a scratch folder; a panic here would hide the test's own.
        drop(std::thread::spawn(remove).join());
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// One gateway, with a clock of its own.
pub(crate) struct OpenGateway {
    pub(crate) store: Store,
    pub(crate) membership: Membership,
    pub(crate) clock: Arc<ManualClock>,
}
