//! Approves drafts: everything that could have changed is checked again, the approval is recorded
//! before its effect, and the outcome after it.
//!
//! What a person decides is compared with the draft's state alone. What the holder of a draft's lease
//! records (outcomes and expiry) counts only in the life of the gateway in which the work began:
//! after it, another gateway settles the draft.

use onyx_storage::{
    AuditEntry, Draft, DraftChange, DraftCondition, DraftDecision, DraftMove, DraftOutput,
    StoreError,
};
use onyx_types::{
    Artifact, Author, DraftState, ErrorCode, Fault, HomePath, Origin, PersonId, Plan, PlanTarget,
    Target, ToolEffect, ToolOutcome, Verdict, Visibility,
};
use serde_json::Value;

use super::acceptance::is_acceptance;
use super::attempt::within;
use super::tool_set::{Entry, Readiness};
use super::{Toolbox, hooked, proposal};
use crate::files::{AgentFiles, current_hash};
use crate::gate::{self, Policy};
use crate::text::one_line;
use crate::{ToolCx, ToolError};

/// A person's approval.
#[derive(Clone, Debug)]
pub struct Approval {
    pub person: PersonId,
    pub reason: Option<String>,
    /// The hash that the person saw. It is required if the draft has changed since it was made.
    pub seen: Option<onyx_types::Hash>,
}

/// Why an approval did not happen, and the draft as it is now.
#[derive(Debug)]
pub struct NotApproved {
    pub fault: Fault,
    pub draft: Option<Box<Draft>>,
}

impl From<StoreError> for NotApproved {
    fn from(error: StoreError) -> Self {
        Self { fault: error.into(), draft: None }
    }
}

/// Why an open draft cannot be applied as it was shown.
struct Staleness {
    /// The plan as it would be now, if there is one.
    fresh: Option<Plan>,
    why: String,
}

impl Staleness {
    fn because(why: impl Into<String>) -> Self {
        Self { fresh: None, why: why.into() }
    }
}

struct Ending {
    state: DraftState,
    output: String,
    artifact: Option<Artifact>,
    origin: Origin,
    /// `false`: the gateway had lost its leases before the call, so the call certainly did not happen.
    has_begun: bool,
}

impl Toolbox {
    /// Approves a draft of the person's own and applies it.
    pub async fn approve(
        &self,
        draft: Draft,
        approval: &Approval,
        policy: &Policy,
        cx: &ToolCx,
    ) -> Result<Draft, NotApproved> {
        let cx = &ToolCx { live: cx.live.masked_by(&self.services().masker), ..cx.clone() };
        may_be_decided(&draft, cx)?;
        // Accepting a file is the person's own act, so it does not depend on the agent's tools.
        if !is_acceptance(&draft.plan) && !self.is_there(&draft.plan.tool, policy, cx) {
            let message = format!("{} no longer has the tool {}.", cx.agent, draft.plan.tool);
            return Err(not_approved(ErrorCode::ToolDenied, message, draft));
        }
        if let Some(staleness) = self.staleness(&draft, approval, cx).await {
            return Err(self.stale(draft, staleness, cx).await?);
        }
        let by = &Author::Person(approval.person.clone());
        let begun = self.begin(draft, approval, by, cx).await?;
        let ending = self.perform_approved(&begun, cx).await;
        if is_taken_over(&begun, &ending, cx) {
            log_taken_over(&begun);
            return Err(taken_over(begun));
        }
        let settled = match self.settle(&begun, ending, by, cx).await {
            Ok(settled) => settled,
            // With a conflict, another gateway has settled it already.
            Err(StoreError::LeaseLost | StoreError::Conflict) => return Err(taken_over(begun)),
            Err(error) => return Err(error.into()),
        };
        match settled.state {
            DraftState::Stale => {
                let message = settled.output_text().unwrap_or_default().to_owned();
                Err(not_approved(ErrorCode::DraftStale, message, settled))
            }
            _ => Ok(settled),
        }
    }

    /// Records the approval before its effect.
    async fn begin(
        &self,
        draft: Draft,
        approval: &Approval,
        by: &Author,
        cx: &ToolCx,
    ) -> Result<Draft, NotApproved> {
        let begin = DraftMove {
            from: draft.state,
            hash: draft.hash,
            to: DraftState::Applying,
            change: DraftChange {
                decided: Some(DraftDecision { by: approval.person.clone(), at: cx.clock.wall() }),
                reason: approval.reason.clone(),
                ..DraftChange::default()
            },
        };
        let audit = self.audit(&draft, by, Verdict::Allow, "approved, started", cx);
        let drafts = &self.services().drafts;
        let person = draft.key.person.clone();
        match drafts.move_draft(&person, draft.id, begin, audit).await {
            Ok(begun) => Ok(begun),
            // Somebody else has decided the draft meanwhile.
            Err(StoreError::Conflict) => {
                let now = drafts.draft(&person, draft.id).await?.unwrap_or(draft);
                Err(match may_be_decided(&now, cx) {
                    Err(refused) => refused,
                    Ok(()) => not_approved(
                        ErrorCode::DraftStale,
                        ErrorCode::DraftStale.sentence().to_owned(),
                        now,
                    ),
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Finishes a draft whose application a crash interrupted. The files on disk decide how far it
    /// got; if that cannot be known, nothing is tried again.
    pub async fn recover_draft(&self, draft: Draft, cx: &ToolCx) -> Result<Draft, StoreError> {
        let ending = match self.traces(&draft, cx).await {
            Traces::Whole => Ending::done(&draft.plan),
            Traces::Unfinished => self.perform_approved(&draft, cx).await,
            Traces::Unclear => Ending {
                state: DraftState::Unknown,
                ..Ending::failed(format!(
                    "{}: approved, but Onyx stopped while it was being done; its outcome is not \
                     known, check before repeating",
                    draft.plan.summary
                ))
            },
        };
        if is_taken_over(&draft, &ending, cx) {
            log_taken_over(&draft);
            return Err(StoreError::LeaseLost);
        }
        self.settle(&draft, ending, &Author::System, cx).await
    }

    /// Ends a draft whose time for a decision is over.
    pub async fn expire_draft(&self, draft: Draft, cx: &ToolCx) -> Result<Draft, StoreError> {
        let step = DraftMove {
            from: draft.state,
            hash: draft.hash,
            to: DraftState::Expired,
            change: DraftChange::default(),
        };
        let audit = self.audit(&draft, &Author::System, Verdict::Deny, "expired", cx);
        let drafts = self.services().drafts_under(DraftCondition::Alive(cx.files.life()));
        drafts.move_draft(&draft.key.person, draft.id, step, audit).await
    }

    pub async fn reject(
        &self,
        draft: Draft,
        by: &PersonId,
        reason: Option<String>,
        cx: &ToolCx,
    ) -> Result<Draft, NotApproved> {
        may_be_decided(&draft, cx)?;
        let step = DraftMove {
            from: draft.state,
            hash: draft.hash,
            to: DraftState::Rejected,
            change: DraftChange {
                decided: Some(DraftDecision { by: by.clone(), at: cx.clock.wall() }),
                reason,
                ..DraftChange::default()
            },
        };
        let audit = self.audit(&draft, &Author::Person(by.clone()), Verdict::Deny, "rejected", cx);
        let drafts = &self.services().drafts;
        match drafts.move_draft(&draft.key.person, draft.id, step, audit).await {
            Ok(rejected) => Ok(rejected),
            Err(StoreError::Conflict) => {
                let now = drafts.draft(&draft.key.person, draft.id).await?.unwrap_or(draft);
                Err(not_approved(
                    ErrorCode::DraftDecided,
                    ErrorCode::DraftDecided.sentence().to_owned(),
                    now,
                ))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the agent still has the tool and the tool can work for the person.
    fn is_there(&self, tool: &str, policy: &Policy, cx: &ToolCx) -> bool {
        let tools = self.tools();
        let policy = tools.resolved(policy);
        let is_its_own = tools.visibility(tool, &policy, &cx.agent) == Visibility::Offered;
        let is_ready = |entry: &Entry| match tools.readiness(entry, &cx.key.person) {
            Readiness::Ready => true,
            Readiness::Lacks(_) => false,
        };
        is_its_own && tools.entry(tool).is_some_and(|entry| is_ready(entry))
    }

    async fn staleness(
        &self,
        draft: &Draft,
        approval: &Approval,
        cx: &ToolCx,
    ) -> Option<Staleness> {
        if !draft.is_intact() {
            return Some(Staleness::because("the draft itself was changed"));
        }
        match approval.seen {
            Some(seen) if seen != draft.hash => {
                return Some(Staleness::because("it is not what the person saw"));
            }
            None if draft.state == DraftState::Stale => {
                return Some(Staleness::because("its preview is a fresh one, to be looked at"));
            }
            Some(_) | None => {}
        }
        match changed_target(&draft.plan, cx).await {
            Ok(None) => self.planned_otherwise(draft, cx).await,
            Ok(Some(name)) => Some(self.refreshed(draft, format!("{name} has changed"), cx).await),
            Err(error) => Some(Staleness::because(error.to_string())),
        }
    }

    /// Checks what a plan builds on besides the person's files, for example everything that a
    /// command can execute. Only the tool itself can look at that again.
    async fn planned_otherwise(&self, draft: &Draft, cx: &ToolCx) -> Option<Staleness> {
        let builds_on_more =
            |own: &&PlanTarget| own.base.is_some() && held_file(&own.target, cx).is_none();
        let own = draft.plan.targets.iter().find(builds_on_more)?;
        let why = format!("what `{}` builds on has changed", own.target);
        let staleness = self.refreshed(draft, why, cx).await;
        let is_same = |plan: &Plan| draft.plan.has_targets(&plan.targets);
        if staleness.fresh.as_ref().is_some_and(is_same) { None } else { Some(staleness) }
    }

    /// Plans the call again with the present files. A combined draft has no call, so its changes
    /// are kept and rebased.
    async fn refreshed(&self, draft: &Draft, why: String, cx: &ToolCx) -> Staleness {
        let tools = self.tools();
        let planned = match (&draft.input, tools.entry(&draft.plan.tool)) {
            (Some(input), Some(entry)) => planned_anew(entry, input, cx).await,
            (None, _) => proposal::rebase(&draft.plan, cx).await,
            (Some(_), None) => Err(ToolError::NotFound(format!("tool {}", draft.plan.tool))),
        };
        match planned {
            Ok(plan) => Staleness { fresh: Some(plan), why },
            Err(error) => Staleness::because(format!("{why}, and {error}")),
        }
    }

    async fn stale(
        &self,
        draft: Draft,
        Staleness { fresh, why }: Staleness,
        cx: &ToolCx,
    ) -> Result<NotApproved, NotApproved> {
        let plan = match fresh.map(|plan| proposal::shown_whole(plan, self.services(), cx)) {
            Some(Ok(plan)) => Some(plan),
            Some(Err(_)) | None => None,
        };
        let step = DraftMove {
            from: draft.state,
            hash: draft.hash,
            to: DraftState::Stale,
            change: DraftChange { plan, ..DraftChange::default() },
        };
        let audit =
            self.audit(&draft, &Author::System, Verdict::Deny, &format!("stale: {why}"), cx);
        let drafts = &self.services().drafts;
        let moved = drafts.move_draft(&draft.key.person, draft.id, step, audit).await;
        let now = match moved {
            Ok(stale) => stale,
            Err(StoreError::Conflict) => {
                drafts.draft(&draft.key.person, draft.id).await?.unwrap_or(draft)
            }
            Err(error) => return Err(error.into()),
        };
        may_be_decided(&now, cx)?;
        Ok(not_approved(ErrorCode::DraftStale, format!("Not applied: {why}."), now))
    }

    async fn perform_approved(&self, draft: &Draft, cx: &ToolCx) -> Ending {
        let trusted = match self.trusted_targets(&draft.plan, cx).await {
            Ok(trusted) => trusted,
            Err(error) => return Ending::failed(error.to_string()),
        };
        let mut ending = if is_acceptance(&draft.plan) && gate::approved(draft).is_some() {
            Ending::done(&draft.plan)
        } else {
            self.invoke_approved(draft, cx).await
        };
        if ending.state == DraftState::Applied
            && let Err(error) = self.accept_approved(&draft.plan, &trusted, cx).await
        {
            ending = Ending::failed(error.to_string());
        }
        ending
    }

    async fn invoke_approved(&self, draft: &Draft, cx: &ToolCx) -> Ending {
        let tools = self.tools();
        let (Some(plan), Some(entry)) = (gate::approved(draft), tools.entry(&draft.plan.tool))
        else {
            return Ending::failed("it is not what was approved, or its tool is gone".to_owned());
        };
        // The hooks are asked again, because the call happens only now.
        if let Some(veto) = hooked::before(self, &draft.plan, cx).await.veto {
            let ToolOutcome { output, origin, .. } = hooked::vetoed(&veto);
            return Ending { origin, ..Ending::failed(output) };
        }
        let limit = entry.tool.spec().timeout;
        let read = match entry.tool.read(draft.plan.arguments.clone()) {
            Ok(read) => read,
            Err(error) => return Ending::of_error(&error),
        };
        if let Err(lost) = cx.check_life() {
            return Ending { has_begun: false, ..Ending::of_error(&lost) };
        }
        let invoked = within(limit, cx, read.invoke(plan, cx)).await;
        cx.live.finish();
        match invoked {
            Ok(outcome) => {
                let outcome = hooked::after(self, Some(&draft.plan), cx, outcome).await;
                let outcome = self.finished(outcome, cx).await;
                let ToolOutcome { output, is_error, origin, artifact, .. } = outcome;
                let state = if is_error { DraftState::Failed } else { DraftState::Applied };
                Ending { state, output, artifact, origin, has_begun: true }
            }
            Err(error) if error.leaves_doubt() => {
                let state = match self.traces(draft, cx).await {
                    Traces::Whole => DraftState::Applied,
                    Traces::Unfinished | Traces::Unclear => DraftState::Unknown,
                };
                let output = format!("{error}; check before repeating");
                Ending { state, output, ..Ending::of_error(&error) }
            }
            // The file changed at this moment, so the person must look again.
            Err(error @ ToolError::Conflict(_)) => {
                Ending { state: DraftState::Stale, ..Ending::failed(error.to_string()) }
            }
            Err(error) => Ending::of_error(&error),
        }
    }

    /// Records the outcome, unless another gateway may have taken the draft over. A call that did not
    /// begin is recorded as long as nobody has: the others could not know it.
    async fn settle(
        &self,
        draft: &Draft,
        ending: Ending,
        by: &Author,
        cx: &ToolCx,
    ) -> Result<Draft, StoreError> {
        let Ending { state, output, artifact, origin, has_begun } = ending;
        let line = format!("{}: {}", state.as_str(), one_line(&output));
        let audit = self.audit(draft, by, Verdict::Allow, &line, cx);
        let step = DraftMove {
            from: draft.state,
            hash: draft.hash,
            to: state,
            change: DraftChange {
                output: Some(DraftOutput { text: output, origin, artifact }),
                ..DraftChange::default()
            },
        };
        let life = cx.files.life();
        let condition = if has_begun {
            DraftCondition::Alive(life)
        } else {
            DraftCondition::NotTakenOver(life)
        };
        let drafts = self.services().drafts_under(condition);
        let moved = drafts.move_draft(&draft.key.person, draft.id, step, audit).await;
        if let Err(StoreError::LeaseLost) = &moved {
            log_taken_over(draft);
        }
        moved
    }

    async fn traces(&self, draft: &Draft, cx: &ToolCx) -> Traces {
        let plan = &draft.plan;
        if plan.strictest() == ToolEffect::Read {
            return Traces::Unfinished;
        }
        if leaves_no_traces(plan) {
            return Traces::Unclear;
        }
        let mut traces = Traces::Whole;
        for change in &plan.changes {
            let base = plan.base_of(&change.target);
            match current_hash(cx, &change.target).await {
                Ok(hash) if hash == change.after_hash() => {}
                Ok(hash) if hash == base => traces = Traces::Unfinished,
                Ok(_) | Err(_) => return Traces::Unclear,
            }
        }
        traces
    }

    fn audit(
        &self,
        draft: &Draft,
        by: &Author,
        decision: Verdict,
        result: &str,
        cx: &ToolCx,
    ) -> AuditEntry {
        let masker = &self.services().masker;
        AuditEntry {
            ts: cx.clock.wall(),
            person: draft.key.person.clone(),
            actor: by.clone().into(),
            agent: Some(draft.agent.clone()),
            session: Some(draft.key.session),
            run: Some(draft.run),
            tool: Some(draft.plan.tool.clone().into()),
            effect: Some(draft.plan.strictest()),
            decision: Some(decision),
            diff_summary: masker.mask(&draft.plan.summary).into_owned(),
            result: format!("draft {}: {}", draft.id, masker.mask(result)),
        }
    }
}

/// Whether another gateway takes over a draft that this one can no longer finish. It does for
/// changes of files, perhaps already now. Of other plans it would only record that their outcome is
/// unknown, while this gateway knows that they did not begin.
fn is_taken_over(draft: &Draft, ending: &Ending, cx: &ToolCx) -> bool {
    ending.state == DraftState::Failed && cx.check_life().is_err() && !leaves_no_traces(&draft.plan)
}

fn log_taken_over(draft: &Draft) {
    tracing::warn!(
        id = %draft.id,
        "this gateway was silent for too long and writes nothing of a draft that it was applying; another one settles it"
    );
}

fn taken_over(draft: Draft) -> NotApproved {
    let message = if leaves_no_traces(&draft.plan) {
        "This gateway was silent for too long, so the outcome is not known; check before repeating."
    } else {
        "This gateway was silent for too long; another one applies the change."
    };
    not_approved(ErrorCode::StorageUnavailable, message.to_owned(), draft)
}

/// Whether the files on disk cannot show that the plan was performed.
fn leaves_no_traces(plan: &Plan) -> bool {
    let leaves = |effect: &ToolEffect| matches!(effect, ToolEffect::Reach | ToolEffect::Execute);
    plan.changes.is_empty() || plan.effects.iter().any(leaves)
}

/// What the files on disk show of a draft that was being applied.
enum Traces {
    Whole,
    /// Nothing or only a part was done, and the rest can still be done as approved.
    Unfinished,
    Unclear,
}

impl Ending {
    fn failed(output: String) -> Self {
        let (state, origin) = (DraftState::Failed, Origin::Person);
        Self { state, output, artifact: None, origin, has_begun: true }
    }

    fn of_error(error: &ToolError) -> Self {
        let origin = error.origin().max(Origin::Person);
        Self { origin, ..Self::failed(error.to_string()) }
    }

    fn done(plan: &Plan) -> Self {
        let output = format!("{}: done", plan.summary);
        Self { state: DraftState::Applied, ..Self::failed(output) }
    }
}

/// A target that has changed since the plan. Targets that are no files of the person, and those
/// that a plan builds on without a version, do not count.
async fn changed_target(plan: &Plan, cx: &ToolCx) -> Result<Option<String>, ToolError> {
    for own in &plan.targets {
        let Some(file) = held_file(&own.target, cx) else { continue };
        let changes = plan.changes.iter().any(|change| change.target == file);
        if own.base.is_none() && !changes {
            continue;
        }
        if current_hash(cx, &file).await? != own.base {
            return Ok(Some(file.to_string()));
        }
    }
    Ok(None)
}

/// The target's file, if it is one that tools can change.
fn held_file(target: &Target, cx: &ToolCx) -> Option<HomePath> {
    target.file().filter(|file| AgentFiles::holding(cx, file).is_ok())
}

/// Plans the same call with the present files.
async fn planned_anew(entry: &Entry, input: &Value, cx: &ToolCx) -> Result<Plan, ToolError> {
    let read = entry.tool.read(entry.checker.check(input)?)?;
    within(entry.tool.spec().timeout, cx, read.plan(cx)).await
}

fn may_be_decided(draft: &Draft, cx: &ToolCx) -> Result<(), NotApproved> {
    let code = match draft.state {
        DraftState::Pending | DraftState::Stale if draft.expires_at <= cx.clock.wall() => {
            ErrorCode::DraftExpired
        }
        DraftState::Pending | DraftState::Stale => return Ok(()),
        DraftState::Expired => ErrorCode::DraftExpired,
        DraftState::Applying
        | DraftState::Applied
        | DraftState::Failed
        | DraftState::Unknown
        | DraftState::Rejected
        | DraftState::Superseded => ErrorCode::DraftDecided,
    };
    let message = format!("{} It is {}.", code.sentence(), draft.state.as_str());
    Err(not_approved(code, message, draft.clone()))
}

fn not_approved(code: ErrorCode, message: String, draft: Draft) -> NotApproved {
    NotApproved { fault: Fault::new(code, message), draft: Some(Box::new(draft)) }
}
