use onyx_storage::{AuditEntry, Ledger, StoreError};
use onyx_types::{RecordedTool, ToolEffect, Verdict};

use crate::{Masker, ToolCx};

/// Writes the audit rows of one call in the person's chain.
///
/// A call that only reads gets one row at its end. Any other call gets a row before it happens,
/// which says that it was allowed and started, and another with its result. After a crash only the
/// first row exists, which means that the outcome is unknown.
pub(crate) struct AuditTrail<'a> {
    pub(crate) ledger: &'a dyn Ledger,
    pub(crate) masker: &'a Masker,
    pub(crate) cx: &'a ToolCx,
    pub(crate) tool: RecordedTool,
}

/// The contents of a row about the call.
pub(crate) struct Record<'a> {
    pub(crate) effect: Option<ToolEffect>,
    pub(crate) decision: Verdict,
    pub(crate) summary: &'a str,
    pub(crate) result: String,
}

impl AuditTrail<'_> {
    /// Writes a row and returns its number in the chain.
    pub(crate) async fn write(&self, record: Record<'_>) -> Result<u64, StoreError> {
        let life = self.cx.files.life();
        self.ledger.append_audit_of(life, self.entry(&record)).await.map(|row| row.seq)
    }

    pub(crate) fn entry(&self, record: &Record<'_>) -> AuditEntry {
        AuditEntry {
            ts: self.cx.clock.wall(),
            person: self.cx.key.person.clone(),
            actor: self.cx.author().into(),
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
