//! The tables: made and changed by `onyx migrate` alone, and checked by every start.

use std::time::Duration;

use onyx_types::Timestamp;
use refinery::error::Kind;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::connect::{DatabaseUrl, ServerError, connect_once, told};

mod migrations {
    refinery::embed_migrations!("migrations/postgres");
}

/// What this binary's own migrations end with.
pub const SCHEMA_VERSION: i32 = 4;
/// The oldest server that has everything the statements use.
const OLDEST_SERVER: u32 = 15;
/// Two that migrate at once take turns; the number is Onyx's own.
const MIGRATION_LOCK: i64 = 0x6f6e_7978_0001;

/// Brings the tables up to date, in one transaction: they are as before or whole. Returns how many migrations ran.
pub async fn migrate_database(url: &DatabaseUrl) -> Result<usize, ServerError> {
    let mut client = connect_once(url).await?;
    check_server(&client).await?;
    execute(&client, "SELECT pg_advisory_lock($1)", MIGRATION_LOCK).await?;
    let migrated = run(&mut client).await;
    // The lock goes with the connection, which ends here.
    drop(client);
    migrated
}

async fn run(client: &mut Client) -> Result<usize, ServerError> {
    if let SchemaFound::Version { version, compatible_from } = found(client).await?
        && version > SCHEMA_VERSION
    {
        let known = SCHEMA_VERSION;
        return Err(ServerError::SchemaNewer { found: version, compatible_from, known });
    }
    let runner = migrations::migrations::runner().set_grouped(true);
    let report = runner.run_async(client).await.map_err(|error| refused(&error))?;
    Ok(report.applied_migrations().len())
}

fn refused(error: &refinery::Error) -> ServerError {
    match error.kind() {
        Kind::Connection(_, cause) => match cause.downcast_ref::<tokio_postgres::Error>() {
            Some(cause) => of_database(cause),
            None => ServerError::Failed(error.to_string()),
        },
        _ => ServerError::Failed(error.to_string()),
    }
}

/// The state of the database, for its administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseReport {
    /// The version of PostgreSQL.
    pub server: String,
    /// The version of the tables.
    pub schema: i32,
    /// What works but may still lose something, each in a sentence.
    pub warnings: Vec<String>,
}

/// Can this binary work with the server and its tables? The clocks must not differ by more than `slack`, if it is given.
pub async fn inspect_database(
    url: &DatabaseUrl,
    now: Timestamp,
    slack: Option<Duration>,
) -> Result<DatabaseReport, ServerError> {
    let client = connect_once(url).await?;
    check_server(&client).await?;
    let schema = check_tables(&client).await?;
    if let Some(slack) = slack {
        check_clock(&client, now, slack).await?;
    }
    let select = "SELECT current_setting('server_version'), current_setting('synchronous_commit'),
                         current_setting('fsync'), current_setting('synchronous_standby_names'),
                         (SELECT count(*) FROM pg_stat_replication)";
    let row = client.query_one(select, &[]).await.map_err(|error| of_database(&error))?;
    let (commit, fsync): (String, String) = (row.get(1), row.get(2));
    let (standbys, replicas): (String, i64) = (row.get(3), row.get(4));
    let mut warnings = Vec::new();
    if commit == "off" {
        warnings.push(
            "synchronous_commit is off: a crash of the database can lose what was acknowledged.",
        );
    }
    if fsync == "off" {
        warnings.push("fsync is off: a loss of power can destroy the database.");
    }
    if replicas > 0 && (standbys.is_empty() || commit == "local") {
        warnings.push("No standby is synchronous: a failover can lose what was acknowledged.");
    }
    let warnings = warnings.into_iter().map(str::to_owned).collect();
    Ok(DatabaseReport { server: row.get(0), schema, warnings })
}

async fn check_clock(client: &Client, now: Timestamp, slack: Duration) -> Result<(), ServerError> {
    let select = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT";
    let row = client.query_one(select, &[]).await.map_err(|error| of_database(&error))?;
    let apart = row.get::<_, i64>(0).abs_diff(now.as_millis());
    if u128::from(apart) > slack.as_millis() {
        return Err(ServerError::ClockOff { seconds: apart / 1000 });
    }
    Ok(())
}

/// Their version, if it is one that this binary can use.
async fn check_tables(client: &Client) -> Result<i32, ServerError> {
    match found(client).await? {
        SchemaFound::Nothing => Err(ServerError::NotMigrated),
        SchemaFound::Version { version, .. } if version < SCHEMA_VERSION => {
            Err(ServerError::SchemaOlder { found: version, needed: SCHEMA_VERSION })
        }
        SchemaFound::Version { version, compatible_from } if compatible_from > SCHEMA_VERSION => {
            Err(ServerError::SchemaNewer { found: version, compatible_from, known: SCHEMA_VERSION })
        }
        SchemaFound::Version { version, .. } => Ok(version),
    }
}

async fn check_server(client: &Client) -> Result<(), ServerError> {
    let select = "SELECT current_setting('server_version'),
                         current_setting('server_version_num')::INTEGER / 10000,
                         pg_is_in_recovery()";
    let row = client.query_one(select, &[]).await.map_err(|error| of_database(&error))?;
    let (found, major): (String, i32) = (row.get(0), row.get(1));
    if u32::try_from(major).unwrap_or_default() < OLDEST_SERVER {
        return Err(ServerError::OldServer { found, least: OLDEST_SERVER });
    }
    if row.get(2) { Err(ServerError::Standby) } else { Ok(()) }
}

enum SchemaFound {
    Nothing,
    Version { version: i32, compatible_from: i32 },
}

async fn found(client: &Client) -> Result<SchemaFound, ServerError> {
    match client.query_opt("SELECT version, compatible_from FROM onyx_schema", &[]).await {
        Ok(Some(row)) => {
            Ok(SchemaFound::Version { version: row.get(0), compatible_from: row.get(1) })
        }
        Ok(None) => Ok(SchemaFound::Nothing),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(SchemaFound::Nothing),
        Err(error) => Err(of_database(&error)),
    }
}

async fn execute(client: &Client, statement: &str, number: i64) -> Result<(), ServerError> {
    client.execute(statement, &[&number]).await.map(drop).map_err(|error| of_database(&error))
}

fn of_database(error: &tokio_postgres::Error) -> ServerError {
    match error.code() {
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            ServerError::NoRights(told(error))
        }
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => ServerError::Standby,
        Some(_) | None => ServerError::Failed(told(error)),
    }
}
