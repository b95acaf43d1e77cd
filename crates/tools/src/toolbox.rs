use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use onyx_storage::{Ledger, Objects};
use onyx_types::{
    Attendance, Cancel, ErrorCode, Fault, Plan, ToolCall, ToolEffect, ToolOutcome, ToolSpec,
    Verdict, Visibility,
};

use crate::audit::{Record, Trail};
use crate::gate::{self, Authorised, Passage};
use crate::output::{Keep, bound, one_line};
use crate::schema::Checker;
use crate::{Masker, Policy, Tool, ToolCx, ToolError};

/// How long a call that is cancelled may take to end by itself, so that its outcome is known.
const GRACE: Duration = Duration::from_millis(500);

/// Every tool there is, and the one way to call one.
pub struct Toolbox {
    entries: Vec<Entry>,
    services: Services,
}

struct Entry {
    tool: Arc<dyn Tool>,
    checker: Checker,
}

/// What the toolbox itself needs to do its work.
pub struct Services {
    pub ledger: Arc<dyn Ledger>,
    /// Whole outputs that were too long for a model, under `cache/artifacts`.
    pub artifacts: Arc<dyn Objects>,
    pub masker: Masker,
}

/// Does a call happen, or is only its plan shown?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    Real,
    DryRun,
}

impl Toolbox {
    /// Fails when a schema does not compile or two tools share a name.
    pub fn new(tools: Vec<Arc<dyn Tool>>, services: Services) -> Result<Self, Fault> {
        let mut names = BTreeSet::new();
        let mut entries = Vec::with_capacity(tools.len());
        for tool in tools {
            let name = tool.spec().name.clone();
            if !names.insert(name.clone()) {
                let message = format!("two tools are called {name}");
                return Err(Fault::new(ErrorCode::Internal, message));
            }
            let checker = Checker::new(tool.spec())?;
            entries.push(Entry { tool, checker });
        }
        Ok(Self { entries, services })
    }

    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.entries.iter().map(|entry| entry.tool.spec())
    }

    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.entry(name).map(|entry| entry.tool.spec())
    }

    /// What the agent is offered, always in the same order so that prompt caches hit.
    pub fn offers(&self, policy: &Policy) -> Vec<&ToolSpec> {
        self.specs().filter(|spec| is_offered(policy, &spec.name)).collect()
    }

    /// One human line for a call, verb first, secrets masked. No I/O.
    pub fn summary(&self, call: &ToolCall) -> String {
        let line = match self.entry(&call.name) {
            Some(entry) => entry.tool.summary(&call.input),
            None => format!("Call {}", call.name),
        };
        self.for_people(&line)
    }

    /// The one way in. Never fails: what went wrong is an outcome that the model can read.
    pub async fn call(
        &self,
        call: &ToolCall,
        policy: &Policy,
        attendance: Attendance,
        execution: Execution,
        cx: &ToolCx,
    ) -> ToolOutcome {
        let began = cx.clock.now().mono;
        let attempt = Attempt { toolbox: self, policy, attendance, execution, cx };
        let outcome = match attempt.make(call).await {
            Ok(outcome) => outcome,
            Err(error) => ToolOutcome::error(error.to_string()),
        };
        // Masked before it is shortened, else a cut could leave half a secret standing.
        let mut outcome = self.masked(outcome);
        outcome = bound(outcome, &Keep { artifacts: &*self.services.artifacts, cx }).await;
        outcome.duration = cx.clock.now().mono.saturating_sub(began);
        outcome
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.tool.spec().name == name)
    }

    fn masked(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        outcome.output = self.services.masker.mask(&outcome.output).into_owned();
        outcome.summary = self.for_people(&outcome.summary);
        outcome
    }

    fn for_people(&self, line: &str) -> String {
        one_line(&self.services.masker.mask(line))
    }
}

fn is_offered(policy: &Policy, name: &str) -> bool {
    match policy.visibility(name) {
        Visibility::Offered => true,
        Visibility::Absent => false,
    }
}

/// One call on its way: found, checked, planned, decided, audited, done.
struct Attempt<'a> {
    toolbox: &'a Toolbox,
    policy: &'a Policy,
    attendance: Attendance,
    execution: Execution,
    cx: &'a ToolCx,
}

impl Attempt<'_> {
    async fn make(&self, call: &ToolCall) -> Result<ToolOutcome, ToolError> {
        let trail = self.trail(&call.name);
        let entry = self.toolbox.entry(&call.name);
        let Some(entry) = entry.filter(|_| is_offered(self.policy, &call.name)) else {
            return self.absent(&trail).await;
        };
        let arguments = entry.checker.check(&call.input)?;
        if self.cx.cancel.is_cancelled() {
            return Err(ToolError::NotBegun);
        }
        let limit = entry.tool.spec().timeout;
        let planning = entry.tool.plan(arguments, self.cx);
        let plan = match within(limit, &self.cx.cancel, planning).await {
            Ok(plan) => plan,
            Err(error) => return Err(self.not_planned(call, &trail, error).await?),
        };
        match gate::pass(self.policy, self.cx.taint, self.attendance, plan) {
            Passage::Denied(plan) => self.denied(&trail, &plan).await,
            passage if self.execution == Execution::DryRun => self.rehearse(&trail, passage).await,
            Passage::NeedsPerson(verdict, plan) => self.ask_person(&trail, verdict, &plan).await,
            Passage::Allowed(plan) => self.perform(entry, &trail, plan).await,
        }
    }

    fn trail(&self, tool: &str) -> Trail<'_> {
        let services = &self.toolbox.services;
        let (ledger, masker) = (&*services.ledger, &services.masker);
        Trail { ledger, masker, cx: self.cx, tool: one_line(tool) }
    }

    async fn absent(&self, trail: &Trail<'_>) -> Result<ToolOutcome, ToolError> {
        let result = "the agent has no such tool".to_owned();
        trail.write(Record { effect: None, decision: Verdict::Deny, summary: "", result }).await?;
        let offered: Vec<&str> =
            self.toolbox.offers(self.policy).iter().map(|spec| spec.name.as_str()).collect();
        let names = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
        Ok(ToolOutcome::error(format!("there is no tool {:?}; yours: {names}", trail.tool)))
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
        let (effect, verdict) = (plan.strictest().as_str(), verdict.as_str());
        let output = format!("dry run, nothing was done: {} ({effect}: {verdict})", plan.summary);
        Ok(ToolOutcome::ok(output, format!("Dry run: {}", plan.summary)))
    }

    /// What a person must decide. This is where a draft is made of the plan once there is a
    /// ledger of drafts, and where an attended run waits for its confirmation; until then the
    /// call is refused and the model is told that nothing happened.
    async fn ask_person(
        &self,
        trail: &Trail<'_>,
        verdict: Verdict,
        plan: &Plan,
    ) -> Result<ToolOutcome, ToolError> {
        self.decided(trail, plan, verdict, "refused: drafts are not available").await?;
        Ok(ToolOutcome::error(format!(
            "{}: needs a person's approval; drafts are not available yet in this version, nothing \
             was changed",
            plan.summary
        )))
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
        let result = within(limit, &self.cx.cancel, entry.tool.invoke(plan, self.cx)).await;
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
fn told(
    result: Result<ToolOutcome, ToolError>,
    unwritten: Option<onyx_storage::StoreError>,
) -> ToolOutcome {
    let mut outcome = result.unwrap_or_else(|error| {
        let doubt = if error.leaves_doubt() {
            "; the outcome is unknown, check before repeating"
        } else {
            ""
        };
        ToolOutcome::error(format!("{error}{doubt}"))
    });
    if let Some(error) = unwritten {
        tracing::error!(%error, "the result of a tool call is missing in the audit log");
        outcome.output.push_str("\n[this result could not be written to the audit log]");
    }
    outcome
}

/// Bounds a call in time and lets it go when the run is cancelled.
async fn within<T>(
    limit: Duration,
    cancel: &Cancel,
    work: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    tokio::pin!(work);
    tokio::select! {
        biased;
        result = &mut work => result,
        () = cancel.cancelled() => {
            tokio::time::timeout(GRACE, work).await.unwrap_or(Err(ToolError::Cancelled))
        }
        () = tokio::time::sleep(limit) => Err(ToolError::Timeout { seconds: limit.as_secs() }),
    }
}
