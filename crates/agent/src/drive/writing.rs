//! Writes the turns of a run. The first batch also records the run's beginning in the ledger, the
//! last its end.

use std::sync::PoisonError;

use onyx_storage::{BeginError, BeginRun, FinalWrite, LogState, RunOutcome, StoreError};
use onyx_types::{Fault, Turn, TurnId};

use super::driver::Driver;
use super::parts::LedgerState;
use crate::step::{Batch, Input, RunSummary};

impl Driver {
    pub(super) async fn append(&mut self, batch: Batch) -> Input {
        match self.write(&batch).await {
            Ok(log) => self.session.log = log,
            Err(error) => {
                if !matches!(self.session.ledger, LedgerState::Refused(_)) {
                    tracing::error!(run = %self.run, %error, "turns could not be written");
                }
                return Input::StoreFailed(Fault::from(error));
            }
        }
        self.outlet.live_text.written(&batch.turns);
        self.clear_inbox(&batch.from_inbox).await;
        if !batch.decided.is_empty() {
            let key = &self.session.lease.key;
            let delivered = self.services.drafts.deliver_drafts(key, &batch.decided).await;
            if let Err(error) = delivered {
                // This loses nothing: the log is checked before a decision is delivered again.
                tracing::warn!(%error, "decisions in the log could not be marked as delivered");
            }
        }
        Input::Appended(batch)
    }

    /// Makes turns durable. The first batch is written with the row of the run, and the last with
    /// the run's end if nothing else has to be done before that. Returns the state of the log.
    async fn write(&mut self, batch: &Batch) -> Result<Option<LogState>, StoreError> {
        match std::mem::replace(&mut self.session.ledger, LedgerState::Open) {
            LedgerState::ToBegin(row) => self.begin(*row, &batch.turns).await?,
            state => {
                self.session.ledger = state;
                if let Some(summary) = &batch.end
                    && self.ends_with(batch)
                {
                    return self.end(&batch.turns, summary).await;
                }
                self.services.turns.append(&self.session.lease, &batch.turns).await?;
            }
        }
        Ok(self.services.turns.state_now(&self.session.lease.key))
    }

    async fn begin(&mut self, row: BeginRun, turns: &[Turn]) -> Result<(), StoreError> {
        match self.services.run_log.begin(&self.session.lease, row, turns).await {
            Ok(()) => Ok(()),
            Err(BeginError::NotWritten(error)) => Err(error),
            Err(BeginError::NotBegun(error)) => {
                self.session.ledger = LedgerState::Refused(error);
                // The run never began, so its end is not announced.
                Err(StoreError::LeaseLost)
            }
        }
    }

    /// Whether only the ledger's row is left to be written once these turns are durable.
    fn ends_with(&self, batch: &Batch) -> bool {
        self.outlet.report.is_none() && batch.decided.is_empty() && batch.from_inbox.is_empty()
    }

    async fn end(
        &mut self,
        turns: &[Turn],
        summary: &RunSummary,
    ) -> Result<Option<LogState>, StoreError> {
        let noted_live = self.outlet.live_text.has_any().await;
        let outcome = self.outcome(summary);
        let last = FinalWrite { turns, outcome, noted_live };
        let log = self.services.run_log.end(&self.session.lease, last).await?;
        self.session.ledger = LedgerState::Closed;
        Ok(log)
    }

    fn outcome(&mut self, summary: &RunSummary) -> RunOutcome {
        RunOutcome {
            run: self.run,
            status: summary.status,
            ended_at: self.services.clock.wall(),
            usage: summary.usage,
            used: summary.used.clone(),
            messages_added: summary.messages.count,
            preview: summary.messages.preview.clone(),
            title: self.end_notes.title.take(),
        }
    }

    async fn clear_inbox(&mut self, delivered: &[TurnId]) {
        if delivered.is_empty() {
            return;
        }
        let key = &self.session.lease.key;
        if let Err(error) = self.services.ledger.clear_inbox(key, delivered).await {
            // The log holds them under the same ids, so they are not taken for new messages.
            tracing::warn!(run = %self.run, %error, "delivered messages could not be removed from the inbox");
        }
    }

    pub(super) async fn finish(&mut self, summary: &RunSummary) {
        if let Some(spent) = &self.end_notes.spent {
            *spent.lock().unwrap_or_else(PoisonError::into_inner) = summary.cost;
        }
        if !matches!(self.session.ledger, LedgerState::Closed) {
            self.record_end(summary).await;
        }
        if let Some(remember) = self.end_notes.remember.take() {
            remember(self.state.history());
        }
        // The index learns of the change before the end is announced, because a client may then
        // search for what was said at once.
        if let Some(index) = self.services.index.get() {
            let key = &self.session.lease.key;
            index.session_changed(key.person.clone(), key.session);
        }
        self.session.slot = None;
    }

    /// Records the run's end where it could not be written with the last turns.
    async fn record_end(&mut self, summary: &RunSummary) {
        self.keep_report(summary).await;
        let outcome = self.outcome(summary);
        if let Err(error) = self.services.ledger.end_run(outcome).await {
            // The log holds the end; the ledger is corrected when the session is next opened.
            tracing::error!(run = %self.run, %error, "the run's end could not be recorded");
        }
        self.outlet.live_text.clear(&*self.services.turns, &self.session.lease).await;
        self.release().await;
    }

    async fn keep_report(&mut self, summary: &RunSummary) {
        let Some(report) = self.outlet.report.take() else { return };
        let (files, key) = (&*self.services.files, &self.session.lease.key);
        let now = self.services.clock.wall();
        let zone = self.services.clock.zone_of(&key.person);
        if let Err(error) = report.keep(files, key, summary, &zone, now).await {
            // The run goes on without its page, because the session's log holds everything.
            tracing::error!(run = %self.run, %error, "the run's page could not be written");
        }
    }

    /// Frees the session.
    pub(super) async fn release(&mut self) {
        self.session.slot = None;
        if let Err(error) = self.services.leases.release(&self.session.lease).await {
            tracing::warn!(run = %self.run, %error, "the session's lease could not be released");
        }
    }
}
