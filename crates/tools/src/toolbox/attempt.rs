use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::StoreError;
use onyx_types::{
    Attendance, Plan, Preview, ToolCall, ToolEffect, ToolOutcome, Verdict, Visibility,
};

use super::audit::{Record, Trail};
use super::{Entry, Execution, Toolbox, proposal};
use crate::files::origin_of_targets;
use crate::gate::{self, Authorised, Passage, Policy};
use crate::text::one_line;
use crate::{ToolCx, ToolError};

/// How long a call that is cancelled may take to end by itself, so that its outcome is known.
const GRACE: Duration = Duration::from_millis(500);

/// One call on its way: found, checked, planned, decided, audited, done.
pub(crate) struct Attempt<'a> {
    pub(crate) toolbox: &'a Toolbox,
    pub(crate) policy: &'a Policy,
    pub(crate) attendance: Attendance,
    pub(crate) execution: Execution,
    pub(crate) cx: &'a ToolCx,
}

impl Attempt<'_> {
    pub(crate) async fn make(&self, call: &ToolCall) -> Result<ToolOutcome, ToolError> {
        let trail = self.trail(&call.name);
        let entry = self.toolbox.entry(&call.name).filter(|_| self.is_offered(&call.name));
        let Some(entry) = entry else { return self.absent(&trail).await };
        let arguments = entry.checker.check(&call.input)?;
        if self.cx.cancel.is_cancelled() {
            return Err(ToolError::NotBegun);
        }
        let planning = entry.tool.plan(arguments, self.cx);
        let plan = match within(entry.tool.spec().timeout, self.cx, planning).await {
            Ok(plan) => plan,
            Err(error) => return Err(self.not_planned(call, &trail, error).await?),
        };
        let (taint, granted) = (self.cx.taint, &self.cx.decisions.granted);
        let passage = match gate::pass(self.policy, self.attendance, taint, granted, plan) {
            // What nobody has approved must not reach the disk by way of a call that needs nobody:
            // it joins what waits.
            Passage::Allowed(plan) if self.builds_on_drafts(plan.get()) => {
                Passage::NeedsPerson(Verdict::Draft, plan.into_inner())
            }
            passage => passage,
        };
        match passage {
            Passage::Denied(plan) => self.denied(&trail, &plan).await,
            passage if self.execution == Execution::DryRun => self.rehearse(&trail, passage).await,
            Passage::NeedsPerson(verdict, plan) => {
                self.ask_person(call, &trail, verdict, plan).await
            }
            Passage::Allowed(plan) => {
                let outcome = self.perform(entry, &trail, plan).await?;
                self.propose_rest(call, &trail, outcome).await
            }
        }
    }

    /// Of the agent's tools, only those that its model was shown with this very request, and that
    /// can work for this person now.
    fn is_offered(&self, name: &str) -> bool {
        self.cx.offered == Visibility::Offered
            && self.toolbox.visibility(name, self.policy, &self.cx.key.person)
                == Visibility::Offered
    }

    /// What the call took back, since nobody approved it, waits for a person.
    async fn propose_rest(
        &self,
        call: &ToolCall,
        trail: &Trail<'_>,
        mut outcome: ToolOutcome,
    ) -> Result<ToolOutcome, ToolError> {
        let Some(plan) = outcome.proposes.take().filter(|plan| self.is_offered(&plan.tool)) else {
            return Ok(outcome);
        };
        match self.ask_person(call, trail, Verdict::Draft, *plan).await {
            Ok(proposed) => {
                outcome.output.push_str(&format!("\n[{}]", proposed.output));
                outcome.draft = proposed.draft;
            }
            Err(error) => outcome.output.push_str(&format!("\n[not drafted: {error}]")),
        }
        Ok(outcome)
    }

    fn builds_on_drafts(&self, plan: &Plan) -> bool {
        plan.strictest() > ToolEffect::Read && !self.cx.pending.touched_by(plan).is_empty()
    }

    fn trail(&self, tool: &str) -> Trail<'_> {
        let services = self.toolbox.services();
        let (ledger, masker) = (&*services.ledger, &services.masker);
        Trail { ledger, masker, cx: self.cx, tool: one_line(tool) }
    }

    async fn absent(&self, trail: &Trail<'_>) -> Result<ToolOutcome, ToolError> {
        let result = "the agent has no such tool".to_owned();
        trail.write(Record { effect: None, decision: Verdict::Deny, summary: "", result }).await?;
        let offered = match self.cx.offered {
            Visibility::Offered => self.toolbox.ready_offers(self.policy, &self.cx.key.person),
            Visibility::Absent => Arc::default(),
        };
        let offered = offered.offers().iter().map(|offer| offer.name.as_str());
        let names = offered.collect::<Vec<_>>().join(", ");
        let names = if names.is_empty() { "none".to_owned() } else { names };
        let is_its_own = self.policy.visibility(&trail.tool) == Visibility::Offered;
        let entry = self.toolbox.entry(&trail.tool).filter(|_| is_its_own);
        let why = entry.map(|entry| entry.tool.lacks()).filter(|why| !why.is_empty());
        let why = why.map_or_else(String::new, |why| format!(" ({why})"));
        Ok(ToolOutcome::error(format!("there is no tool {:?}{why}; yours: {names}", trail.tool)))
    }

    /// A refusal is a decision and is audited; other errors of planning decided nothing.
    async fn not_planned(
        &self,
        call: &ToolCall,
        trail: &Trail<'_>,
        error: ToolError,
    ) -> Result<ToolError, ToolError> {
        if let ToolError::Refused(_) = &error {
            let summary = self.toolbox.summary(call);
            let (decision, result) = (Verdict::Deny, error.to_string());
            trail.write(Record { effect: None, decision, summary: &summary, result }).await?;
        }
        Ok(error)
    }

    async fn denied(&self, trail: &Trail<'_>, plan: &Plan) -> Result<ToolOutcome, ToolError> {
        self.decided(trail, plan, Verdict::Deny, "nothing was done").await?;
        let effect = plan.strictest().as_str();
        Ok(ToolOutcome::error(format!(
            "denied: this agent may not {effect}; nothing was done. Tell the person what you would do"
        )))
    }

    async fn rehearse(
        &self,
        trail: &Trail<'_>,
        passage: Passage,
    ) -> Result<ToolOutcome, ToolError> {
        let (verdict, plan) = match passage {
            Passage::Allowed(plan) => (Verdict::Allow, plan.into_inner()),
            Passage::NeedsPerson(verdict, plan) => (verdict, plan),
            Passage::Denied(plan) => (Verdict::Deny, plan),
        };
        self.decided(trail, &plan, verdict, "dry run, nothing was done").await?;
        let origin = origin_of_targets(self.cx, &plan.targets).await?;
        let (effect, verdict) = (plan.strictest().as_str(), verdict.as_str());
        let preview = match &plan.preview {
            Preview::None => String::new(),
            Preview::Text { text } => format!("\n{text}"),
            Preview::Diff { unified, .. } => format!("\n{unified}"),
        };
        let (summary, head) = (&plan.summary, "dry run, nothing was done");
        let output = format!("{head}: {summary} ({effect}: {verdict}){preview}");
        Ok(ToolOutcome::ok(output, format!("Dry run: {summary}")).from_origin(origin))
    }

    async fn ask_person(
        &self,
        call: &ToolCall,
        trail: &Trail<'_>,
        verdict: Verdict,
        plan: Plan,
    ) -> Result<ToolOutcome, ToolError> {
        let services = self.toolbox.services();
        match proposal::propose(services, self.cx, trail, call, verdict, plan).await {
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(self.not_planned(call, trail, error).await?),
        }
    }

    async fn perform(
        &self,
        entry: &Entry,
        trail: &Trail<'_>,
        plan: Authorised<Plan>,
    ) -> Result<ToolOutcome, ToolError> {
        let (effect, summary) = (plan.get().strictest(), plan.get().summary.clone());
        let row = |result| Record {
            effect: Some(effect),
            decision: Verdict::Allow,
            summary: &summary,
            result,
        };
        let started = match effect {
            ToolEffect::Read => None,
            ToolEffect::Write | ToolEffect::Destroy | ToolEffect::Reach | ToolEffect::Execute => {
                Some(trail.write(row("started".to_owned())).await?)
            }
        };
        let limit = entry.tool.spec().timeout;
        let result = within(limit, self.cx, entry.tool.invoke(plan, self.cx)).await;
        let said = match &result {
            Ok(outcome) if outcome.is_error => format!("failed: {}", one_line(&outcome.output)),
            Ok(_) => "ok".to_owned(),
            Err(error) if error.leaves_doubt() => format!("unknown: {error}"),
            Err(error) => format!("failed: {error}"),
        };
        match started {
            // Nothing happened that would have to be told, so an unwritten row withholds it.
            None => {
                trail.write(row(said)).await?;
                result
            }
            Some(number) => {
                let ended = trail.write(row(format!("{said} (started in row {number})"))).await;
                Ok(told(result, ended.err()))
            }
        }
    }

    async fn decided(
        &self,
        trail: &Trail<'_>,
        plan: &Plan,
        decision: Verdict,
        result: &str,
    ) -> Result<(), ToolError> {
        let (effect, result) = (Some(plan.strictest()), result.to_owned());
        trail.write(Record { effect, decision, summary: &plan.summary, result }).await?;
        Ok(())
    }
}

/// The outcome of something that may have happened: always told, also when the log of it failed.
fn told(result: Result<ToolOutcome, ToolError>, unwritten: Option<StoreError>) -> ToolOutcome {
    let mut outcome = result.unwrap_or_else(|error| {
        let doubt = if error.leaves_doubt() {
            "; the outcome is unknown, check before repeating"
        } else {
            ""
        };
        ToolOutcome::error(format!("{error}{doubt}")).from_origin(error.origin())
    });
    if let Some(error) = unwritten {
        tracing::error!(%error, "the result of a tool call is missing in the audit log");
        outcome.output.push_str("\n[this result could not be written to the audit log]");
    }
    outcome
}

/// Bounds a call in time and lets it go when the run is cancelled.
pub(crate) async fn within<T>(
    limit: Duration,
    cx: &ToolCx,
    work: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    tokio::pin!(work);
    tokio::select! {
        biased;
        result = &mut work => result,
        () = cx.cancel.cancelled() => {
            cx.clock.within(GRACE, work).await.unwrap_or(Err(ToolError::Cancelled))
        }
        () = cx.clock.sleep(limit) => Err(ToolError::Timeout { seconds: limit.as_secs() }),
    }
}
