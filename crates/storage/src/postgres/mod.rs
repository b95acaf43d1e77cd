//! Server mode: everything that several gateways share, in PostgreSQL, with large contents in an
//! object store (`s3/`). Every change takes effect by the commit of a row here; correctness does
//! not depend on the object store. SQL is static text, and values are bound. Statements run as READ
//! COMMITTED and compare before they set; where that is not enough, a row is locked.

mod acceptances;
mod accounts;
mod audit;
mod chunks;
mod connect;
mod connectors;
mod convert;
mod draft_rows;
mod drafts;
mod files;
mod gateway;
mod jobs;
mod ledger;
mod moving;
mod origins;
mod outdated;
mod query;
mod schema;
mod secrets;
mod short_lived;
mod sign_ins;
mod transaction;
mod turns;

pub(crate) use acceptances::PostgresAcceptances;
pub(crate) use accounts::PostgresAccounts;
pub(crate) use audit::AuditChains;
pub(crate) use chunks::PostgresChunks;
pub(crate) use connect::Database;
pub use connect::{DatabaseUrl, ServerError};
pub(crate) use connectors::PostgresConnectors;
pub(crate) use drafts::PostgresDrafts;
pub(crate) use files::{Blobs, PostgresFiles, SweepOwner};
pub use gateway::{
    BootClock, ClusterChanges, GatewayOverview, GatewayRow, GatewaySettings, GatewayState,
    PollPosition, SharedConfig, list_gateways, read_shared_config,
};
pub(crate) use gateway::{
    Gateway, HeartbeatTask, PostgresLeases, ask_to_drain, overview, owner_of,
};
pub(crate) use jobs::PostgresJobs;
pub(crate) use ledger::{PostgresLedger, PostgresRunLog};
pub(crate) use moving::half_moved;
pub use moving::{
    CopiedContent, CopiedFile, CopiedLog, MoveCounts, MoveError, MoveExtras, MovingServer,
    OpenRuns, ServerAdditions, ServerCopy, server_secrets,
};
pub(crate) use outdated::OutdatedRows;
pub use schema::{DatabaseReport, SCHEMA_VERSION, inspect_database, migrate_database};
pub(crate) use secrets::PostgresSecrets;
pub(crate) use short_lived::PostgresShortLived;
pub use sign_ins::{Admission, FailureBucket, Overflow, SharedFailures};
pub(crate) use turns::PostgresTurnLog;
pub use turns::Sealing;
