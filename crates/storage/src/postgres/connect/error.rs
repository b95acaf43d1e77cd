//! The reasons why server mode cannot start, each with what to do about it.

use onyx_types::{ErrorCode, Fault};

use crate::{ObjectsRight, StoreError};

/// A reason why server mode cannot start. The text never contains a password or key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    #[error("storage.database is not a PostgreSQL URL: {0}")]
    DatabaseUrl(String),
    #[error("storage.objects is not an S3 URL: {0}")]
    ObjectsUrl(String),
    #[error("storage needs both database and objects; {0} is missing")]
    Incomplete(&'static str),
    #[error("the database at {place} cannot be reached: {why}")]
    Unreachable { place: String, why: String },
    #[error("the database at {place} refused the user or the password")]
    WrongPassword { place: String },
    #[error("there is no database {name:?} at {place}")]
    NoDatabase { place: String, name: String },
    #[error("no encrypted connection to the database at {place}: {why}")]
    TlsRefused { place: String, why: String },
    #[error("the database user may not do this: {0}")]
    NoRights(String),
    #[error("the database is PostgreSQL {found}; {least} or newer is needed")]
    OldServer { found: String, least: u32 },
    #[error("the database has no tables of Onyx yet")]
    NotMigrated,
    #[error("the tables of the database are of version {found}; this Onyx needs {needed}")]
    SchemaOlder { found: i32, needed: i32 },
    #[error(
        "the tables of the database are of version {found}, for Onyx from {compatible_from} on; this one knows {known}"
    )]
    SchemaNewer { found: i32, compatible_from: i32, known: i32 },
    #[error("the tables are in use: a transaction has held one of them for more than five seconds")]
    TablesInUse,
    #[error("the database is a standby and cannot be written")]
    Standby,
    #[error("the clocks of this machine and of the database differ by {seconds} seconds")]
    ClockOff { seconds: u64 },
    #[error("the other gateways on this database have another ONYX_MASTER_KEY")]
    OtherMasterKey,
    #[error("a move into or out of this database was cut off")]
    HalfMoved,
    #[error("there is no bucket {bucket:?} in the object store")]
    NoBucket { bucket: String },
    #[error("the object store does not let this key {right} in bucket {bucket:?}")]
    NoBucketRights { bucket: String, right: ObjectsRight },
    #[error("the object store cannot be used: {0}")]
    Objects(String),
    #[error("storage failed: {0}")]
    Failed(String),
}

impl ServerError {
    /// A sentence that says what to do about the error.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::DatabaseUrl(_) => {
                "Write it as postgres://user:password@host:5432/database, with ?sslmode=disable only on a network you trust."
            }
            Self::ObjectsUrl(_) => {
                "Write it as s3://bucket or s3://bucket/prefix; endpoint, region and keys stand in storage.s3."
            }
            Self::Incomplete(_) => {
                "Set storage.database and storage.objects, or neither for one machine with its own files."
            }
            Self::Unreachable { .. } => {
                "Check host, port and firewall, and that PostgreSQL listens there."
            }
            Self::WrongPassword { .. } => {
                "Check user and password in storage.database and the server's pg_hba.conf."
            }
            Self::NoDatabase { .. } => {
                "Create it with createdb, or name another in storage.database."
            }
            Self::TlsRefused { .. } => {
                "Add ?sslrootcert=FILE with the certificate of your authority; on a network you trust, ?sslmode=disable."
            }
            Self::NoRights(_) => {
                "Make the user the owner of the database, or grant it CREATE on the schema and all rights on its tables."
            }
            Self::OldServer { .. } => "Use a newer PostgreSQL server.",
            Self::NotMigrated | Self::SchemaOlder { .. } => {
                "Run onyx migrate once, with this binary, while no older gateway needs the tables."
            }
            Self::SchemaNewer { .. } => "Use the newer Onyx that made these tables.",
            Self::TablesInUse => {
                "Nothing was changed. Run it again, when no backup is made; SELECT * FROM pg_stat_activity shows who holds a transaction open."
            }
            Self::Standby => "Point storage.database to the primary server.",
            Self::ClockOff { .. } => {
                "Set both clocks (timedatectl set-ntp true): tokens, jobs and days go by them."
            }
            Self::OtherMasterKey => {
                "Give every gateway the same ONYX_MASTER_KEY: it opens the secrets they share."
            }
            Self::HalfMoved => {
                "Run the same onyx storage move again: it continues where it stopped."
            }
            Self::NoBucket { .. } => {
                "Create the bucket, or name another in storage.objects; with some stores storage.s3.pathStyle must be true."
            }
            Self::NoBucketRights { right, .. } => right.hint(),
            Self::Objects(_) => "Check storage.s3: endpoint, region and keys.",
            Self::Failed(_) => "See the server's log.",
        }
    }
}

impl From<ServerError> for StoreError {
    fn from(error: ServerError) -> Self {
        Self::Failed(format!("{error}. {}", error.hint()))
    }
}

impl From<ServerError> for Fault {
    fn from(error: ServerError) -> Self {
        let code = match error {
            ServerError::DatabaseUrl(_)
            | ServerError::ObjectsUrl(_)
            | ServerError::Incomplete(_) => ErrorCode::InvalidRequest,
            ServerError::Unreachable { .. } => ErrorCode::StorageUnavailable,
            _ => ErrorCode::StorageFailed,
        };
        Self::new(code, error.to_string()).with_hint(error.hint())
    }
}

impl From<StoreError> for ServerError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.to_string())
    }
}
