//! The audit chains. A transaction that adds to a person's chain locks the head of the chain until
//! it ends, so a chain has one writer at a time. The same holds for the rows that are written
//! together with the audit row.

use std::collections::BTreeMap;

use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::{Actor, PersonId, RecordedTool};
use tokio_postgres::{IsolationLevel, Row};

use crate::audit::{ChainCheck, Head};
use crate::{AuditEntry, AuditRow, AuditSeal, AuditWitnesses, ChainState, StoreError};

use super::connect::Database;
use super::convert::{
    count, get, hash, integer, named_if_any, parsed, parsed_if_any, shown, shown_if_any, timestamp,
};
use super::gateway::{LifeFence, last_statement};
use super::query::{execute, read_all, row, rows};
use super::transaction::{TransactionError, transact};

/// The audit chains, and the witnesses that record every row. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct AuditChains {
    database: Database,
    witnesses: AuditWitnesses,
}

/// The right to add to one person's chain until the transaction ends.
pub(super) struct HeldChain {
    head: Head,
}

impl AuditChains {
    pub(crate) fn new(database: Database, witnesses: AuditWitnesses) -> Self {
        Self { database, witnesses }
    }

    /// Exports the rows that a crash prevented from reaching the export file.
    pub(crate) async fn export_missing(&self) -> Result<(), StoreError> {
        let Some(export) = &self.witnesses.export else { return Ok(()) };
        let known: BTreeMap<PersonId, u64> = export.newest()?;
        let client = self.database.client().await?;
        let heads = rows(&client, "SELECT person, seq FROM audit_heads", &[]).await?;
        for found in &heads {
            let person: PersonId = parsed(found, 0)?;
            let after = known.get(&person).copied().unwrap_or(0);
            for seq in after + 1..=count(found, 1)? {
                let missing = page(&client, &person, Some(seq + 1), 1).await?;
                missing.iter().for_each(|row| export.add(row));
            }
        }
        Ok(())
    }

    /// Locks the person's chain. Callers do this before they read anything that must not change
    /// meanwhile.
    pub(super) async fn hold(
        &self,
        transaction: &Transaction<'_>,
        person: &PersonId,
    ) -> Result<HeldChain, TransactionError> {
        let held = row(
            transaction,
            "INSERT INTO audit_heads (person, seq, hash) VALUES ($1, 0, $2)
             ON CONFLICT (person) DO UPDATE SET seq = audit_heads.seq
             RETURNING seq, hash",
            &[&person.as_str(), &Head::EMPTY.hash.to_string()],
        )
        .await?;
        Ok(HeldChain { head: Head { seq: count(&held, 0)?, hash: hash(&held, 1)? } })
    }

    pub(super) async fn add(
        &self,
        transaction: &Transaction<'_>,
        held: HeldChain,
        entry: &AuditEntry,
    ) -> Result<AuditRow, TransactionError> {
        self.add_fenced(transaction, held, entry, None).await
    }

    /// Adds a row as the last step of a transaction, and checks the fence of that transaction.
    pub(super) async fn add_fenced(
        &self,
        transaction: &Transaction<'_>,
        held: HeldChain,
        entry: &AuditEntry,
        fence: Option<&LifeFence>,
    ) -> Result<AuditRow, TransactionError> {
        let seal = self.witnesses.seal();
        let row = held.head.next(entry.clone(), seal);
        insert(transaction, &row, seal.map(AuditSeal::name)).await?;
        let move_head = async {
            execute(
                transaction,
                "UPDATE audit_heads SET seq = $2, hash = $3 WHERE person = $1",
                &[&row.entry.person.as_str(), &integer(row.seq), &row.hash.to_string()],
            )
            .await?;
            Ok::<(), TransactionError>(())
        };
        last_statement(fence, transaction, move_head).await?;
        Ok(row)
    }

    /// Reports a durable row to the witnesses outside.
    pub(super) fn tell(&self, row: &AuditRow) {
        self.witnesses.tell(row);
    }

    /// Appends a row. With a fence, the row is written only if the life that it names is not over.
    pub(super) async fn append(
        &self,
        entry: AuditEntry,
        fence: Option<&LifeFence>,
    ) -> Result<AuditRow, StoreError> {
        let row = transact!(self.database, transaction => {
            let held = self.hold(&transaction, &entry.person).await?;
            self.add_fenced(&transaction, held, &entry, fence).await
        })?;
        self.tell(&row);
        Ok(row)
    }

    pub(super) async fn page(
        &self,
        person: &PersonId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<AuditRow>, StoreError> {
        page(&self.database.client().await?, person, before, limit).await
    }

    /// Walks the chain from its start. It counts as broken at the first row that is missing,
    /// changed or does not belong to it.
    pub(super) async fn verify(&self, person: &PersonId) -> Result<ChainState, StoreError> {
        let seal = self.witnesses.seal();
        // The sealed head is read before the snapshot is taken, so that every row the head covers
        // is in the snapshot.
        let mut check = ChainCheck::new(seal, seal.and_then(|seal| seal.head(person)));
        let mut client = self.database.client().await?;
        // One read transaction gives a consistent view of both tables while others write.
        let view = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
        let view = view.read_only(true).start().await?;
        let mut after: i64 = 0;
        loop {
            let page = rows(
                &view,
                "SELECT person, seq, ts, actor_kind, actor, agent, session, run, tool, effect,
                        decision, diff_summary, result, previous, hash, key
                 FROM audit WHERE person = $1 AND seq > $2 ORDER BY seq LIMIT 1000",
                &[&person.as_str(), &after],
            )
            .await?;
            let Some(last) = page.last() else { break };
            after = get(last, 1)?;
            for found in &page {
                match audit_row(found) {
                    Ok(row) if check.accepts(&row, get(found, 15)?) => {}
                    Ok(_) | Err(_) => return Ok(check.broken()),
                }
            }
        }
        let head = "SELECT seq, hash FROM audit_heads WHERE person = $1";
        let head = match rows(&view, head, &[&person.as_str()]).await?.first() {
            Some(found) => Head { seq: count(found, 0)?, hash: hash(found, 1)? },
            None => Head::EMPTY,
        };
        Ok(check.state(head))
    }
}

async fn page(
    client: &impl GenericClient,
    person: &PersonId,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<AuditRow>, StoreError> {
    let found = rows(
        client,
        "SELECT person, seq, ts, actor_kind, actor, agent, session, run, tool, effect, decision,
                diff_summary, result, previous, hash
         FROM audit WHERE person = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3",
        &[&person.as_str(), &before.map_or(i64::MAX, integer), &i64::from(limit)],
    )
    .await?;
    read_all(&found, audit_row)
}

async fn insert(
    transaction: &Transaction<'_>,
    row: &AuditRow,
    key: Option<&str>,
) -> Result<(), TransactionError> {
    let entry = &row.entry;
    execute(
        transaction,
        "INSERT INTO audit (person, seq, ts, actor_kind, actor, agent, session, run, tool, effect,
                            decision, diff_summary, result, previous, hash, key)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        &[
            &entry.person.as_str(),
            &integer(row.seq),
            &entry.ts.as_millis(),
            &shown(entry.actor.kind()),
            &shown(entry.actor.name()),
            &entry.agent.as_ref().map(ToString::to_string),
            &entry.session.map(|session| session.to_string()),
            &entry.run.map(|run| run.to_string()),
            &shown_if_any(entry.tool.as_ref().map(RecordedTool::as_str)),
            &entry.effect.map(|effect| effect.as_str()),
            &entry.decision.map(|decision| decision.as_str()),
            &shown(&entry.diff_summary),
            &shown(&entry.result),
            &row.previous.to_string(),
            &row.hash.to_string(),
            &key,
        ],
    )
    .await?;
    Ok(())
}

fn audit_row(row: &Row) -> Result<AuditRow, StoreError> {
    let entry = AuditEntry {
        person: parsed(row, 0)?,
        ts: timestamp(row, 2)?,
        actor: Actor::read(get(row, 3)?, get(row, 4)?),
        agent: parsed_if_any(row, 5)?,
        session: parsed_if_any(row, 6)?,
        run: parsed_if_any(row, 7)?,
        tool: get::<Option<String>>(row, 8)?.map(RecordedTool::read),
        effect: named_if_any(row, 9)?,
        decision: named_if_any(row, 10)?,
        diff_summary: get(row, 11)?,
        result: get(row, 12)?,
    };
    Ok(AuditRow { seq: count(row, 1)?, entry, previous: hash(row, 13)?, hash: hash(row, 14)? })
}
