//! A real PostgreSQL and a real S3 server (`scripts/test-servers`), which all tests share; each
//! test gets a database and a bucket of its own.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tokio_postgres::{Client, NoTls};

/// The master key of server mode in tests. It does not contain the canary, because every gateway
/// gets it.
pub const MASTER_KEY: &str = "5e1f0000000000000000000000000000000000000000000000000000000000aa";

/// The addresses of the servers. The servers run as long as this value exists.
#[derive(Debug)]
pub struct Servers {
    /// The URL of a database that always exists on the server.
    pub database: String,
    /// Host and port of the S3 server.
    pub objects: String,
    /// The certificate by which the database server is trusted.
    pub certificate: PathBuf,
    _in_use: File,
}

impl Servers {
    pub fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/test-servers");
        let output = Command::new(script).stderr(Stdio::inherit()).output().expect("the script");
        assert!(output.status.success(), "scripts/test-servers failed; it says why above");
        let told = String::from_utf8(output.stdout).expect("text");
        let mut lines = told.lines().map(str::to_owned);
        let mut next = || lines.next().expect("scripts/test-servers prints four lines");
        let (database, objects, in_use) = (next(), next(), next());
        let in_use = File::options().read(true).write(true).open(in_use).expect("the lock file");
        rustix::fs::flock(&in_use, rustix::fs::FlockOperation::LockShared).expect("a lock");
        Self { database, objects, certificate: next().into(), _in_use: in_use }
    }

    /// The URL of another database on the server.
    pub fn url(&self, database: &str) -> String {
        let (server, _) = self.database.rsplit_once('/').expect("a path");
        format!("{server}/{database}")
    }

    pub fn make_bucket(&self, name: &str) {
        assert_eq!(self.http("PUT", &format!("/{name}"), ""), 200);
    }

    /// Sends a request to the S3 server, which checks no signature. Returns the status.
    pub fn http(&self, method: &str, path: &str, body: &str) -> u16 {
        let mut stream = TcpStream::connect(&self.objects).expect("the S3 server");
        let length = body.len();
        let host = &self.objects;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
             authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, \
             SignedHeaders=host, Signature=none\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
    }
}

/// A database without tables for one test, and a bucket of the same name.
#[derive(Debug)]
pub struct ServerPlace {
    pub servers: Servers,
    pub name: String,
}

impl ServerPlace {
    pub async fn new() -> Self {
        let servers = Servers::start();
        let name = format!("t{}", fresh_name());
        let client = connect(&servers.database).await;
        client.batch_execute(&["CREATE DATABASE ", &name].concat()).await.expect("a database");
        servers.make_bucket(&name);
        Self { servers, name }
    }

    /// The setting `storage` of the config.
    pub fn storage(&self) -> Value {
        json!({
            "database": format!("{}?sslmode=disable", self.servers.url(&self.name)),
            "objects": format!("s3://{}/onyx", self.name),
            "s3": {
                "endpoint": format!("http://{}", self.servers.objects),
                "accessKeyId": "test", "secretAccessKey": "test", "pathStyle": true,
            },
        })
    }

    /// The settings that are merged into the config of a gateway.
    pub fn config(&self, gateway: &str) -> Value {
        json!({"gateway": {"id": gateway}, "storage": self.storage()})
    }

    pub async fn sql(&self) -> Client {
        connect(&self.servers.url(&self.name)).await
    }

    /// Discards all notices from now on, as if each gateway died before it sent one.
    pub async fn lose_notices(&self) {
        let lose = "CREATE FUNCTION lose() RETURNS TRIGGER LANGUAGE plpgsql
                        AS 'BEGIN RETURN NULL; END';
                    CREATE TRIGGER lose BEFORE INSERT ON gateway_notices
                        FOR EACH ROW EXECUTE FUNCTION lose()";
        self.sql().await.batch_execute(lose).await.expect("a trigger");
    }

    /// Creates the tables.
    pub async fn migrate(&self) {
        let url = format!("{}?sslmode=disable", self.servers.url(&self.name));
        let url = onyx_storage::DatabaseUrl::parse(&url).expect("a URL");
        onyx_storage::migrate_database(&url).await.expect("tables");
    }
}

impl Drop for ServerPlace {
    fn drop(&mut self) {
        let (url, name) = (self.servers.database.clone(), self.name.clone());
        let remove = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let client = connect(&url).await;
                client.batch_execute(&["DROP DATABASE ", &name, " WITH (FORCE)"].concat()).await
            })
        };
        // A database that cannot be dropped is in a scratch folder; a panic here would hide the
        // test's own.
        drop(std::thread::spawn(remove).join());
    }
}

fn fresh_name() -> String {
    let mut random = [0; 8];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random)).expect("chance");
    format!("{:016x}", u64::from_le_bytes(random))
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the database");
    tokio::spawn(connection);
    client
}
