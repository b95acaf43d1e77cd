//! The embedded database: `onyx.db` for what needs transactions, `cache/index.db` for what can be
//! made again. No statement ever contains a value: SQL is static text, and values are bound.

mod acceptances;
mod accounts;
mod audit;
mod chunks;
mod connection;
mod connectors;
mod convert;
mod drafts;
mod inbox;
mod jobs;
mod ledger;
mod origins;
mod readers;
mod runs;
mod secrets;
mod sessions;
mod snapshot;
mod spending;
mod writer;

pub(crate) use chunks::SqliteChunks;
pub use chunks::open_chunks;
pub(crate) use ledger::{LedgerOrigin, SqliteLedger, make_ledger};
pub use secrets::ReadOnlySecrets;
pub use snapshot::copy_database;
