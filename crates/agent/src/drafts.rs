//! Drafts as people see and decide them.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use onyx_storage::{Draft, DraftFilter, StoreError};
use onyx_tools::{Approval, Granted, NotApproved, ToolCx};
use onyx_types::{
    Approver, DraftId, DraftState, ErrorCode, Fault, Hash, PersonId, SessionKey, TurnBody,
};

use crate::RunManager;
use crate::decisions::decided;
use crate::manager::AtWork;
use crate::notices::Happened;
use crate::sources::tool_cx;
use crate::step::DecidedDraft;

/// How far an approval goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalScope {
    #[default]
    Once,
    /// The same tool may reach the same host for the rest of the run.
    Run,
}

/// A person's yes.
#[derive(Clone, Debug, Default)]
pub struct Yes {
    pub reason: Option<String>,
    /// The hash of the draft as they saw it.
    pub seen: Option<Hash>,
    pub scope: ApprovalScope,
}

/// How far back a log is searched for decisions that a crash kept from being noted.
const LOOK_BACK: usize = 256;

impl RunManager {
    pub async fn drafts(
        &self,
        person: &PersonId,
        filter: &DraftFilter,
    ) -> Result<Vec<Draft>, Fault> {
        let drafts = self.inner.store.drafts.drafts(person, filter).await?;
        let now = self.inner.clock.wall();
        if drafts.iter().any(|draft| draft.state.is_open() && draft.expires_at <= now) {
            self.settle_drafts().await?;
            return Ok(self.inner.store.drafts.drafts(person, filter).await?);
        }
        Ok(drafts)
    }

    pub async fn draft(&self, person: &PersonId, id: DraftId) -> Result<Draft, Fault> {
        let draft = self.inner.store.drafts.draft(person, id).await?;
        let no_such = || Fault::new(ErrorCode::NotFound, format!("There is no draft {id}."));
        let draft = draft.ok_or_else(no_such)?;
        if draft.state.is_open() && draft.expires_at <= self.inner.clock.wall() {
            self.settle_drafts().await?;
            return self.inner.store.drafts.draft(person, id).await?.ok_or_else(no_such);
        }
        Ok(draft)
    }

    /// Applies what a person approved. Once begun it goes on, whether or not the caller waits.
    pub async fn approve_draft(
        &self,
        approver: &Approver,
        id: DraftId,
        yes: Yes,
    ) -> Result<Draft, NotApproved> {
        let person = approver.person();
        let draft = self.draft(person, id).await.map_err(plain)?;
        if yes.scope == ApprovalScope::Run && !Granted::default().allow(&draft.plan) {
            let message = "scope: only what reaches a host can be allowed for the whole run";
            return Err(plain(Fault::new(ErrorCode::InvalidRequest, message)));
        }
        let (manager, person) = (self.clone(), person.clone());
        let work = tokio::spawn(async move { manager.apply(draft, &person, yes).await });
        work.await.unwrap_or_else(|_| Err(plain(Fault::plain(ErrorCode::Internal))))
    }

    async fn apply(&self, draft: Draft, person: &PersonId, yes: Yes) -> Result<Draft, NotApproved> {
        let (id, session) = (draft.id, draft.key.session);
        let roster = self.roster();
        let Some(profile) = roster.acting(&draft.agent) else {
            let message = format!("There is no agent {} any more.", draft.agent);
            return Err(plain(Fault::new(ErrorCode::ToolDenied, message)));
        };
        let scope = yes.scope;
        let mut cx = ToolCx { answer: yes.reason.clone(), ..self.draft_cx(&draft) };
        let waiting = self.at_work(&draft.key.person, session);
        let waits = |run: &AtWork| run.run == draft.run && !run.cancel.is_cancelled();
        if let Some(waiting) = waiting.filter(waits) {
            // What it says is shown where it is waited for, and it ends with who waits.
            cx.live = waiting.live_output(draft.call.clone());
            cx.cancel = waiting.cancel;
        }
        let approval = Approval { person: person.clone(), reason: yes.reason, seen: yes.seen };
        let _held = self.hold(id);
        let done = self.inner.toolbox.approve(draft, &approval, &profile.policy, &cx).await;
        if let Ok(draft) = &done {
            if scope == ApprovalScope::Run && draft.state == DraftState::Applied {
                self.grant(draft);
            }
            self.tell_run(draft);
        }
        self.tell(person, session, Happened::Draft(id));
        done
    }

    pub async fn reject_draft(
        &self,
        person: &PersonId,
        id: DraftId,
        reason: Option<String>,
    ) -> Result<Draft, NotApproved> {
        let draft = self.draft(person, id).await.map_err(plain)?;
        let cx = self.draft_cx(&draft);
        let rejected = self.inner.toolbox.reject(draft, person, reason, &cx).await?;
        self.tell_run(&rejected);
        self.tell(person, rejected.key.session, Happened::Draft(id));
        Ok(rejected)
    }

    /// Settles what a crash left half done, and what has run out.
    pub(crate) async fn settle_drafts(&self) -> Result<(), Fault> {
        let now = self.inner.clock.wall();
        for draft in self.inner.store.drafts.unsettled_drafts(now).await? {
            if self.holds(draft.id) {
                continue;
            }
            let (id, person, session) = (draft.id, draft.key.person.clone(), draft.key.session);
            let cx = self.draft_cx(&draft);
            let settled = match draft.state {
                DraftState::Applying => {
                    let cx = ToolCx { answer: draft.reason.clone(), ..cx };
                    let _held = self.hold(id);
                    self.inner.toolbox.recover_draft(draft, &cx).await
                }
                _ => self.inner.toolbox.expire_draft(draft, &cx).await,
            };
            match settled {
                Ok(draft) => {
                    tracing::info!(%id, state = draft.state.as_str(), "a draft was settled");
                    self.tell(&person, session, Happened::Draft(id));
                }
                // Somebody decided it in this moment.
                Err(StoreError::Conflict | StoreError::NotFound) => {}
                Err(error) => tracing::error!(%id, %error, "a draft could not be settled"),
            }
        }
        Ok(())
    }

    /// Decisions that the session's log does not tell of yet.
    pub(crate) async fn untold_decisions(
        &self,
        key: &SessionKey,
    ) -> Result<Vec<DecidedDraft>, Fault> {
        let drafts = self.inner.store.drafts.undelivered_drafts(key).await?;
        if drafts.is_empty() {
            return Ok(Vec::new());
        }
        // A crash between the log and the ledger leaves it told and not noted: the log is right.
        let page = self.inner.store.turns.tail(key, None, LOOK_BACK).await?;
        let told: BTreeSet<DraftId> = page
            .turns
            .iter()
            .filter_map(|turn| match &turn.body {
                TurnBody::Decision(decision) => Some(decision.draft_id),
                _ => None,
            })
            .collect();
        let (done, open): (Vec<_>, Vec<_>) =
            drafts.iter().partition(|draft| told.contains(&draft.id));
        if !done.is_empty() {
            let done: Vec<_> = done.iter().map(|draft| draft.id).collect();
            self.inner.store.drafts.deliver_drafts(key, &done).await?;
        }
        Ok(open.into_iter().map(decided).collect())
    }

    fn draft_cx(&self, draft: &Draft) -> ToolCx {
        let limits = self.roster().limits().clone();
        let cx = tool_cx(&self.inner, &draft.key, &draft.agent, draft.run, &limits);
        ToolCx { taint: draft.taint, ..cx }
    }

    /// A run at work on the session is told at its next step.
    fn tell_run(&self, draft: &Draft) {
        if let Some(at_work) = self.at_work(&draft.key.person, draft.key.session) {
            at_work.tell_decision(decided(draft));
        }
    }

    fn grant(&self, draft: &Draft) {
        if let Some(granted) = self.granted_of(draft.run) {
            granted.allow(&draft.plan);
        }
    }

    /// While it is held, nobody takes it for left behind.
    fn hold(&self, id: DraftId) -> Held<'_> {
        self.applying().insert(id);
        Held { manager: self, id }
    }

    fn holds(&self, id: DraftId) -> bool {
        self.applying().contains(&id)
    }

    fn applying(&self) -> std::sync::MutexGuard<'_, BTreeSet<DraftId>> {
        self.inner.applying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Held<'a> {
    manager: &'a RunManager,
    id: DraftId,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.manager.applying().remove(&self.id);
    }
}

fn plain(fault: Fault) -> NotApproved {
    NotApproved { fault, draft: None }
}
