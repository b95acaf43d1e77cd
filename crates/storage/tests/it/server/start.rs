//! Tests of what can be wrong at the start: each error says what to do, and nothing is left half
//! done.

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{
    BlockingBucket, DatabaseUrl, GatewaySettings, ObjectsRight, ObjectsUrl, S3Settings,
    SCHEMA_VERSION, ServerError, ServerSettings, StorageSettings, StoreError, inspect_database,
    migrate_database,
};
use onyx_test_support::Servers;
use onyx_types::{Clock as _, ErrorCode, Fault, SystemClock};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::servers::{TestDatabase, s3};

/// Nothing listens at this address, and no other test is given it.
const NOWHERE: &str = "127.0.0.1:9";

async fn refused(database: &TestDatabase, settings: ServerSettings) -> ServerError {
    let Err(error) = database.open_with(settings).await else { panic!("it opened") };
    assert!(!error.hint().is_empty());
    for secret in ["onyx-test", "wrong-password"] {
        assert!(!error.to_string().contains(secret), "{error}");
    }
    error
}

fn url(text: &str) -> DatabaseUrl {
    DatabaseUrl::parse(text).unwrap()
}

async fn tables(database: &TestDatabase) -> Vec<String> {
    let select = "SELECT tablename::TEXT FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
    let rows = database.sql().await.query(select, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_wrong_password_database_or_address_is_told() {
    let database = TestDatabase::migrated().await;
    let right = format!("{}?sslmode=disable", database.servers.url(&database.name));
    let with = |database_url: &str| ServerSettings {
        database: url(database_url),
        ..database.settings("one")
    };
    let wrong = refused(&database, with(&right.replace("onyx-test", "wrong-password"))).await;
    assert!(matches!(wrong, ServerError::WrongPassword { .. }), "{wrong:?}");
    let none = refused(&database, with(&right.replace(":onyx-test", ""))).await;
    assert!(matches!(none, ServerError::WrongPassword { .. }), "{none:?}");
    let stranger = refused(&database, with(&right.replace("//postgres:", "//nobody:"))).await;
    assert!(matches!(stranger, ServerError::WrongPassword { .. }), "{stranger:?}");
    let nowhere = refused(&database, with(&right.replace(&database.name, "nosuch"))).await;
    let ServerError::NoDatabase { name, .. } = &nowhere else { panic!("{nowhere:?}") };
    assert_eq!(name, "nosuch");
    let closed = format!("postgres://postgres:onyx-test@{NOWHERE}/x");
    let unreachable = refused(&database, with(&closed)).await;
    assert!(matches!(unreachable, ServerError::Unreachable { .. }), "{unreachable:?}");
    assert!(unreachable.to_string().contains(NOWHERE), "{unreachable}");
}

#[tokio::test]
async fn the_certificate_of_the_database_is_checked() {
    let database = TestDatabase::migrated().await;
    let base = database.servers.url(&database.name);
    let with = |options: &str| ServerSettings {
        database: url(&format!("{base}?{options}")),
        ..database.settings("one")
    };
    let unknown = refused(&database, with("sslmode=require")).await;
    assert!(matches!(unknown, ServerError::TlsRefused { .. }), "{unknown:?}");
    let preferred = refused(&database, with("sslmode=prefer")).await;
    assert!(matches!(preferred, ServerError::TlsRefused { .. }), "{preferred:?}");
    let missing = refused(&database, with("sslmode=require&sslrootcert=/nonexistent")).await;
    assert!(matches!(missing, ServerError::TlsRefused { .. }), "{missing:?}");
    let trusted =
        format!("sslmode=verify-full&sslrootcert={}", database.servers.certificate.display());
    let gateway = database.open_with(with(&trusted)).await.unwrap();
    gateway.membership.beat().await.unwrap();
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE datname = current_database() AND application_name = 'onyx'";
    let row = database.sql().await.query_one(encrypted, &[]).await.unwrap();
    assert_eq!(row.get::<_, Option<bool>>(0), Some(true));
}

#[tokio::test]
async fn a_server_that_offers_no_encryption_is_refused_where_it_is_needed() {
    let database = TestDatabase::migrated().await;
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = plain.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = plain.accept().await {
            let mut request = [0; 8];
            client.read_exact(&mut request).await.unwrap();
            client.write_all(b"N").await.unwrap();
        }
    });
    let asked = url(&format!("postgres://postgres:onyx-test@{address}/x?sslmode=require"));
    let settings = ServerSettings { database: asked, ..database.settings("one") };
    let error = refused(&database, settings).await;
    assert!(matches!(error, ServerError::TlsRefused { .. }), "{error:?}");
}

#[tokio::test]
async fn tables_are_made_by_migrating_alone_and_once() {
    let database = TestDatabase::empty().await;
    database.servers.make_bucket(&database.name);
    let error = refused(&database, database.settings("one")).await;
    assert_eq!(error, ServerError::NotMigrated);
    assert!(error.hint().contains("onyx migrate"));
    assert_eq!(tables(&database).await, [""; 0], "looking makes nothing");
    let asked = database.database_url();
    let all = [(); 4].map(|()| migrate_database(&asked));
    let [a, b, c, d] = all;
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    let ran: usize = [a, b, c, d].into_iter().map(Result::unwrap).sum();
    assert_eq!(ran, migrations(), "those who come later find it done");
    assert!(tables(&database).await.contains(&"session_log".to_owned()));
    database.open("one").await;
}

#[tokio::test]
async fn a_migration_that_fails_leaves_no_half_of_the_tables() {
    let database = TestDatabase::empty().await;
    let sql = database.sql().await;
    // A table with the name of the last one that the migration creates is in the way.
    sql.batch_execute("CREATE TABLE readings (mine TEXT)").await.unwrap();
    let error = migrate_database(&database.database_url()).await.unwrap_err();
    assert!(matches!(error, ServerError::Failed(_)), "{error:?}");
    let is_ours = |name: &String| !name.starts_with("refinery") && name != "onyx_migrating";
    let ours: Vec<_> = tables(&database).await.into_iter().filter(is_ours).collect();
    assert_eq!(ours, ["readings"]);
    sql.batch_execute("DROP TABLE readings").await.unwrap();
    assert_eq!(migrate_database(&database.database_url()).await.unwrap(), migrations());
}

/// The number of migrations, because each raises the version by one.
fn migrations() -> usize {
    usize::try_from(SCHEMA_VERSION).unwrap()
}

#[tokio::test]
async fn tables_of_another_version_are_told_unless_they_say_that_they_fit() {
    let database = TestDatabase::migrated().await;
    let sql = database.sql().await;
    let set = async |version: i32, from: i32| {
        let set = "UPDATE onyx_schema SET version = $1, compatible_from = $2";
        sql.execute(set, &[&version, &from]).await.unwrap();
    };
    set(SCHEMA_VERSION - 1, 0).await;
    let older = refused(&database, database.settings("one")).await;
    let (found, needed) = (SCHEMA_VERSION - 1, SCHEMA_VERSION);
    assert_eq!(older, ServerError::SchemaOlder { found, needed });
    set(SCHEMA_VERSION + 5, SCHEMA_VERSION + 2).await;
    let newer = refused(&database, database.settings("one")).await;
    let (found, compatible_from) = (SCHEMA_VERSION + 5, SCHEMA_VERSION + 2);
    let expected = ServerError::SchemaNewer { found, compatible_from, known: SCHEMA_VERSION };
    assert_eq!(newer, expected);
    assert_eq!(migrate_database(&database.database_url()).await.unwrap_err(), expected);
    // During a rolling upgrade, the newer tables are made so that this program still works.
    set(SCHEMA_VERSION + 5, SCHEMA_VERSION).await;
    database.open("one").await;
}

/// The URL of the database for another user with the tests' password.
fn url_of(database: &TestDatabase, role: &str) -> DatabaseUrl {
    let theirs = database.servers.url(&database.name);
    let theirs = theirs.replace("postgres:onyx", &format!("{role}:onyx"));
    url(&format!("{theirs}?sslmode=disable"))
}

#[tokio::test]
async fn a_user_who_may_read_but_not_write_is_told() {
    let database = TestDatabase::migrated().await;
    let sql = database.sql().await;
    let role = format!("r{}", database.name);
    let make = ["CREATE ROLE ", &role, " LOGIN PASSWORD 'onyx-test'"].concat();
    sql.batch_execute(&make).await.unwrap();
    let grant = ["GRANT SELECT ON ALL TABLES IN SCHEMA public TO ", &role].concat();
    sql.batch_execute(&grant).await.unwrap();
    let theirs = url_of(&database, &role);
    let error =
        refused(&database, ServerSettings { database: theirs, ..database.settings("one") }).await;
    sql.batch_execute(&["DROP OWNED BY ", &role, "; DROP ROLE ", &role].concat()).await.unwrap();
    assert!(matches!(error, ServerError::NoRights(_)), "{error:?}");
    assert!(error.hint().contains("rights on its tables"), "{error:?}");
    let gateways = database.sql().await.query("SELECT id FROM gateways", &[]).await.unwrap();
    assert_eq!(gateways.len(), 0);
}

/// Makes the database answer a question about itself differently, by replacing a function.
async fn pretend(database: &TestDatabase, function: &str) {
    let sql = database.sql().await;
    let path = ["ALTER DATABASE ", &database.name, " SET search_path = public, pg_catalog"];
    sql.batch_execute(&path.concat()).await.unwrap();
    sql.batch_execute(function).await.unwrap();
}

#[tokio::test]
async fn a_standby_is_told() {
    let database = TestDatabase::migrated().await;
    let standby = "CREATE FUNCTION public.pg_is_in_recovery() RETURNS BOOLEAN LANGUAGE sql
                   AS 'SELECT TRUE'";
    pretend(&database, standby).await;
    let error = refused(&database, database.settings("one")).await;
    assert_eq!(error, ServerError::Standby);
    assert_eq!(migrate_database(&database.database_url()).await.unwrap_err(), ServerError::Standby);
}

#[tokio::test]
async fn a_server_that_is_too_old_is_told() {
    let database = TestDatabase::empty().await;
    database.servers.make_bucket(&database.name);
    let old = "CREATE FUNCTION public.current_setting(name TEXT) RETURNS TEXT LANGUAGE sql AS
               'SELECT CASE name WHEN ''server_version'' THEN ''14.9''
                                 WHEN ''server_version_num'' THEN ''140009''
                                 ELSE pg_catalog.current_setting(name) END'";
    pretend(&database, old).await;
    let expected = ServerError::OldServer { found: "14.9".into(), least: 15 };
    assert_eq!(refused(&database, database.settings("one")).await, expected);
    assert_eq!(migrate_database(&database.database_url()).await.unwrap_err(), expected);
    assert_eq!(tables(&database).await, [""; 0], "nothing is made on it");
}

#[tokio::test]
async fn a_standby_that_commits_do_not_wait_for_is_told() {
    let database = TestDatabase::migrated().await;
    pretend(&database, "CREATE VIEW public.pg_stat_replication AS SELECT 1 AS pid").await;
    let now = SystemClock::new().wall();
    let report = inspect_database(&database.database_url(), now, None).await.unwrap();
    let told = "No standby is synchronous: a failover can lose what was acknowledged.";
    assert!(report.warnings.iter().any(|warning| warning == told), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_work_where_transactions_are_serializable_by_default() {
    let database = TestDatabase::migrated().await;
    let strict = "SET default_transaction_isolation = serializable";
    let strict = ["ALTER DATABASE ", &database.name, " ", strict].concat();
    database.sql().await.batch_execute(&strict).await.unwrap();
    let (one, two) = tokio::join!(database.open("one"), database.open("two"));
    let mut all = tokio::task::JoinSet::new();
    for gateway in [&one, &two] {
        for _ in 0..4 {
            let chunks = Arc::clone(&gateway.store.chunks);
            all.spawn(async move {
                for _ in 0..20 {
                    chunks.add_to_mark("counted by all", "today", 1).await?;
                }
                Ok::<_, StoreError>(())
            });
        }
    }
    for counted in all.join_all().await {
        counted.unwrap();
    }
    assert_eq!(one.store.chunks.add_to_mark("counted by all", "today", 0).await.unwrap(), 160);
}

#[tokio::test]
async fn a_user_without_rights_is_told() {
    let database = TestDatabase::empty().await;
    let sql = database.sql().await;
    let role = format!("r{}", database.name);
    let make = ["CREATE ROLE ", &role, " LOGIN PASSWORD 'onyx-test'"];
    sql.batch_execute(&make.concat()).await.unwrap();
    let theirs = url_of(&database, &role);
    let error = migrate_database(&theirs).await.unwrap_err();
    let seen = refused(&database, ServerSettings { database: theirs, ..database.settings("one") });
    let seen = seen.await;
    sql.batch_execute(&["DROP ROLE ", &role].concat()).await.unwrap();
    assert!(matches!(error, ServerError::NoRights(_)), "{error:?}");
    assert_eq!(seen, ServerError::NotMigrated);
}

/// Starts a proxy to the store that refuses requests with these words in them, because moto has no
/// permission for listings and parts of objects that could be denied.
async fn store_without(words: &'static [u8], server: &str) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, server) = (listener.local_addr().unwrap(), server.to_owned());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&server).await.unwrap();
            tokio::spawn(pass_all_but(words, client, server));
        }
    });
    address
}

async fn pass_all_but(
    words: &[u8],
    mut client: TcpStream,
    mut server: TcpStream,
) -> std::io::Result<()> {
    const REFUSED: &[u8] =
        b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            length = client.read(&mut asked) => {
                let request = &asked[..length?];
                if request.is_empty() {
                    return Ok(());
                }
                if request.windows(words.len()).any(|part| part == words) {
                    return client.write_all(REFUSED).await;
                }
                server.write_all(request).await?;
            }
            length = server.read(&mut answered) => {
                let answer = &answered[..length?];
                if answer.is_empty() {
                    return Ok(());
                }
                client.write_all(answer).await?;
            }
        }
    }
}

/// Denies everybody this action on the bucket and its objects.
fn deny(servers: &Servers, bucket: &str, action: &str) {
    let policy = serde_json::json!({"Version": "2012-10-17", "Statement": [{
        "Effect": "Deny", "Principal": "*", "Action": format!("s3:{action}"),
        "Resource": [format!("arn:aws:s3:::{bucket}"), format!("arn:aws:s3:::{bucket}/*")],
    }]});
    let path = format!("/{bucket}?policy");
    assert!((200..300).contains(&servers.http("PUT", &path, &policy.to_string())));
}

#[test]
fn a_right_that_is_taken_away_later_is_named_by_whatever_needs_it() {
    let (servers, mut random) = (Servers::start(), [0; 8]);
    getrandom::fill(&mut random).unwrap();
    let name = format!("t{:016x}", u64::from_le_bytes(random));
    servers.make_bucket(&name);
    let url = ObjectsUrl::parse(&format!("s3://{name}/x")).unwrap();
    let objects = BlockingBucket::new(url, &s3(&servers)).unwrap();
    objects.put("a", b"content".to_vec()).unwrap();
    let assert_names = |error: StoreError, right: ObjectsRight| {
        let told = error.to_string();
        assert!(told.contains(&format!("does not let this key {right}")), "{told}");
        assert!(told.contains(right.hint()), "{told}");
    };
    deny(&servers, &name, "GetObject");
    assert_names(objects.get_range("a", 0..3).unwrap_err(), ObjectsRight::GetRange);
    assert_names(objects.get("a").unwrap_err(), ObjectsRight::Get);
    deny(&servers, &name, "PutObject");
    assert_names(objects.put("b", Vec::new()).unwrap_err(), ObjectsRight::Put);
    deny(&servers, &name, "DeleteObject");
    assert_names(objects.delete("a").unwrap_err(), ObjectsRight::Delete);
}

#[tokio::test]
async fn a_bucket_that_is_missing_closed_or_unreachable_is_told() {
    let database = TestDatabase::migrated().await;
    let missing = ServerSettings {
        objects: ObjectsUrl::parse("s3://no-such-bucket/x").unwrap(),
        ..database.settings("one")
    };
    let error = refused(&database, missing).await;
    assert_eq!(error, ServerError::NoBucket { bucket: "no-such-bucket".into() });
    let no_right = |right| ServerError::NoBucketRights { bucket: database.name.clone(), right };
    let s3_of = |endpoint| S3Settings { endpoint: Some(endpoint), ..s3(&database.servers) };
    for (words, right, name) in [
        (&b"list-type"[..], ObjectsRight::List, "s3:ListBucket"),
        (&b"range: bytes"[..], ObjectsRight::GetRange, "s3:GetObject"),
    ] {
        let endpoint = format!("http://{}", store_without(words, &database.servers.objects).await);
        let settings = ServerSettings { s3: s3_of(endpoint), ..database.settings("one") };
        let error = refused(&database, settings).await;
        assert_eq!(error, no_right(right), "{name}");
        assert!(error.hint().contains(name), "{}", error.hint());
    }
    for (denied, right) in [
        ("PutObject", ObjectsRight::Put),
        ("GetObject", ObjectsRight::Get),
        ("DeleteObject", ObjectsRight::Delete),
    ] {
        deny(&database.servers, &database.name, denied);
        let error = refused(&database, database.settings("one")).await;
        assert_eq!(error, no_right(right), "{denied}");
        assert!(error.hint().contains(&format!("s3:{denied}")), "{}", error.hint());
    }
    let s3 = S3Settings { endpoint: Some(format!("http://{NOWHERE}")), ..s3(&database.servers) };
    let error = refused(&database, ServerSettings { s3, ..database.settings("one") }).await;
    assert!(matches!(error, ServerError::Objects(_)), "{error:?}");
}

#[tokio::test]
async fn a_clock_far_off_is_told() {
    let database = TestDatabase::migrated().await;
    let settings =
        ServerSettings { clock_slack: Some(Duration::from_secs(60)), ..database.settings("one") };
    // The tests' clock does not show the real time.
    let error = refused(&database, settings.clone()).await;
    assert!(matches!(error, ServerError::ClockOff { seconds } if seconds > 60), "{error:?}");
    let now = SystemClock::new().wall();
    let report = inspect_database(&settings.database, now, settings.clock_slack).await.unwrap();
    assert_eq!(report.schema, SCHEMA_VERSION);
    assert!(report.server.starts_with(|first: char| first.is_ascii_digit()), "{report:?}");
    // The servers of the tests need not survive a loss of power, so they run without fsync.
    assert_eq!(report.warnings, ["fsync is off: a loss of power can destroy the database."]);
}

#[tokio::test]
async fn a_database_that_may_lose_commits_is_told() {
    let database = TestDatabase::migrated().await;
    let sql = database.sql().await;
    let off = ["ALTER DATABASE ", &database.name, " SET synchronous_commit = off"].concat();
    sql.batch_execute(&off).await.unwrap();
    let now = SystemClock::new().wall();
    let report = inspect_database(&database.database_url(), now, None).await.unwrap();
    assert!(report.warnings[0].starts_with("synchronous_commit is off"), "{report:?}");
}

#[tokio::test]
async fn a_database_that_goes_away_is_unavailable_and_not_broken() {
    let database = TestDatabase::migrated().await;
    let gateway = database.open("one").await;
    let closed = ["ALTER DATABASE ", &database.name, " ALLOW_CONNECTIONS false"].concat();
    let elsewhere = TestDatabase::empty().await;
    let sql = elsewhere.sql().await;
    sql.batch_execute(&closed).await.unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
    sql.query(end, &[&database.name]).await.unwrap();
    for _ in 0..3 {
        let error = gateway.store.ledger.active_runs().await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
        let fault = Fault::from(error);
        assert_eq!(fault.code, ErrorCode::StorageUnavailable);
        assert!(fault.retry_after.is_some());
    }
    sql.batch_execute(&closed.replace("false", "true")).await.unwrap();
    gateway.store.ledger.active_runs().await.unwrap();
}

#[test]
fn the_config_names_both_places_or_neither() {
    let read = |text: &str| serde_json::from_str::<StorageSettings>(text).unwrap();
    let server = |text: &str| read(text).server(GatewaySettings::new("one", ""));
    assert!(server("{}").unwrap().is_none(), "one machine needs nothing");
    let whole = r#"{"database": "postgres://onyx:secret@db.example/onyx", "objects": "s3://home/x",
                    "s3": {"endpoint": "https://s3.example", "region": "eu", "accessKeyId": "id",
                           "secretAccessKey": "secret", "pathStyle": true}}"#;
    let settings = server(whole).unwrap().unwrap();
    assert_eq!(settings.objects, ObjectsUrl::parse("s3://home/x").unwrap());
    assert_eq!(settings.s3.access_key_id.as_deref(), Some("id"));
    assert!(settings.s3.path_style);
    assert!(!format!("{settings:?} {:?}", read(whole)).contains("secret"));
    for (text, missing) in [
        (r#"{"database": "postgres://a@b/c"}"#, "storage.objects"),
        (r#"{"objects": "s3://a"}"#, "storage.database"),
    ] {
        assert_eq!(server(text).unwrap_err(), ServerError::Incomplete(missing));
    }
    let wrong = server(r#"{"database": "mysql://a", "objects": "s3://a"}"#);
    assert!(matches!(wrong, Err(ServerError::DatabaseUrl(_))));
    let wrong = server(r#"{"database": "postgres://a@b/c", "objects": "file:///a"}"#);
    assert!(matches!(wrong, Err(ServerError::ObjectsUrl(_))));
    assert!(serde_json::from_str::<StorageSettings>(r#"{"kind": "s3"}"#).is_err());
}
