use onyx_storage::{AuditEntry, Ledger, StoreError};
use onyx_types::{ToolEffect, Verdict};

use crate::{Masker, ToolCx};

/// Writes one call's rows in the person's chain.
///
/// What only reads gets one row, after it. Anything else gets a row that says it was allowed and
/// started before it happens, and another with the result: a crash in between leaves the first,
/// which then says truly that the outcome is unknown.
pub(crate) struct AuditTrail<'a> {
    pub(crate) ledger: &'a dyn Ledger,
    pub(crate) masker: &'a Masker,
    pub(crate) cx: &'a ToolCx,
    pub(crate) tool: String,
}

/// What a row says of the call.
pub(crate) struct Record<'a> {
    pub(crate) effect: Option<ToolEffect>,
    pub(crate) decision: Verdict,
    pub(crate) summary: &'a str,
    pub(crate) result: String,
}

impl AuditTrail<'_> {
    /// The row's number in the chain.
    pub(crate) async fn write(&self, record: Record<'_>) -> Result<u64, StoreError> {
        self.ledger.append_audit(self.entry(&record)).await.map(|row| row.seq)
    }

    pub(crate) fn entry(&self, record: &Record<'_>) -> AuditEntry {
        AuditEntry {
            ts: self.cx.clock.wall(),
            person: self.cx.key.person.clone(),
            actor_kind: self.cx.author().kind().to_owned(),
            actor: self.cx.author().name().to_owned(),
            agent: Some(self.cx.agent.clone()),
            session: Some(self.cx.key.session),
            run: Some(self.cx.run),
            tool: Some(self.tool.clone()),
            effect: record.effect,
            decision: Some(record.decision),
            diff_summary: self.masker.mask(record.summary).into_owned(),
            result: self.masker.mask(&record.result).into_owned(),
        }
    }
}
