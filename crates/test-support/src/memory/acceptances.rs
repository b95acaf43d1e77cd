use async_trait::async_trait;
use onyx_storage::{Acceptance, AcceptanceKind, Acceptances, AuditEntry, StoreError};
use onyx_types::PersonId;

use super::Op;
use super::ledger::MemoryLedger;

#[async_trait]
impl Acceptances for MemoryLedger {
    async fn accepted(
        &self,
        person: &PersonId,
        kind: AcceptanceKind,
    ) -> Result<Vec<Acceptance>, StoreError> {
        let of = |row: &&Acceptance| row.person == *person && row.kind == kind;
        self.with(Op::ReadLedger, |books| {
            let mut rows: Vec<_> = books.acceptances.iter().filter(of).cloned().collect();
            rows.sort_by(|one, other| one.name.cmp(&other.name));
            Ok(rows)
        })
        .await
    }

    async fn accept(&self, rows: Vec<Acceptance>, audit: AuditEntry) -> Result<(), StoreError> {
        self.with(Op::Job, |books| {
            for row in rows {
                let is_it = |known: &Acceptance| {
                    (&known.person, known.kind, &known.name) == (&row.person, row.kind, &row.name)
                };
                books.acceptances.retain(|known| !is_it(known));
                books.acceptances.push(row);
            }
            books.chain(audit);
            Ok(())
        })
        .await
    }

    async fn withdraw(
        &self,
        person: &PersonId,
        kind: AcceptanceKind,
        names: Vec<String>,
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        self.with(Op::Job, |books| {
            books.acceptances.retain(|row| {
                row.person != *person || row.kind != kind || !names.contains(&row.name)
            });
            books.chain(audit);
            Ok(())
        })
        .await
    }
}
