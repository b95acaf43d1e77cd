//! The tables. Only `onyx migrate` creates and changes them; every start checks them.

use std::time::{Duration, Instant};

use onyx_types::Timestamp;
use refinery::error::Kind;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Transaction};

use super::connect::{DatabaseUrl, ServerError, connect_once, message_of};

mod migrations {
    refinery::embed_migrations!("migrations/postgres");
}

/// The version of the tables after this program's own migrations.
pub const SCHEMA_VERSION: i32 = 8;
/// The oldest version of PostgreSQL that has everything the statements use.
const OLDEST_SERVER: u32 = 15;
/// The table whose only row is locked during a migration, so that two migrations at once take
/// turns.
const TURN_TABLE: &str = "CREATE TABLE IF NOT EXISTS onyx_migrating (id INTEGER PRIMARY KEY)";
const TURN_ROW: &str = "INSERT INTO onyx_migrating VALUES (1) ON CONFLICT DO NOTHING";

/// How long a migration waits for a table that others use. Everything that gateways ask of the table
/// waits behind it, so it gives up soon.
const LOCK_PATIENCE: &str = "SET lock_timeout = '5s'";

/// Brings the tables up to date in one transaction, so that they are changed completely or not at
/// all. Returns how many migrations ran.
pub async fn migrate_database(url: &DatabaseUrl) -> Result<usize, ServerError> {
    let mut client = connect_once(url).await?;
    check_server(&client).await?;
    let mut waiting = connect_once(url).await?;
    let turn = take_turn(&mut waiting).await?;
    let migrated = run(&mut client).await;
    // Nothing is written in this transaction. Its end lets the next migration begin.
    turn.rollback().await.map_err(|error| of_database(&error))?;
    migrated
}

/// Waits until nobody else migrates, and makes others wait until the transaction ends.
async fn take_turn(client: &mut Client) -> Result<Transaction<'_>, ServerError> {
    make_turn_table(client).await?;
    let turn = client.transaction().await.map_err(|error| of_database(&error))?;
    // The server must not end this transaction, however long the migration takes.
    let hold = "SET LOCAL idle_in_transaction_session_timeout = 0;
                SELECT id FROM onyx_migrating FOR UPDATE";
    turn.batch_execute(hold).await.map_err(|error| of_database(&error))?;
    Ok(turn)
}

/// Creates the table for taking turns. If several programs create it at once, one may be refused
/// although the statement contains IF NOT EXISTS.
async fn make_turn_table(client: &Client) -> Result<(), ServerError> {
    match client.batch_execute(TURN_TABLE).await {
        Ok(()) => {}
        Err(error) if was_made_meanwhile(&error) => {}
        Err(error) => return Err(of_database(&error)),
    }
    client.batch_execute(TURN_ROW).await.map_err(|error| of_database(&error))
}

fn was_made_meanwhile(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| {
        *code == SqlState::UNIQUE_VIOLATION
            || *code == SqlState::DUPLICATE_TABLE
            || *code == SqlState::DUPLICATE_OBJECT
    })
}

async fn run(client: &mut Client) -> Result<usize, ServerError> {
    if let SchemaFound::Version { version, compatible_from } = found(client).await?
        && version > SCHEMA_VERSION
    {
        let known = SCHEMA_VERSION;
        return Err(ServerError::SchemaNewer { found: version, compatible_from, known });
    }
    client.batch_execute(LOCK_PATIENCE).await.map_err(|error| of_database(&error))?;
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
    /// The version of the tables in the database.
    pub schema: i32,
    /// By how many milliseconds the database's clock is ahead of this machine's clock; negative if
    /// it is behind.
    pub clock_ahead: i64,
    /// Sentences about settings that work but may lose data.
    pub warnings: Vec<String>,
}

/// Checks whether this program can work with the server and its tables. The clocks must not differ
/// by more than `slack`, if it is given.
pub async fn inspect_database(
    url: &DatabaseUrl,
    now: Timestamp,
    slack: Option<Duration>,
) -> Result<DatabaseReport, ServerError> {
    let begun = Instant::now();
    let client = connect_once(url).await?;
    check_server(&client).await?;
    let schema = check_tables(&client).await?;
    let clock_ahead = clock_ahead(&client, now, begun).await?;
    if slack.is_some_and(|slack| u128::from(clock_ahead.unsigned_abs()) > slack.as_millis()) {
        return Err(ServerError::ClockOff { seconds: clock_ahead.unsigned_abs() / 1000 });
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
    Ok(DatabaseReport { server: row.get(0), schema, clock_ahead, warnings })
}

/// By how many milliseconds the database's clock is ahead of this machine's, which showed `now` at
/// `begun`. The database's answer is assumed to be from the middle of the time that the query took.
async fn clock_ahead(client: &Client, now: Timestamp, begun: Instant) -> Result<i64, ServerError> {
    let select = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT";
    let asked = begun.elapsed();
    let row = client.query_one(select, &[]).await.map_err(|error| of_database(&error))?;
    let here = now.saturating_add((asked + begun.elapsed()) / 2);
    Ok(row.get::<_, i64>(0).saturating_sub(here.as_millis()))
}

/// Returns the version of the tables if this program can use them.
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

pub(super) fn of_database(error: &tokio_postgres::Error) -> ServerError {
    match error.code() {
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            ServerError::NoRights(message_of(error))
        }
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => ServerError::Standby,
        Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => ServerError::TablesInUse,
        Some(_) | None => ServerError::Failed(message_of(error)),
    }
}
