use std::future::Future;
use std::time::Duration;

use onyx_storage::StoreError;
use onyx_types::{
    Attendance, CallReport, CallState, LineCounts, Plan, Preview, RecordedTool, Rehearsal,
    ToolCall, ToolEffect, ToolOutcome, ToolSpec, Verdict, Visibility,
};
use serde_json::Value;

use super::audit::{AuditTrail, Record};
use super::finding::{CALL_TOOL, FIND_TOOL, Need, found, inner_call, is_foreign};
use super::tool_set::{Entry, Readiness};
use super::{Execution, ToolSet, Toolbox, hooked, proposal};
use crate::ToolError;
use crate::files::origin_of_targets;
use crate::gate::{self, Authorised, GateDecision, Policy};
use crate::text::one_line;
use crate::tool::{OfferState, ReadCall, ToolCx};

/// How long a cancelled call may take to end by itself, so that its outcome is known.
const GRACE: Duration = Duration::from_millis(500);

/// One call on its way: it is found, checked, planned, decided, audited and performed.
pub(crate) struct Attempt<'a> {
    pub(crate) toolbox: &'a Toolbox,
    /// The tools at the time when the call began.
    pub(crate) tools: &'a ToolSet,
    pub(crate) policy: &'a Policy,
    pub(crate) attendance: Attendance,
    pub(crate) execution: Execution,
    pub(crate) cx: &'a ToolCx,
}

/// Why a call's tool is not available.
enum Absence {
    /// The agent does not have the tool, or its model was not shown it.
    NotItsOwn,
    /// The tool cannot work now. The text says what is missing, if that is known.
    Lacks(String),
    /// The tool was removed after the model was shown it.
    Gone,
    /// Another tool has this name now.
    Changed,
}

impl<'a> Attempt<'a> {
    /// Makes the call. A call of `call_tool` becomes the call that it stands for, and is decided as
    /// that.
    pub(crate) async fn make(&self, call: &ToolCall) -> Result<ToolOutcome, ToolError> {
        if call.name == CALL_TOOL {
            return self.make_inner(call).await;
        }
        self.make_one(call).await
    }

    async fn make_inner(&self, call: &ToolCall) -> Result<ToolOutcome, ToolError> {
        let trail = self.trail(&call.name);
        let entry = match self.find(&call.name) {
            Ok(entry) => entry,
            Err(why) => return self.absent(&trail, why).await,
        };
        entry.checker.check(&call.input)?;
        let Some(inner) = inner_call(call) else {
            return Err(ToolError::Arguments("name: the name of a tool is missing".to_owned()));
        };
        // Only tools that a prompt leaves out may be called in this way. Others are offered, or
        // withheld on purpose.
        let is_findable = |spec: &ToolSpec| is_foreign(spec) || self.policy.leaves_out(spec);
        if !self.tools.spec(&inner.name).is_some_and(is_findable) {
            let name = one_line(&inner.name);
            let message = format!(
                "{name:?} cannot be called with call_tool; find_tool lists the tools that can"
            );
            return Err(ToolError::Arguments(message));
        }
        let cx = ToolCx { offered: OfferState::Now, ..self.cx.clone() };
        Attempt { cx: &cx, ..*self }.make_one(&inner).await
    }

    /// Finds the tools that fit a need. Their descriptions were accepted by the owner.
    async fn find_tools(
        &self,
        trail: &AuditTrail<'_>,
        need: &Value,
    ) -> Result<ToolOutcome, ToolError> {
        let Need { need } = crate::schema::arguments(need)?;
        let (agent, person) = (&self.cx.agent, &self.cx.key.person);
        let output = found(&need, &self.tools.findable(self.policy, agent, person));
        let summary = format!("Look for a tool to {}", one_line(&need));
        let (effect, decision, result) = (Some(ToolEffect::Read), Verdict::Allow, "ok".to_owned());
        trail.write(Record { effect, decision, summary: &summary, result }).await?;
        Ok(ToolOutcome::ok(output, summary))
    }

    async fn make_one(&self, call: &ToolCall) -> Result<ToolOutcome, ToolError> {
        let trail = self.trail(&call.name);
        let entry = match self.find(&call.name) {
            Ok(entry) => entry,
            Err(why) => return self.absent(&trail, why).await,
        };
        let arguments = entry.checker.check(&call.input)?;
        if call.name == FIND_TOOL {
            return self.find_tools(&trail, &arguments).await;
        }
        let read = entry.tool.read(arguments)?;
        if self.cx.cancel.is_cancelled() {
            return Err(ToolError::NotBegun);
        }
        let planning = read.plan(self.cx);
        let plan = match within(entry.tool.spec().timeout, self.cx, planning).await {
            Ok(plan) => plan,
            Err(error) => return Err(self.not_planned(call, &trail, error).await?),
        };
        let (taint, granted) = (self.cx.taint, &self.cx.decisions.granted);
        let passage = match gate::pass(self.policy, self.attendance, taint, granted, plan) {
            // The plan builds on open drafts, so it becomes a draft too. Otherwise content without
            // approval would reach the disk.
            GateDecision::Allowed(plan) if self.builds_on_drafts(plan.get()) => {
                GateDecision::NeedsPerson(Verdict::Draft, plan.into_inner())
            }
            passage => passage,
        };
        match passage {
            GateDecision::Denied(plan) => self.denied(&trail, &plan).await,
            passage if self.execution == Execution::DryRun => self.rehearse(&trail, passage).await,
            passage => self.unless_vetoed(call, entry, read, &trail, passage).await,
        }
    }

    /// Asks the hooks, which can still refuse after the gate has decided.
    async fn unless_vetoed(
        &self,
        call: &ToolCall,
        entry: &Entry,
        read: Box<dyn ReadCall + '_>,
        trail: &AuditTrail<'_>,
        passage: GateDecision,
    ) -> Result<ToolOutcome, ToolError> {
        let answer = hooked::before(self.toolbox, passage.plan(), self.cx).await;
        if let Some(veto) = answer.veto {
            let result = format!("vetoed by the plugin {}: {}", veto.by, one_line(&veto.why));
            self.decided(trail, passage.plan(), Verdict::Deny, &result).await?;
            return Ok(hooked::vetoed(&veto));
        }
        let outcome = match passage {
            GateDecision::Denied(plan) => return self.denied(trail, &plan).await,
            GateDecision::NeedsPerson(verdict, plan) => {
                self.ask_person(call, trail, verdict, plan).await?
            }
            GateDecision::Allowed(plan) => {
                let report = report(plan.get(), CallState::Done);
                let kept = hooked::kept(self.toolbox, plan.get());
                let mut outcome = self.perform(entry, read, trail, plan).await?;
                let state = outcome.report.state;
                outcome.report = CallReport { state, ..report };
                let outcome = hooked::after(self.toolbox, kept.as_ref(), self.cx, outcome).await;
                self.propose_rest(call, trail, outcome).await?
            }
        };
        Ok(hooked::with_notes(outcome, &answer.notes))
    }

    /// Finds a tool of the agent that was offered in the model's request, has not changed since,
    /// and can work for this person now.
    fn find(&self, name: &str) -> Result<&'a Entry, Absence> {
        let offered = match self.cx.offered {
            OfferState::No => return Err(Absence::NotItsOwn),
            OfferState::Now => None,
            OfferState::As(registration) => Some(registration),
        };
        let Some(entry) = self.tools.entry(name) else {
            return Err(if offered.is_some() { Absence::Gone } else { Absence::NotItsOwn });
        };
        if self.tools.visibility(name, self.policy, &self.cx.agent) == Visibility::Absent {
            return Err(Absence::NotItsOwn);
        }
        if offered.is_some_and(|registration| registration != entry.registration) {
            return Err(Absence::Changed);
        }
        match self.tools.readiness(entry, &self.cx.key.person) {
            Readiness::Ready => Ok(&**entry),
            Readiness::Lacks(why) => Err(Absence::Lacks(why)),
        }
    }

    /// Whether the agent could call this tool too.
    fn has(&self, name: &str) -> bool {
        let own = ToolCx { offered: OfferState::Now, ..self.cx.clone() };
        self.cx.offered != OfferState::No && Attempt { cx: &own, ..*self }.find(name).is_ok()
    }

    /// Makes a draft of the changes that a call put back because no person approved them.
    async fn propose_rest(
        &self,
        call: &ToolCall,
        trail: &AuditTrail<'_>,
        mut outcome: ToolOutcome,
    ) -> Result<ToolOutcome, ToolError> {
        let Some(plan) = outcome.proposes.take().filter(|plan| self.has(&plan.tool)) else {
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

    fn trail(&self, tool: &str) -> AuditTrail<'_> {
        let services = self.toolbox.services();
        let (ledger, masker) = (&*services.ledger, &services.masker);
        AuditTrail { ledger, masker, cx: self.cx, tool: RecordedTool::read(one_line(tool)) }
    }

    async fn absent(&self, trail: &AuditTrail<'_>, why: Absence) -> Result<ToolOutcome, ToolError> {
        let result = match &why {
            Absence::NotItsOwn | Absence::Lacks(_) => "the agent has no such tool",
            Absence::Gone => "the tool was removed after it was offered",
            Absence::Changed => "the tool is not the one that was offered",
        };
        let result = result.to_owned();
        trail.write(Record { effect: None, decision: Verdict::Deny, summary: "", result }).await?;
        let name = trail.tool.as_str();
        let reason = match why {
            Absence::NotItsOwn => format!("there is no tool {name:?}"),
            Absence::Lacks(why) if why.is_empty() => format!("there is no tool {name:?}"),
            Absence::Lacks(why) => format!("there is no tool {name:?} ({why})"),
            Absence::Gone => format!("the tool {name:?} was removed after it was offered to you"),
            Absence::Changed => {
                format!(
                    "the tool {name:?} has changed since it was offered to you; look at it again"
                )
            }
        };
        Ok(ToolOutcome::error(format!("{reason}; yours: {}", self.names())).refused())
    }

    /// The names of the agent's tools, for a model that called another one.
    fn names(&self) -> String {
        if self.cx.offered == OfferState::No {
            return "those that you were shown".to_owned();
        }
        let (agent, person) = (&self.cx.agent, &self.cx.key.person);
        // There may be very many foreign tools, so they are left out; `find_tool` finds them.
        let offered = self.tools.offers_within(self.policy, agent, person, 0);
        let names: Vec<&str> = offered.offers().iter().map(|offer| offer.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }

    /// Reports an error of planning. A refusal is a decision and is audited; other errors decided
    /// nothing.
    async fn not_planned(
        &self,
        call: &ToolCall,
        trail: &AuditTrail<'_>,
        error: ToolError,
    ) -> Result<ToolError, ToolError> {
        if let ToolError::Refused(_) = &error {
            let summary = self.toolbox.summary(call);
            let (decision, result) = (Verdict::Deny, error.to_string());
            trail.write(Record { effect: None, decision, summary: &summary, result }).await?;
        }
        Ok(error)
    }

    async fn denied(&self, trail: &AuditTrail<'_>, plan: &Plan) -> Result<ToolOutcome, ToolError> {
        self.decided(trail, plan, Verdict::Deny, "nothing was done").await?;
        let effect = plan.strictest().as_str();
        Ok(ToolOutcome::error(format!(
            "denied: this agent may not {effect}; nothing was done. Tell the person what you would do"
        ))
        .refused())
    }

    async fn rehearse(
        &self,
        trail: &AuditTrail<'_>,
        passage: GateDecision,
    ) -> Result<ToolOutcome, ToolError> {
        let (verdict, plan) = match passage {
            GateDecision::Allowed(plan) => (Verdict::Allow, plan.into_inner()),
            GateDecision::NeedsPerson(verdict, plan) => (verdict, plan),
            GateDecision::Denied(plan) => (Verdict::Deny, plan),
        };
        self.decided(trail, &plan, verdict, "dry run, nothing was done").await?;
        let origin = origin_of_targets(self.cx, &plan.targets).await?;
        let summary = plan.summary.clone();
        let rehearsal = Rehearsal { summary, verdict, preview: plan.preview.clone() };
        let report = report(&plan, CallState::Rehearsed);
        let report = CallReport { rehearsal: Some(rehearsal), ..report };
        let (effect, verdict) = (plan.strictest().as_str(), verdict.as_str());
        let preview = match &plan.preview {
            Preview::None => String::new(),
            Preview::Text { text } => format!("\n{text}"),
            Preview::Diff { unified, .. } => format!("\n{unified}"),
            Preview::Choice { text, options } => format!("\n{text}\n{}", options.join("\n")),
        };
        let (summary, head) = (&plan.summary, "dry run, nothing was done");
        let output = format!("{head}: {summary} ({effect}: {verdict}){preview}");
        let line = format!("Dry run: {summary}");
        Ok(ToolOutcome { report, ..ToolOutcome::ok(output, line) }.from_origin(origin))
    }

    async fn ask_person(
        &self,
        call: &ToolCall,
        trail: &AuditTrail<'_>,
        verdict: Verdict,
        plan: Plan,
    ) -> Result<ToolOutcome, ToolError> {
        let services = self.toolbox.services();
        let report = report(&plan, CallState::Waiting);
        match proposal::propose(services, self.cx, trail, call, verdict, plan).await {
            Ok(outcome) => Ok(ToolOutcome { report, ..outcome }),
            Err(error) => Err(self.not_planned(call, trail, error).await?),
        }
    }

    async fn perform(
        &self,
        entry: &Entry,
        read: Box<dyn ReadCall + '_>,
        trail: &AuditTrail<'_>,
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
        let may_act = if effect == ToolEffect::Read { Ok(()) } else { self.cx.check_life() };
        let result = match may_act {
            Ok(()) => within(limit, self.cx, read.invoke(plan, self.cx)).await,
            Err(lost) => Err(lost),
        };
        let result_line = match &result {
            Ok(outcome) if outcome.is_error => format!("failed: {}", one_line(&outcome.output)),
            Ok(_) => "ok".to_owned(),
            Err(error) if error.leaves_doubt() => format!("unknown: {error}"),
            Err(error) => format!("failed: {error}"),
        };
        match started {
            // Nothing has happened yet, so a failure to write the row can be returned.
            None => {
                trail.write(row(result_line)).await?;
                result
            }
            Some(number) => {
                let ended =
                    trail.write(row(format!("{result_line} (started in row {number})"))).await;
                Ok(recorded_outcome(result, ended.err()))
            }
        }
    }

    async fn decided(
        &self,
        trail: &AuditTrail<'_>,
        plan: &Plan,
        decision: Verdict,
        result: &str,
    ) -> Result<(), ToolError> {
        let (effect, result) = (Some(plan.strictest()), result.to_owned());
        trail.write(Record { effect, decision, summary: &plan.summary, result }).await?;
        Ok(())
    }
}

/// The report of a call for people, made from its plan.
fn report(plan: &Plan, state: CallState) -> CallReport {
    let (effect, lines) = (Some(plan.strictest()), LineCounts::of(&plan.preview));
    CallReport { state, effect, lines, rehearsal: None, artifact: None }
}

/// The outcome of a call that may have happened. It is reported even if its audit row could not be
/// written.
fn recorded_outcome(
    result: Result<ToolOutcome, ToolError>,
    unwritten: Option<StoreError>,
) -> ToolOutcome {
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

/// Limits the time of a call, and stops waiting when the run is cancelled.
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
