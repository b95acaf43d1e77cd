//! Drafts: what agents propose and people decide, how an approved draft is applied, how drafts that
//! a crash left behind are settled, and how a run's changes are undone.
//!
//! Surfaces come in, and the services settle drafts now and then. Whether a tool needs a person is
//! decided in the tools crate, and how a run waits for a decision in `step` and `drive`; neither
//! happens here.

mod leases;
mod undo;

use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{Draft, DraftFilter, Drafts, Files, StoreError};
use onyx_tools::{Approval, GrantedSites, NotApproved, ToolCx, Toolbox};
use onyx_types::{
    Approver, ApproverKind, Clock, DraftId, DraftState, ErrorCode, Fault, Hash, PersonId,
};

use crate::agents::CurrentRoster;
use crate::drive::tool_context;
use crate::notices::{NoticeKind, Notifier};
use crate::runs::{LiveRuns, RunContact, Runs};
use leases::DraftLease;

pub(crate) use leases::ChosenDraftLeases;
pub use leases::DraftLeases;
pub use undo::{RunChanges, Undo};

/// How long an approval waits for the draft's lease, and how often it looks. A gateway that was lost
/// while it held the lease has lost it by then.
const LEASE_PATIENCE: Duration = Duration::from_secs(25);
const LEASE_LOOKS: Duration = Duration::from_millis(100);

/// How far an approval goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalScope {
    #[default]
    Once,
    /// The same tool may reach the same host for the rest of the run.
    Run,
}

/// What a person may add to their approval.
#[derive(Clone, Debug, Default)]
pub struct ApprovalOptions {
    pub reason: Option<String>,
    /// The hash of the draft as the person saw it.
    pub seen: Option<Hash>,
    pub scope: ApprovalScope,
}

/// The drafts of people, and their decisions. Cheap to clone.
#[derive(Clone)]
pub struct Approvals {
    shared: Arc<ApprovalsCore>,
}

pub(crate) struct ApprovalsCore {
    pub(crate) drafts: Arc<dyn Drafts>,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) roster: Arc<CurrentRoster>,
    pub(crate) notices: Arc<Notifier>,
    pub(crate) live: Arc<LiveRuns>,
    pub(crate) runs: Runs,
    pub(crate) leases: Arc<dyn DraftLeases>,
}

impl Approvals {
    pub(crate) fn new(shared: ApprovalsCore) -> Self {
        Self { shared: Arc::new(shared) }
    }

    pub async fn list(&self, person: &PersonId, filter: &DraftFilter) -> Result<Vec<Draft>, Fault> {
        let drafts = self.shared.drafts.drafts(person, filter).await?;
        let now = self.shared.clock.wall();
        if drafts.iter().any(|draft| draft.state.is_open() && draft.expires_at <= now) {
            self.settle().await?;
            return Ok(self.shared.drafts.drafts(person, filter).await?);
        }
        Ok(drafts)
    }

    pub async fn get(&self, person: &PersonId, id: DraftId) -> Result<Draft, Fault> {
        let draft = self.shared.drafts.draft(person, id).await?;
        let no_such = || Fault::new(ErrorCode::NotFound, format!("There is no draft {id}."));
        let draft = draft.ok_or_else(no_such)?;
        if draft.state.is_open() && draft.expires_at <= self.shared.clock.wall() {
            self.settle().await?;
            return self.shared.drafts.draft(person, id).await?.ok_or_else(no_such);
        }
        Ok(draft)
    }

    /// Applies what a person approved. Once begun, this continues whether or not the caller waits.
    pub async fn approve(
        &self,
        approver: &Approver,
        id: DraftId,
        options: ApprovalOptions,
    ) -> Result<Draft, NotApproved> {
        let draft = self.get(approver.person(), id).await.map_err(plain)?;
        if self.needs_owner(approver.kind(), &draft) {
            let fault = Fault::plain(ErrorCode::OwnerRequired);
            return Err(NotApproved { fault, draft: Some(Box::new(draft)) });
        }
        self.approve_draft(draft, approver.person(), options).await
    }

    /// Approves as owner what a member may not approve. Drafts that the member may decide are
    /// private to the member, so they are not found here.
    pub async fn approve_for_member(
        &self,
        owner: &Approver,
        member: &PersonId,
        id: DraftId,
        options: ApprovalOptions,
    ) -> Result<Draft, NotApproved> {
        let draft = self.of_member(member, id).await.map_err(plain)?;
        self.approve_draft(draft, owner.person(), options).await
    }

    /// Rejects as owner a draft that the member may not decide.
    pub async fn reject_for_member(
        &self,
        owner: &PersonId,
        member: &PersonId,
        id: DraftId,
        reason: Option<String>,
    ) -> Result<Draft, NotApproved> {
        let draft = self.of_member(member, id).await.map_err(plain)?;
        self.reject_draft(draft, owner, reason).await
    }

    /// Whether only the owner may approve this draft.
    pub fn needs_owner(&self, kind: ApproverKind, draft: &Draft) -> bool {
        !self.shared.roster.get().limits().may_approve(kind, &draft.plan)
    }

    /// A member's draft that waits for the owner.
    async fn of_member(&self, member: &PersonId, id: DraftId) -> Result<Draft, Fault> {
        let draft = self.get(member, id).await?;
        if self.needs_owner(ApproverKind::Member, &draft) {
            return Ok(draft);
        }
        Err(Fault::new(ErrorCode::NotFound, format!("There is no draft {id}.")))
    }

    async fn approve_draft(
        &self,
        draft: Draft,
        person: &PersonId,
        options: ApprovalOptions,
    ) -> Result<Draft, NotApproved> {
        if options.scope == ApprovalScope::Run && !GrantedSites::default().allow(&draft.plan) {
            let message = "scope: only a call that reaches a host can be allowed for the whole run";
            return Err(plain(Fault::new(ErrorCode::InvalidRequest, message)));
        }
        let (approvals, person) = (self.clone(), person.clone());
        let work = tokio::spawn(async move { approvals.apply(draft, &person, options).await });
        work.await.unwrap_or_else(|_| Err(plain(Fault::plain(ErrorCode::Internal))))
    }

    async fn apply(
        &self,
        draft: Draft,
        person: &PersonId,
        options: ApprovalOptions,
    ) -> Result<Draft, NotApproved> {
        let (id, session) = (draft.id, draft.key.session);
        let roster = self.shared.roster.get();
        let Some(profile) = roster.acting(&draft.agent) else {
            let message = format!("The agent {} no longer exists.", draft.agent);
            return Err(plain(Fault::new(ErrorCode::ToolDenied, message)));
        };
        let whose = draft.key.person.clone();
        let ApprovalOptions { reason, seen, scope } = options;
        let lease = self.lease_to_apply(&draft).await.map_err(plain)?;
        let mut cx = self.tool_context(&draft).of_this_life();
        cx.decisions.answer.clone_from(&reason);
        let waiting = self.shared.live.on_session(&draft.key.person, session);
        let waits =
            |contact: &RunContact| contact.run == draft.run && !contact.cancel.is_cancelled();
        if let Some(waiting) = waiting.filter(waits) {
            // The output is shown in the run that waits for it, and stopping that run stops the
            // call too.
            cx.live = waiting.messages.live_output(draft.call.clone());
            cx.cancel = waiting.stop;
        }
        let approval = Approval { person: person.clone(), reason, seen };
        let done = self.shared.toolbox.approve(draft, &approval, &profile.policy, &cx).await;
        if let Ok(draft) = &done
            && scope == ApprovalScope::Run
            && draft.state == DraftState::Applied
        {
            self.allow_for_run(draft).await;
        }
        if let Some(lease) = lease {
            lease.release().await;
        }
        if let Ok(draft) = &done {
            self.tell_run(draft);
        }
        self.shared.notices.tell(&whose, session, NoticeKind::Draft(id));
        done
    }

    /// Takes the lease of a draft that is about to be applied. Without the lease, another task could
    /// take it for one that a crash left half applied, and apply it again. `None`: the holder has
    /// decided the draft, so the ledger refuses this approval.
    async fn lease_to_apply(&self, draft: &Draft) -> Result<Option<DraftLease>, Fault> {
        let clock = &self.shared.clock;
        let until = clock.now().mono + LEASE_PATIENCE;
        loop {
            let lease = DraftLease::acquire(&self.shared.leases, draft.id).await?;
            if lease.is_some() {
                return Ok(lease);
            }
            let now = self.shared.drafts.draft(&draft.key.person, draft.id).await?;
            if !now.is_some_and(|draft| draft.state.is_open()) {
                return Ok(None);
            }
            if clock.now().mono >= until {
                let message = "The draft is held by another task or gateway.";
                return Err(Fault::new(ErrorCode::Overloaded, message)
                    .with_hint("Nothing was done. Try again in a moment."));
            }
            clock.sleep(LEASE_LOOKS).await;
        }
    }

    pub async fn reject(
        &self,
        person: &PersonId,
        id: DraftId,
        reason: Option<String>,
    ) -> Result<Draft, NotApproved> {
        let draft = self.get(person, id).await.map_err(plain)?;
        self.reject_draft(draft, person, reason).await
    }

    async fn reject_draft(
        &self,
        draft: Draft,
        by: &PersonId,
        reason: Option<String>,
    ) -> Result<Draft, NotApproved> {
        let (id, whose) = (draft.id, draft.key.person.clone());
        let cx = self.tool_context(&draft);
        let rejected = self.shared.toolbox.reject(draft, by, reason, &cx).await?;
        self.tell_run(&rejected);
        self.shared.notices.tell(&whose, rejected.key.session, NoticeKind::Draft(id));
        Ok(rejected)
    }

    /// Settles drafts that a crash left half applied, and drafts that have expired.
    pub(crate) async fn settle(&self) -> Result<(), Fault> {
        let now = self.shared.clock.wall();
        for draft in self.shared.drafts.unsettled_drafts(now).await? {
            let (id, person, session) = (draft.id, draft.key.person.clone(), draft.key.session);
            match self.settle_one(draft).await {
                Ok(Some(draft)) => {
                    tracing::info!(%id, state = draft.state.as_str(), "a draft was settled");
                    self.shared.notices.tell(&person, session, NoticeKind::Draft(id));
                }
                // Another task is applying the draft or has just decided it.
                Ok(None) | Err(StoreError::Conflict | StoreError::NotFound) => {}
                Err(error) => tracing::error!(%id, %error, "a draft could not be settled"),
            }
        }
        Ok(())
    }

    /// Settles one draft. `None`: its lease is taken, or its state has changed since it was listed.
    async fn settle_one(&self, listed: Draft) -> Result<Option<Draft>, StoreError> {
        let Some(lease) = DraftLease::acquire(&self.shared.leases, listed.id).await? else {
            return Ok(None);
        };
        let settled = self.settle_held(listed).await;
        lease.release().await;
        settled
    }

    async fn settle_held(&self, listed: Draft) -> Result<Option<Draft>, StoreError> {
        // The draft is read again under the lease, because the previous holder may have finished.
        let draft = self.shared.drafts.draft(&listed.key.person, listed.id).await?;
        let Some(draft) = draft.filter(|draft| draft.state == listed.state) else {
            return Ok(None);
        };
        let cx = self.tool_context(&draft).of_this_life();
        let settled = match draft.state {
            DraftState::Applying => {
                let mut cx = cx;
                cx.decisions.answer.clone_from(&draft.reason);
                self.shared.toolbox.recover_draft(draft, &cx).await
            }
            _ => self.shared.toolbox.expire_draft(draft, &cx).await,
        };
        settled.map(Some)
    }

    /// Passes a decision that was made at another gateway to the run at work here.
    pub(crate) async fn take_decision(&self, person: &PersonId, id: DraftId) -> Result<(), Fault> {
        if let Some(draft) = self.shared.drafts.draft(person, id).await?
            && !draft.state.is_open()
            && draft.state != DraftState::Applying
        {
            self.tell_run(&draft);
        }
        Ok(())
    }

    fn tool_context(&self, draft: &Draft) -> ToolCx {
        let shared = &self.shared;
        let roster = shared.roster.get();
        let (key, agent, limits) = (&draft.key, &draft.agent, roster.limits());
        let cx = tool_context(&shared.files, &shared.clock, key, agent, draft.run, limits);
        ToolCx { taint: draft.taint, ..cx }
    }

    /// Passes the decision to the run at work on the session, which takes it with its next step.
    fn tell_run(&self, draft: &Draft) {
        let contact = self.shared.live.on_session(&draft.key.person, draft.key.session);
        if let Some(contact) = contact {
            contact.messages.decided(draft.into());
        }
    }

    /// Lets the run do the same without asking again. It happens before the draft's lease is given back,
    /// because a run at another gateway waits for that, and may then make its next call at once.
    async fn allow_for_run(&self, draft: &Draft) {
        if let Err(fault) = self.shared.runs.allow(draft).await {
            // The approved call was made; the run asks again for the next one.
            tracing::warn!(id = %draft.id, %fault, "the gateway of a run could not be told that the approval is for the whole run");
        }
    }
}

fn plain(fault: Fault) -> NotApproved {
    NotApproved { fault, draft: None }
}
