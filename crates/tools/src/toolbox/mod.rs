//! Every tool there is, and the one way to call one: found, checked, planned, decided, audited,
//! done, masked, bounded. What needs a person becomes a draft here, and approvals are applied here.
//!
//! The agent crate comes in through [`Toolbox`]. No tool is named here, and nothing here decides
//! what is allowed: that is the gate's.

mod acceptance;
mod approval;
mod attempt;
mod audit;
mod offering;
mod output;
mod proposal;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use onyx_storage::{Drafts, Ledger, Objects, StoreError};
use onyx_types::{
    Attendance, ErrorCode, Fault, PersonId, ToolCall, ToolOutcome, ToolSpec, Visibility,
};

use crate::gate::Policy;
use crate::mask::Masker;
use crate::schema::Checker;
use crate::text::one_line;
use crate::tool::{Asked, Pending, Tool, ToolCx};

use attempt::Attempt;
use offering::Offerings;
use output::{Keep, bound};

pub use approval::{Approval, NotApproved};
pub use offering::{Offering, ToolTraits};

/// Every tool there is, and the one way to call one.
pub struct Toolbox {
    entries: Vec<Entry>,
    offerings: Offerings,
    services: Services,
}

pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) checker: Checker,
}

/// What the toolbox itself needs to do its work.
pub struct Services {
    pub ledger: Arc<dyn Ledger>,
    pub drafts: Arc<dyn Drafts>,
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
        Ok(Self { entries, offerings: Offerings::default(), services })
    }

    pub fn specs(&self) -> Vec<&ToolSpec> {
        self.entries.iter().map(|entry| entry.tool.spec()).collect()
    }

    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.entry(name).map(|entry| entry.tool.spec())
    }

    /// What the agent is offered, always in the same order so that prompt caches hit.
    pub fn offers(&self, policy: &Policy) -> Vec<&ToolSpec> {
        self.specs().into_iter().filter(|spec| is_offered(policy, &spec.name)).collect()
    }

    /// Of these, what can work for this person now.
    pub fn ready_offers(&self, policy: &Policy, person: &PersonId) -> Arc<Offering> {
        let asked = Asked::of(person);
        let offered =
            |tool: &dyn Tool| is_offered(policy, &tool.spec().name) && tool.is_ready(&asked);
        let ready: Vec<bool> = self.entries.iter().map(|entry| offered(&*entry.tool)).collect();
        self.offerings.of(ready, |ready| {
            let entries = self.entries.iter().zip(ready).filter(|(_, ready)| **ready);
            entries.map(|(entry, _)| ToolTraits::of(entry.tool.spec())).collect()
        })
    }

    /// Is this tool there for the agent and this person now? What is not offered does not run.
    pub(crate) fn visibility(&self, name: &str, policy: &Policy, person: &PersonId) -> Visibility {
        let is_ready = |entry: &Entry| entry.tool.is_ready(&Asked::of(person));
        match policy.visibility(name) {
            Visibility::Offered if self.entry(name).is_some_and(is_ready) => Visibility::Offered,
            Visibility::Offered | Visibility::Absent => Visibility::Absent,
        }
    }

    /// Text without the secrets that are known here.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.services.masker.mask(text)
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
        let cx = &ToolCx { live: cx.live.masked_by(&self.services.masker), ..cx.clone() };
        let made = match self.seeing_drafts(cx).await {
            Ok(cx) => {
                let attempt = Attempt { toolbox: self, policy, attendance, execution, cx: &cx };
                attempt.make(call).await
            }
            Err(error) => Err(error.into()),
        };
        let outcome = match made {
            Ok(outcome) => outcome,
            Err(error) => ToolOutcome::error(error.to_string()).from_origin(error.origin()),
        };
        cx.live.finish();
        let mut outcome = self.finished(outcome, cx).await;
        outcome.duration = cx.clock.now().mono.saturating_sub(began);
        outcome
    }

    /// As it leaves the toolbox. Masked before it is shortened, else a cut could leave half a secret
    /// standing.
    pub(crate) async fn finished(&self, outcome: ToolOutcome, cx: &ToolCx) -> ToolOutcome {
        let outcome = self.masked(outcome);
        bound(outcome, &Keep { artifacts: &*self.services.artifacts, cx }).await
    }

    /// The session's own drafts are part of what its calls see.
    async fn seeing_drafts<'a>(&self, cx: &'a ToolCx) -> Result<Cow<'a, ToolCx>, StoreError> {
        let open = self.services.drafts.open_drafts(&cx.key).await?;
        if open.is_empty() {
            return Ok(Cow::Borrowed(cx));
        }
        Ok(Cow::Owned(ToolCx { pending: Arc::new(Pending::new(open)), ..cx.clone() }))
    }

    pub(crate) fn services(&self) -> &Services {
        &self.services
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
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

pub(crate) fn is_offered(policy: &Policy, name: &str) -> bool {
    match policy.visibility(name) {
        Visibility::Offered => true,
        Visibility::Absent => false,
    }
}
