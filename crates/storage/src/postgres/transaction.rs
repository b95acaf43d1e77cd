//! Transactions that are replayed as a whole when the database says that they lost against another.

use std::time::Duration;

use deadpool_postgres::Transaction;
use tokio_postgres::error::SqlState;

use super::connect::told;
use crate::StoreError;

/// Why the work of a transaction stopped.
#[derive(Debug)]
pub(super) enum Trouble {
    /// What was asked for cannot be; never tried again.
    Store(StoreError),
    Database(tokio_postgres::Error),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Trouble> for StoreError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Store(error) => error,
            Trouble::Database(error) => error.into(),
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
                Self::Unavailable(format!("the database: {}", told(&error)))
            }
            Some(_) => Self::Failed(format!("the database: {}", told(&error))),
            // Without a code the server said nothing: the connection is gone. What cannot be sent or read is a mistake
            // of ours, and no server is to blame for it.
            None if error.is_closed() || is_of_the_network(&error) => {
                Self::Unavailable(format!("the database: {}", told(&error)))
            }
            None => Self::Failed(format!("the database: {}", told(&error))),
        }
    }
}

/// The server stops, starts or has no room: codes that say nothing about the statement.
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

impl Trouble {
    /// Nothing was written, and the same work may succeed when it is done again.
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

/// How often a transaction was replayed.
#[derive(Debug, Default)]
pub(super) struct Tries(u32);

impl Tries {
    /// Commits what worked and takes the rest back. `None`: to be done again.
    pub(super) async fn end<T>(
        &mut self,
        transaction: Transaction<'_>,
        worked: Result<T, Trouble>,
    ) -> Option<Result<T, StoreError>> {
        let outcome = match worked {
            Ok(value) => transaction.commit().await.map(|()| value).map_err(Trouble::from),
            Err(trouble) => {
                // Its own end would be told to nobody; a connection that cannot even do this is closed.
                drop(transaction);
                Err(trouble)
            }
        };
        match outcome {
            Err(trouble) if self.again(&trouble).await => None,
            outcome => Some(outcome.map_err(StoreError::from)),
        }
    }

    /// Is it to be done again? Waits a moment before it says yes.
    pub(super) async fn again(&mut self, trouble: &Trouble) -> bool {
        if !trouble.lost_a_race() || self.0 >= MOST_TRIES {
            return false;
        }
        self.0 += 1;
        tokio::time::sleep(Duration::from_millis(1 << self.0.min(6))).await;
        true
    }
}

/// Runs the block inside a transaction: `transact!(database, transaction => { …; Ok(value) })`. A macro, because a future
/// that borrows both the transaction and what is around it cannot be handed to a function and still go between threads.
macro_rules! transact {
    ($database:expr, $transaction:ident => $work:block) => {{
        let mut tries = $crate::postgres::transaction::Tries::default();
        loop {
            let mut client = $database.client().await?;
            let $transaction = client.transaction().await?;
            let worked: Result<_, $crate::postgres::transaction::Trouble> = async { $work }.await;
            if let Some(outcome) = tries.end($transaction, worked).await {
                break outcome;
            }
        }
    }};
}

pub(super) use transact;
