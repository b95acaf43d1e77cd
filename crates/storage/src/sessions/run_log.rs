//! The beginning and the end of a run: its turns in the session's log and its row in the ledger
//! belong together, so stores that can write both at once do so.

use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::Turn;

use crate::{BeginRun, Lease, Leases, Ledger, LogState, RunOutcome, StoreError, TurnLog};

/// Why a run did not begin.
#[derive(Debug)]
pub enum BeginError {
    /// No run began, and the ledger has no row of it, as with an error of `Ledger::begin_run`.
    NotBegun(StoreError),
    /// The run is in the ledger but its turns are in no log. The next opening of the session closes
    /// it.
    NotWritten(StoreError),
}

/// What is written when a run ends.
#[derive(Debug)]
pub struct FinalWrite<'a> {
    pub turns: &'a [Turn],
    pub outcome: RunOutcome,
    /// Whether there are notes of streaming text. They are removed, because the log has the text
    /// now.
    pub noted_live: bool,
}

#[async_trait]
pub trait RunLog: Send + Sync {
    /// Begins a run as `Ledger::begin_run` does and appends its first turns.
    async fn begin(&self, lease: &Lease, begin: BeginRun, turns: &[Turn])
    -> Result<(), BeginError>;

    /// Appends the last turns, ends the run as `Ledger::end_run` does and releases the lease. An
    /// error means that the turns were not appended and the lease is still held. Anything else that
    /// fails is repaired when the session is next opened. Returns the state of the log after that,
    /// as `TurnLog::state_now` reports it.
    async fn end(
        &self,
        lease: &Lease,
        last: FinalWrite<'_>,
    ) -> Result<Option<LogState>, StoreError>;
}

/// Writes the log and the ledger one after the other. In a home these steps cost almost nothing,
/// and recovery handles a crash between them.
pub struct StepwiseRunLog {
    pub turns: Arc<dyn TurnLog>,
    pub ledger: Arc<dyn Ledger>,
    pub leases: Arc<dyn Leases>,
}

#[async_trait]
impl RunLog for StepwiseRunLog {
    async fn begin(
        &self,
        lease: &Lease,
        begin: BeginRun,
        turns: &[Turn],
    ) -> Result<(), BeginError> {
        self.ledger.begin_run(begin).await.map_err(BeginError::NotBegun)?;
        let written = self.turns.append(lease, turns).await;
        written.map(drop).map_err(BeginError::NotWritten)
    }

    async fn end(
        &self,
        lease: &Lease,
        last: FinalWrite<'_>,
    ) -> Result<Option<LogState>, StoreError> {
        self.turns.append(lease, last.turns).await?;
        let log = self.turns.state_now(&lease.key);
        let run = last.outcome.run;
        if let Err(error) = self.ledger.end_run(last.outcome).await {
            tracing::error!(%run, %error, "the run's end could not be recorded");
        }
        if last.noted_live
            && let Err(error) = self.turns.clear_live(lease).await
        {
            // The notes may stay: their turns are in the log, so recovery recognises them as old.
            tracing::warn!(%run, %error, "live text could not be removed");
        }
        if let Err(error) = self.leases.release(lease).await {
            tracing::warn!(%run, %error, "the session's lease could not be released");
        }
        Ok(log)
    }
}
