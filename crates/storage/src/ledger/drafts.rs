use async_trait::async_trait;
use onyx_types::{
    AgentId, DraftId, DraftState, Hash, Origin, PersonId, Plan, RunId, SessionId, SessionKey,
    Taint, Timestamp, ToolUseId,
};
use serde_json::Value;

use crate::{AuditEntry, StoreError};

/// A change that an agent proposed, and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub id: DraftId,
    pub key: SessionKey,
    /// Who proposed it.
    pub agent: AgentId,
    pub run: RunId,
    pub call: ToolUseId,
    /// What the model asked for; none where several of its calls were combined.
    pub input: Option<Value>,
    /// The taint of the run when it proposed this.
    pub taint: Taint,
    pub plan: Plan,
    /// The hash covers exactly what will happen, for whom, from which run.
    pub hash: Hash,
    pub state: DraftState,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub decided: Option<DraftDecision>,
    pub reason: Option<String>,
    /// What came of it, in words for the model.
    pub output: Option<String>,
    /// Where the output's content came from.
    pub origin: Origin,
    pub superseded_by: Option<DraftId>,
    /// The session's log tells of the decision.
    pub delivered: bool,
}

/// Who approved or rejected a draft, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftDecision {
    pub by: PersonId,
    pub at: Timestamp,
}

impl Draft {
    pub fn hash_of(plan: &Plan, key: &SessionKey, run: RunId) -> Hash {
        let (session, run) = (key.session.to_string(), run.to_string());
        Hash::of_parts([
            plan.hash().as_bytes().as_slice(),
            key.person.as_str().as_bytes(),
            session.as_bytes(),
            run.as_bytes(),
        ])
    }

    /// Is what will happen still what the hash was made over?
    pub fn is_intact(&self) -> bool {
        Self::hash_of(&self.plan, &self.key, self.run) == self.hash
    }

    pub fn touches(&self, plan: &Plan) -> bool {
        self.plan.targets.iter().any(|own| plan.target(&own.target).is_some())
    }
}

/// Which drafts are listed, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftFilter {
    pub state: Option<DraftState>,
    pub session: Option<SessionId>,
    /// Only drafts made before this one.
    pub before: Option<DraftId>,
    /// 0: a page of the store's own size.
    pub limit: u32,
}

/// The move of a draft from one state to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftMove {
    /// The draft moves only from this state, and only while its hash is this one.
    pub from: DraftState,
    pub hash: Hash,
    pub to: DraftState,
    pub change: DraftChange,
}

/// Fields that change with the state; `None` leaves one as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftChange {
    pub decided: Option<DraftDecision>,
    pub reason: Option<String>,
    pub output: Option<(String, Origin)>,
    /// What would happen now, where it is no longer what was shown.
    pub plan: Option<Plan>,
}

impl Draft {
    /// The row after a move; for stores.
    #[must_use]
    pub fn moved(mut self, step: &DraftMove) -> Self {
        let DraftChange { decided, reason, output, plan } = step.change.clone();
        self.state = step.to;
        self.decided = decided.or(self.decided);
        self.reason = reason.or(self.reason);
        if let Some((output, origin)) = output {
            (self.output, self.origin) = (Some(output), origin);
        }
        if let Some(plan) = plan {
            self.hash = Self::hash_of(&plan, &self.key, self.run);
            self.plan = plan;
        }
        self
    }
}

/// The ledger of drafts. Every change of a state is one transaction with its row of the audit
/// chain.
#[async_trait]
pub trait Drafts: Send + Sync {
    /// Adds a pending draft and supersedes `replaces`. `Conflict` when these are not exactly the
    /// session's open drafts that have a target in common with it.
    async fn put_draft(
        &self,
        draft: Draft,
        replaces: &[DraftId],
        audit: AuditEntry,
    ) -> Result<(), StoreError>;

    async fn draft(&self, person: &PersonId, id: DraftId) -> Result<Option<Draft>, StoreError>;

    /// Newest first.
    async fn drafts(
        &self,
        person: &PersonId,
        filter: &DraftFilter,
    ) -> Result<Vec<Draft>, StoreError>;

    /// Those of a session that a person can still decide, oldest first.
    async fn open_drafts(&self, key: &SessionKey) -> Result<Vec<Draft>, StoreError>;

    /// `Conflict` when the draft is no longer where the move begins; if several moves come at once,
    /// one happens. Returns the row as it is now.
    async fn move_draft(
        &self,
        person: &PersonId,
        id: DraftId,
        step: DraftMove,
        audit: AuditEntry,
    ) -> Result<Draft, StoreError>;

    /// Everybody's drafts that are being applied, and those that have run out by now.
    async fn unsettled_drafts(&self, now: Timestamp) -> Result<Vec<Draft>, StoreError>;

    /// Decided drafts of which the session's log does not tell yet, in the order of the decisions.
    async fn undelivered_drafts(&self, key: &SessionKey) -> Result<Vec<Draft>, StoreError>;

    async fn deliver_drafts(&self, key: &SessionKey, ids: &[DraftId]) -> Result<(), StoreError>;
}
