//! Which gateway writes files and notes of their origin, and in which of its lives. Others take over what a gateway does
//! once its life is over; from then on nothing that it began is written, even if it wakes and lives again. Its life stands
//! for the leases of sessions, drafts and jobs, because they end with it: a session's own lease is longer than a life and
//! is renewed three times in it.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Transaction;

use super::Gateway;
use crate::StoreError;
use crate::postgres::connect::MOST_IDLE;
use crate::postgres::query::row_if_any;
use crate::postgres::transaction::Trouble;

#[derive(Clone, Debug)]
pub(in crate::postgres) struct LifeWriter {
    gateway: Arc<Gateway>,
    life: WriterLife,
}

#[derive(Clone, Copy, Debug)]
enum WriterLife {
    /// The one that the gateway lives when it writes: for what nobody else takes over.
    Current,
    /// The one in which the work began.
    Of(i64),
    /// Another process had its name already when the work began.
    Over,
}

impl LifeWriter {
    pub(in crate::postgres) fn new(gateway: Arc<Gateway>) -> Self {
        Self { gateway, life: WriterLife::Current }
    }

    /// A writer for work that begins now. Work within other work keeps the life of the outer one.
    pub(in crate::postgres) fn of_this_life(&self) -> Self {
        let life = match self.life {
            WriterLife::Current => {
                self.gateway.incarnation().map_or(WriterLife::Over, WriterLife::Of)
            }
            begun @ (WriterLife::Of(_) | WriterLife::Over) => begun,
        };
        Self { gateway: Arc::clone(&self.gateway), life }
    }

    /// The incarnation that writes, as far as this gateway knows without asking.
    pub(in crate::postgres) fn incarnation(&self) -> Result<i64, StoreError> {
        let now = self.gateway.alive()?;
        match self.life {
            WriterLife::Current => Ok(now),
            WriterLife::Of(begun) if begun == now => Ok(now),
            WriterLife::Of(_) | WriterLife::Over => Err(StoreError::LeaseLost),
        }
    }

    /// To be asked before the transaction of a write.
    pub(in crate::postgres) async fn begin(&self) -> Result<LifeFence, StoreError> {
        let rest = MOST_IDLE.min(self.gateway.life() / 3);
        if self.gateway.alive_for(rest).is_err() {
            // It says first that it lives, so that a late heartbeat fails no write.
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
    /// The server ends a transaction of a gateway that pauses for longer than this: what is checked with the last
    /// statement of a transaction is true when it is committed.
    rest: Duration,
}

impl LifeFence {
    /// Only the database's clock decides.
    async fn check(&self, transaction: &Transaction<'_>) -> Result<(), Trouble> {
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
    statement: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let Some(fence) = fence else { return statement.await };
    let (done, alive) = tokio::join!(biased; statement, fence.check(transaction));
    let done = done?;
    alive?;
    Ok(done)
}
