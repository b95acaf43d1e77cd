//! Transactions. A transaction is repeated as a whole when the database reports a conflict with
//! another one. When the answer to a commit is lost, the database is asked whether it happened.

use std::time::{Duration, Instant};

use deadpool_postgres::{Object, Transaction};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::connect::{Database, message_of};
use super::convert::get;
use super::query::row;
use crate::StoreError;

/// The reason why the work of a transaction stopped.
#[derive(Debug)]
pub(super) enum TransactionError {
    /// What was asked for is not possible, so it is never tried again.
    Store(StoreError),
    Database(tokio_postgres::Error),
}

impl From<StoreError> for TransactionError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<tokio_postgres::Error> for TransactionError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<TransactionError> for StoreError {
    fn from(trouble: TransactionError) -> Self {
        match trouble {
            TransactionError::Store(error) => error,
            TransactionError::Database(error) => error.into(),
        }
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(code) if *code == SqlState::DISK_FULL => Self::Full,
            Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
                Self::Unavailable("the database is a standby now".to_owned())
            }
            Some(code) if is_going_away(code) => {
                Self::Unavailable(format!("the database: {}", message_of(&error)))
            }
            Some(_) => Self::Failed(format!("the database: {}", message_of(&error))),
            // Without a code the error did not come from the server: the connection is gone. A
            // value that cannot be encoded or decoded is our own mistake, so the server is not
            // reported as unavailable.
            None if error.is_closed() || is_of_the_network(&error) => {
                Self::Unavailable(format!("the database: {}", message_of(&error)))
            }
            None => Self::Failed(format!("the database: {}", message_of(&error))),
        }
    }
}

/// Whether the code means that the server stops, starts or has no free connection. Such codes say
/// nothing about the statement.
fn is_going_away(code: &SqlState) -> bool {
    *code == SqlState::ADMIN_SHUTDOWN
        || *code == SqlState::CRASH_SHUTDOWN
        || *code == SqlState::CANNOT_CONNECT_NOW
        || *code == SqlState::TOO_MANY_CONNECTIONS
        || code.code().starts_with("08")
}

fn is_of_the_network(error: &tokio_postgres::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.is::<std::io::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

impl TransactionError {
    /// Whether nothing was written and the same work may succeed when it is repeated.
    fn lost_a_race(&self) -> bool {
        match self {
            Self::Database(error) => error.code().is_some_and(|code| {
                *code == SqlState::T_R_SERIALIZATION_FAILURE
                    || *code == SqlState::T_R_DEADLOCK_DETECTED
            }),
            Self::Store(_) => false,
        }
    }
}

const MOST_TRIES: u32 = 10;

/// How often a transaction was repeated.
#[derive(Debug, Default)]
pub(super) struct TransactionTries(u32);

/// How a transaction ended.
#[derive(Debug)]
pub(super) enum TransactionEnd<T> {
    Known(Result<T, StoreError>),
    /// The answer to the commit was lost, so the commit may have happened.
    Unknown(T, UnansweredCommit),
    /// The work has to be repeated.
    LostARace,
}

impl TransactionTries {
    /// Commits successful work and rolls back any other. A transaction is committed only if its
    /// number is known, because otherwise nobody could ask later whether it happened.
    pub(super) async fn end<T>(
        &mut self,
        transaction: Transaction<'_>,
        number: Result<TransactionNumber, TransactionError>,
        worked: Result<T, TransactionError>,
    ) -> TransactionEnd<T> {
        let trouble = match (worked, number) {
            (Ok(value), Ok(number)) => match transaction.commit().await {
                Ok(()) => return TransactionEnd::Known(Ok(value)),
                Err(error) if may_have_happened(&error) => {
                    return TransactionEnd::Unknown(value, UnansweredCommit { number, error });
                }
                Err(error) => error.into(),
            },
            (Err(trouble), _) | (Ok(_), Err(trouble)) => {
                // The outcome of the rollback is not needed; a connection that cannot even do this
                // is closed.
                drop(transaction);
                trouble
            }
        };
        if self.wait_to_retry(&trouble).await {
            return TransactionEnd::LostARace;
        }
        TransactionEnd::Known(Err(trouble.into()))
    }

    /// Whether the work is to be repeated. It waits a moment before it says yes.
    pub(super) async fn wait_to_retry(&mut self, trouble: &TransactionError) -> bool {
        if !trouble.lost_a_race() || self.0 >= MOST_TRIES {
            return false;
        }
        self.0 += 1;
        tokio::time::sleep(Duration::from_millis(1 << self.0.min(6))).await;
        true
    }
}

/// Whether a failed statement may have happened nevertheless: the connection was lost, or the
/// server says that it does not know.
pub(super) fn may_have_happened(error: &Error) -> bool {
    error.code().is_none_or(|code| {
        *code == SqlState::ADMIN_SHUTDOWN
            || *code == SqlState::CRASH_SHUTDOWN
            || *code == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN
            || code.code().starts_with("08")
    })
}

/// How long to wait for the end of a transaction whose connection is gone.
const ENDS_WITHIN: Duration = Duration::from_secs(5);
const ASKED_AGAIN: Duration = Duration::from_millis(50);

/// The number that the server gave to a transaction. After a failover, another server may give the
/// same number to another transaction, so the server is identified too.
#[derive(Debug)]
pub(super) struct TransactionNumber {
    number: String,
    server: String,
}

impl TransactionNumber {
    pub(super) async fn of(transaction: &Transaction<'_>) -> Result<Self, TransactionError> {
        let select = "SELECT pg_current_xact_id()::TEXT,
                             extract(epoch FROM pg_postmaster_start_time())::TEXT";
        let row = row(transaction, select, &[]).await?;
        Ok(Self { number: get(&row, 0)?, server: get(&row, 1)? })
    }

    /// Whether the transaction was committed. `None`: this can no longer be found out.
    async fn happened(&self, database: &Database) -> Result<Option<bool>, StoreError> {
        let select = "SELECT CASE WHEN extract(epoch FROM pg_postmaster_start_time())::TEXT = $2
                                  THEN pg_xact_status($1::TEXT::xid8) END";
        let begun = Instant::now();
        loop {
            let client = database.client_soon().await?;
            let status = row(&client, select, &[&self.number, &self.server]).await?;
            match get::<Option<&str>>(&status, 0)? {
                Some("committed") => return Ok(Some(true)),
                Some("aborted") => return Ok(Some(false)),
                Some(_) if begun.elapsed() < ENDS_WITHIN => {}
                Some(_) | None => return Ok(None),
            }
            drop(client);
            tokio::time::sleep(ASKED_AGAIN).await;
        }
    }
}

/// A transaction whose commit was not answered.
#[derive(Debug)]
pub(super) struct UnansweredCommit {
    number: TransactionNumber,
    error: Error,
}

impl Database {
    /// Returns the value if the transaction happened; otherwise the error with which the answer was
    /// lost.
    pub(super) async fn find_out<T>(
        &self,
        value: T,
        UnansweredCommit { number, error }: UnansweredCommit,
    ) -> Result<T, StoreError> {
        tracing::warn!(%error, "whether a transaction was committed is not known; asking");
        let happened = number.happened(self).await;
        let happened = happened.inspect_err(|error| {
            tracing::warn!(%error, "the outcome of the transaction could not be asked");
        });
        match happened {
            Ok(Some(true)) => Ok(value),
            Ok(Some(false)) => Err(error.into()),
            Ok(None) | Err(_) => Err(StoreError::Unavailable(format!(
                "the database: {}; it is not known whether this was written",
                message_of(&error)
            ))),
        }
    }
}

/// Sends statements without values in one message. They are one transaction, which never waits for
/// this process between its beginning and its end.
pub(super) async fn at_once(client: &Object, statements: &str) -> Result<(), StoreError> {
    let mut tries = TransactionTries::default();
    loop {
        let Err(error) = client.batch_execute(statements).await else { return Ok(()) };
        let trouble = TransactionError::from(error);
        if !tries.wait_to_retry(&trouble).await {
            return Err(trouble.into());
        }
    }
}

/// Runs the block inside a transaction: `transact!(database, transaction => { …; Ok(value) })`. It
/// is a macro because a future that borrows both the transaction and its surroundings could not be
/// passed to a function and still be sent between threads. The number of the transaction is asked
/// for together with the block's first statement.
macro_rules! transact {
    ($database:expr, $transaction:ident => $work:block) => {{
        use $crate::postgres::transaction::{TransactionEnd, TransactionNumber, TransactionTries};
        let mut tries = TransactionTries::default();
        loop {
            let mut client = $database.client().await?;
            let $transaction = client.transaction().await?;
            let numbered = TransactionNumber::of(&$transaction);
            let (number, worked): (_, Result<_, $crate::postgres::transaction::TransactionError>) =
                tokio::join!(biased; numbered, async { $work });
            let ended = tries.end($transaction, number, worked).await;
            drop(client);
            match ended {
                TransactionEnd::LostARace => {}
                TransactionEnd::Known(outcome) => break outcome,
                TransactionEnd::Unknown(value, commit) => break $database.find_out(value, commit).await,
            }
        }
    }};
}

pub(super) use transact;
