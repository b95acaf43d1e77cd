use std::sync::Arc;

use async_trait::async_trait;
use onyx_types::{
    AgentId, Artifact, DraftId, DraftState, Hash, Origin, PersonId, Plan, RunId, SessionId,
    SessionKey, Taint, Timestamp, ToolUseId,
};
use serde_json::Value;

use crate::{AuditEntry, StoreError, WorkLife};

/// A change that an agent proposed, and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub id: DraftId,
    pub key: SessionKey,
    /// The agent that proposed the change.
    pub agent: AgentId,
    pub run: RunId,
    pub call: ToolUseId,
    /// What the model asked for; `None` where several of its calls were combined.
    pub input: Option<Value>,
    /// The taint of the run when it proposed the change.
    pub taint: Taint,
    pub plan: Plan,
    /// The hash of the plan, the session and the run: exactly what will happen, for whom, and from
    /// which run.
    pub hash: Hash,
    pub state: DraftState,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub decided: Option<DraftDecision>,
    pub reason: Option<String>,
    pub output: Option<DraftOutput>,
    pub superseded_by: Option<DraftId>,
    /// Whether the session's log contains the decision already.
    pub delivered: bool,
}

/// What the approved call said.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftOutput {
    /// The words for the model.
    pub text: String,
    /// Where the content came from.
    pub origin: Origin,
    /// Where the whole is kept, if it was too long for the model.
    pub artifact: Option<Artifact>,
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

    /// Whether the plan, the session and the run still match the hash.
    pub fn is_intact(&self) -> bool {
        Self::hash_of(&self.plan, &self.key, self.run) == self.hash
    }

    pub fn output_text(&self) -> Option<&str> {
        self.output.as_ref().map(|output| output.text.as_str())
    }

    /// Where the content of the output came from; a draft without one holds only a person's words.
    pub fn origin(&self) -> Origin {
        self.output.as_ref().map_or(Origin::Person, |output| output.origin)
    }

    /// The name of the lease, among all gateways, under which a draft is applied or settled.
    pub fn lease_name(id: DraftId) -> String {
        format!("draft {id}")
    }

    pub fn touches(&self, plan: &Plan) -> bool {
        self.plan.targets.iter().any(|own| plan.target(&own.target).is_some())
    }
}

/// Which drafts a listing contains. Listings are newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftFilter {
    pub state: Option<DraftState>,
    pub session: Option<SessionId>,
    /// Only drafts that were made before this one.
    pub before: Option<DraftId>,
    /// The most drafts to list; 0 means the store's own page size.
    pub limit: u32,
}

/// A step of a draft from one state to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftMove {
    /// The draft moves only if it is in this state and has this hash.
    pub from: DraftState,
    pub hash: Hash,
    pub to: DraftState,
    pub change: DraftChange,
}

/// Fields that change together with the state; `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftChange {
    pub decided: Option<DraftDecision>,
    pub reason: Option<String>,
    pub output: Option<DraftOutput>,
    /// What would happen now, where that differs from what was shown to the person.
    pub plan: Option<Plan>,
}

impl Draft {
    /// Returns the draft as it is after a move. Stores use this to write the new row.
    #[must_use]
    pub fn moved(mut self, step: &DraftMove) -> Self {
        let DraftChange { decided, reason, output, plan } = step.change.clone();
        self.state = step.to;
        self.decided = decided.or(self.decided);
        self.reason = reason.or(self.reason);
        self.output = output.or(self.output);
        if let Some(plan) = plan {
            self.hash = Self::hash_of(&plan, &self.key, self.run);
            self.plan = plan;
        }
        self
    }
}

/// The condition under which work that another gateway may take over changes drafts. A person's
/// decision has none: it is compared with the draft's state, and any gateway may write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DraftCondition {
    /// The life in which the work began is not over.
    Alive(WorkLife),
    /// Nobody has taken the draft's lease from the gateway that held it in this life. This is for work
    /// that did not begin: its gateway knows that, even after its life, and one that takes the draft
    /// over could only say that the outcome is not known.
    NotTakenOver(WorkLife),
}

/// The ledger of drafts. Every change of a draft's state is one transaction with its row in the
/// audit chain.
#[async_trait]
pub trait Drafts: Send + Sync {
    /// Returns the same drafts, changed only while the condition holds; otherwise a change fails with
    /// `LeaseLost` and nothing is written. `None`: no other process works on these drafts.
    fn under(&self, _condition: DraftCondition) -> Option<Arc<dyn Drafts>> {
        None
    }

    /// Adds a pending draft and supersedes the drafts in `replaces`. `Conflict` when these are not
    /// exactly the session's open drafts that share a target with it.
    async fn put_draft(
        &self,
        draft: Draft,
        replaces: &[DraftId],
        audit: AuditEntry,
    ) -> Result<(), StoreError>;

    async fn draft(&self, person: &PersonId, id: DraftId) -> Result<Option<Draft>, StoreError>;

    /// Lists a person's drafts, newest first.
    async fn drafts(
        &self,
        person: &PersonId,
        filter: &DraftFilter,
    ) -> Result<Vec<Draft>, StoreError>;

    /// Lists the drafts of a session that a person can still decide, oldest first.
    async fn open_drafts(&self, key: &SessionKey) -> Result<Vec<Draft>, StoreError>;

    /// Moves a draft to another state. `Conflict` when the draft is not in the state where the move
    /// begins, so that only one of several simultaneous moves happens. Returns the draft as it is
    /// now.
    async fn move_draft(
        &self,
        person: &PersonId,
        id: DraftId,
        step: DraftMove,
        audit: AuditEntry,
    ) -> Result<Draft, StoreError>;

    /// Lists all people's drafts that are being applied, and undecided ones that have expired by
    /// now.
    async fn unsettled_drafts(&self, now: Timestamp) -> Result<Vec<Draft>, StoreError>;

    /// Lists decided drafts whose decision is not in the session's log yet, in the order of the
    /// decisions.
    async fn undelivered_drafts(&self, key: &SessionKey) -> Result<Vec<Draft>, StoreError>;

    async fn deliver_drafts(&self, key: &SessionKey, ids: &[DraftId]) -> Result<(), StoreError>;
}
