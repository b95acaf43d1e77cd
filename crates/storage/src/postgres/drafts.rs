//! Drafts. A draft's row is locked while its state changes, and its person's audit chain is locked
//! while a draft is added, so that only one of several gateways decides. What a run or the holder of a
//! draft's lease changes is checked against the life in which that work began, in the same transaction.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use deadpool_postgres::{GenericClient, Transaction};
use onyx_types::{DraftId, DraftState, PersonId, SessionKey, Timestamp};

use crate::{
    AuditEntry, Draft, DraftCondition, DraftFilter, DraftMove, Drafts, StoreError, WorkLife,
};

use super::audit::AuditChains;
use super::connect::Database;
use super::convert::shown_if_any;
use super::draft_rows::{draft_row, insert, keep_artifact, plan_json};
use super::gateway::{Gateway, LifeFence, LifeWriter, MayWait, PostgresLeases, keep_owner};
use super::query::{execute, read_all, row_if_any, rows};
use super::transaction::{TransactionError, transact};

const PAGE: u32 = 50;

/// Selects drafts in the columns that `draft_row` reads.
macro_rules! select_drafts {
    ($rest:literal) => {
        concat!(
            "SELECT drafts.*, (SELECT artifact FROM draft_artifacts AS kept
                               WHERE kept.person = drafts.person AND kept.draft = drafts.draft)
             FROM drafts ",
            $rest
        )
    };
}

#[derive(Clone, Debug)]
pub(crate) struct PostgresDrafts {
    database: Database,
    audit: AuditChains,
    leases: PostgresLeases,
    gateway: Arc<Gateway>,
    /// `None`: the changes are a person's decisions.
    condition: Option<DraftCondition>,
}

/// What the transaction of a change checks.
#[derive(Debug)]
enum ChangeFence {
    Nothing,
    Life(LifeFence),
    /// This incarnation must still have the draft's lease.
    Lease(i64),
}

impl ChangeFence {
    fn life(&self) -> Option<&LifeFence> {
        match self {
            Self::Life(fence) => Some(fence),
            Self::Nothing | Self::Lease(_) => None,
        }
    }
}

impl PostgresDrafts {
    pub(crate) fn new(
        database: Database,
        audit: AuditChains,
        leases: PostgresLeases,
        gateway: Arc<Gateway>,
    ) -> Self {
        Self { database, audit, leases, gateway, condition: None }
    }

    /// Returns the fence of a change. It must be called before the change's transaction begins.
    async fn fence(&self) -> Result<ChangeFence, StoreError> {
        match self.condition {
            None | Some(DraftCondition::Alive(WorkLife::Current)) => Ok(ChangeFence::Nothing),
            Some(DraftCondition::Alive(life)) => {
                let writer = LifeWriter::of(Arc::clone(&self.gateway), life);
                writer.begin().await.map(ChangeFence::Life)
            }
            Some(DraftCondition::NotTakenOver(WorkLife::Of(begun))) => {
                Ok(ChangeFence::Lease(begun))
            }
            Some(DraftCondition::NotTakenOver(WorkLife::Current)) => {
                self.gateway.incarnation().map(ChangeFence::Lease)
            }
            Some(DraftCondition::NotTakenOver(WorkLife::Over)) => Err(StoreError::LeaseLost),
        }
    }

    /// Keeps others from taking the draft over until the transaction ends, where that is the fence.
    async fn keep_lease(
        &self,
        transaction: &Transaction<'_>,
        id: DraftId,
        fence: &ChangeFence,
    ) -> Result<(), TransactionError> {
        let ChangeFence::Lease(incarnation) = fence else { return Ok(()) };
        let name = Draft::lease_name(id);
        keep_owner(transaction, &name, self.gateway.id(), *incarnation).await
    }
}

#[async_trait]
impl Drafts for PostgresDrafts {
    fn under(&self, condition: DraftCondition) -> Option<Arc<dyn Drafts>> {
        Some(Arc::new(Self { condition: Some(condition), ..self.clone() }))
    }

    async fn put_draft(
        &self,
        draft: Draft,
        replaces: &[DraftId],
        entry: AuditEntry,
    ) -> Result<(), StoreError> {
        self.leases.came(&draft.key, MayWait::Decisions);
        let fence = self.fence().await?;
        let row = transact!(self.database, transaction => {
            // The chain is locked, so that nobody else adds a draft of this person meanwhile.
            let held = self.audit.hold(&transaction, &entry.person).await?;
            self.keep_lease(&transaction, draft.id, &fence).await?;
            put(&transaction, &draft, replaces).await?;
            self.audit.add_fenced(&transaction, held, &entry, fence.life()).await
        })?;
        self.audit.tell(&row);
        Ok(())
    }

    async fn draft(&self, person: &PersonId, id: DraftId) -> Result<Option<Draft>, StoreError> {
        let client = self.database.client().await?;
        let select = select_drafts!("WHERE person = $1 AND draft = $2");
        let found = row_if_any(&client, select, &[&person.as_str(), &id.to_string()]).await?;
        found.as_ref().map(draft_row).transpose()
    }

    /// Lists a person's drafts, newest first. Ids of drafts sort by time, so they serve as the
    /// order.
    async fn drafts(
        &self,
        person: &PersonId,
        filter: &DraftFilter,
    ) -> Result<Vec<Draft>, StoreError> {
        let limit = if filter.limit == 0 { PAGE } else { filter.limit };
        let client = self.database.client().await?;
        let found = rows(
            &client,
            select_drafts!(
                "WHERE person = $1
               AND ($2::TEXT IS NULL OR state = $2) AND ($3::TEXT IS NULL OR session = $3)
               AND ($4::TEXT IS NULL OR draft < $4) ORDER BY draft DESC LIMIT $5"
            ),
            &[
                &person.as_str(),
                &filter.state.map(DraftState::as_str),
                &filter.session.map(|session| session.to_string()),
                &filter.before.map(|draft| draft.to_string()),
                &i64::from(limit),
            ],
        )
        .await?;
        read_all(&found, draft_row)
    }

    async fn open_drafts(&self, key: &SessionKey) -> Result<Vec<Draft>, StoreError> {
        open(&self.database.client().await?, key).await
    }

    async fn move_draft(
        &self,
        person: &PersonId,
        id: DraftId,
        step: DraftMove,
        entry: AuditEntry,
    ) -> Result<Draft, StoreError> {
        let fence = self.fence().await?;
        let (moved, row) = transact!(self.database, transaction => {
            let held = self.audit.hold(&transaction, &entry.person).await?;
            self.keep_lease(&transaction, id, &fence).await?;
            let moved = advance(&transaction, person, id, &step).await?;
            let row = self.audit.add_fenced(&transaction, held, &entry, fence.life()).await?;
            Ok((moved, row))
        })?;
        self.leases.came(&moved.key, MayWait::Decisions);
        self.audit.tell(&row);
        Ok(moved)
    }

    async fn unsettled_drafts(&self, now: Timestamp) -> Result<Vec<Draft>, StoreError> {
        let client = self.database.client().await?;
        let found = rows(
            &client,
            select_drafts!(
                "WHERE state IN ('pending', 'stale', 'applying')
               AND (state = 'applying' OR expires_at <= $1) ORDER BY draft"
            ),
            &[&now.as_millis()],
        )
        .await?;
        read_all(&found, draft_row)
    }

    async fn undelivered_drafts(&self, key: &SessionKey) -> Result<Vec<Draft>, StoreError> {
        if self.leases.has_none(key, MayWait::Decisions) {
            return Ok(Vec::new());
        }
        let client = self.database.client().await?;
        let found = rows(
            &client,
            select_drafts!(
                "WHERE person = $1 AND session = $2 AND NOT delivered
               AND state IN ('applied', 'failed', 'unknown', 'rejected')
             ORDER BY decided_at NULLS FIRST, draft"
            ),
            &[&key.person.as_str(), &key.session.to_string()],
        )
        .await?;
        read_all(&found, draft_row)
    }

    async fn deliver_drafts(&self, key: &SessionKey, ids: &[DraftId]) -> Result<(), StoreError> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let client = self.database.client().await?;
        let deliver = "UPDATE drafts SET delivered = TRUE WHERE person = $1 AND draft = ANY ($2)";
        execute(&client, deliver, &[&key.person.as_str(), &ids]).await?;
        Ok(())
    }
}

async fn open(client: &impl GenericClient, key: &SessionKey) -> Result<Vec<Draft>, StoreError> {
    let found = rows(
        client,
        select_drafts!(
            "WHERE person = $1 AND session = $2
           AND state IN ('pending', 'stale') ORDER BY draft"
        ),
        &[&key.person.as_str(), &key.session.to_string()],
    )
    .await?;
    read_all(&found, draft_row)
}

async fn put(
    transaction: &Transaction<'_>,
    draft: &Draft,
    replaces: &[DraftId],
) -> Result<(), TransactionError> {
    let open = open(transaction, &draft.key).await?;
    let in_the_way: HashSet<_> =
        open.iter().filter(|other| other.touches(&draft.plan)).map(|other| other.id).collect();
    if in_the_way != replaces.iter().copied().collect() {
        return Err(StoreError::Conflict.into());
    }
    let replaced: Vec<String> = replaces.iter().map(ToString::to_string).collect();
    let superseded = execute(
        transaction,
        "UPDATE drafts SET state = 'superseded', superseded_by = $3
         WHERE person = $1 AND draft = ANY ($2) AND state IN ('pending', 'stale')",
        &[&draft.key.person.as_str(), &replaced, &draft.id.to_string()],
    )
    .await?;
    if superseded != replaced.len() as u64 {
        return Err(StoreError::Conflict.into());
    }
    insert(transaction, draft).await
}

async fn advance(
    transaction: &Transaction<'_>,
    person: &PersonId,
    id: DraftId,
    step: &DraftMove,
) -> Result<Draft, TransactionError> {
    let select = select_drafts!("WHERE person = $1 AND draft = $2 FOR UPDATE");
    let found = row_if_any(transaction, select, &[&person.as_str(), &id.to_string()]).await?;
    let draft = draft_row(&found.ok_or(StoreError::NotFound)?)?;
    if draft.state != step.from || draft.hash != step.hash {
        return Err(StoreError::Conflict.into());
    }
    let moved = draft.moved(step);
    execute(
        transaction,
        "UPDATE drafts SET state = $3, plan = $4, hash = $5, decided_at = $6, decided_by = $7,
                           reason = $8, output = $9, origin = $10
         WHERE person = $1 AND draft = $2",
        &[
            &person.as_str(),
            &id.to_string(),
            &moved.state.as_str(),
            &plan_json(&moved.plan)?,
            &moved.hash.to_string(),
            &moved.decided.as_ref().map(|decided| decided.at.as_millis()),
            &moved.decided.as_ref().map(|decided| decided.by.to_string()),
            &shown_if_any(moved.reason.as_deref()),
            &shown_if_any(moved.output_text()),
            &moved.origin().as_str(),
        ],
    )
    .await?;
    keep_artifact(transaction, &moved).await?;
    Ok(moved)
}
