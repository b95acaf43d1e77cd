//! Decides whether a gateway may write files and notes of their origin, drafts, and the audit rows of a run. Others take
//! over a gateway's work once its life is over; from then on nothing that it began is written, even if it wakes up and
//! lives again. The life also stands for the leases of sessions, drafts and jobs, because they end with it: a session's
//! own lease is longer than a life and is renewed three times in it.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Transaction;

use super::Gateway;
use crate::postgres::connect::MOST_IDLE;
use crate::postgres::query::row_if_any;
use crate::postgres::transaction::TransactionError;
use crate::{StoreError, WorkLife};

#[derive(Clone, Debug)]
pub(in crate::postgres) struct LifeWriter {
    gateway: Arc<Gateway>,
    life: WorkLife,
}

impl LifeWriter {
    pub(in crate::postgres) fn new(gateway: Arc<Gateway>) -> Self {
        Self::of(gateway, WorkLife::Current)
    }

    /// A writer for work that began in this life.
    pub(in crate::postgres) fn of(gateway: Arc<Gateway>, life: WorkLife) -> Self {
        Self { gateway, life }
    }

    pub(in crate::postgres) fn life(&self) -> WorkLife {
        self.life
    }

    /// Returns a writer for work that begins now. Work inside other work keeps the life of the outer work.
    pub(in crate::postgres) fn of_this_life(&self) -> Self {
        let life = match self.life {
            WorkLife::Current => self.gateway.incarnation().map_or(WorkLife::Over, WorkLife::Of),
            begun @ (WorkLife::Of(_) | WorkLife::Over) => begun,
        };
        Self { gateway: Arc::clone(&self.gateway), life }
    }

    /// The incarnation that may write, as far as this gateway knows without asking the database.
    pub(in crate::postgres) fn incarnation(&self) -> Result<i64, StoreError> {
        let now = self.gateway.alive()?;
        match self.life {
            WorkLife::Current => Ok(now),
            WorkLife::Of(begun) if begun == now => Ok(now),
            WorkLife::Of(_) | WorkLife::Over => Err(StoreError::LeaseLost),
        }
    }

    /// Returns the fence of a write. It must be called before the write's transaction begins.
    pub(in crate::postgres) async fn begin(&self) -> Result<LifeFence, StoreError> {
        let rest = MOST_IDLE.min(self.gateway.life() / 3);
        if self.gateway.alive_for(rest).is_err() {
            // A heartbeat is sent first, so that a late one makes no write fail.
            self.gateway.beat().await?;
        }
        Ok(LifeFence { id: self.gateway.id().to_owned(), incarnation: self.incarnation()?, rest })
    }
}

/// The condition under which a transaction may write.
#[derive(Debug)]
pub(in crate::postgres) struct LifeFence {
    id: String,
    incarnation: i64,
    /// The life that must be left when the fence is checked. The database ends a transaction in
    /// which a gateway pauses for longer than this, so what the last statement checks still holds
    /// at the commit.
    rest: Duration,
}

impl LifeFence {
    /// Checks the fence. Only the database's clock decides.
    async fn check(&self, transaction: &Transaction<'_>) -> Result<(), TransactionError> {
        let select = "SELECT 1 FROM gateways
                      WHERE id = $1 AND incarnation = $2
                        AND until > clock_timestamp()
                                    + $3::DOUBLE PRECISION * INTERVAL '1 second'";
        let rest = self.rest.as_secs_f64();
        let alive = row_if_any(transaction, select, &[&self.id, &self.incarnation, &rest]).await?;
        if alive.is_some() { Ok(()) } else { Err(StoreError::LeaseLost.into()) }
    }
}

/// Sends the last statement of a write together with the check of its fence, so that the check costs no trip.
pub(in crate::postgres) async fn last_statement<T>(
    fence: Option<&LifeFence>,
    transaction: &Transaction<'_>,
    statement: impl Future<Output = Result<T, TransactionError>>,
) -> Result<T, TransactionError> {
    let Some(fence) = fence else { return statement.await };
    let (done, alive) = tokio::join!(biased; statement, fence.check(transaction));
    let done = done?;
    alive?;
    Ok(done)
}
