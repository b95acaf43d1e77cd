//! All tools, and the only way to call one: each call is found, checked, planned, decided, audited,
//! performed, masked and shortened. A call that needs a person becomes a draft here, and approvals
//! are applied here.
//!
//! Tools come and go while calls are made. A caller sees a [`ToolSet`], the tools of one moment,
//! and a call uses the same set from its beginning to its end.
//!
//! The agent crate comes in through [`Toolbox`]. No tool is named here, and the gate decides what
//! is allowed.

mod acceptance;
mod approval;
mod attempt;
mod audit;
mod finding;
mod hooked;
mod offering;
mod output;
mod proposal;
mod tool_set;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use onyx_storage::{DraftCondition, Drafts, Ledger, StoreError};
use onyx_types::{
    AgentId, Attendance, CallChange, CallLabel, Fault, PersonId, Preview, ToolCall, ToolOutcome,
    Verb,
};

use crate::ToolError;
use crate::artifacts::{Artifacts, EarlierArtifacts};
use crate::gate::Policy;
use crate::mask::Masker;
use crate::ports::Hooks;
use crate::text::one_line;
use crate::tool::{Pending, Registration, Tool, ToolCx};

use attempt::Attempt;
use output::bound;

pub use approval::{Approval, NotApproved};
pub use finding::find_tools;
pub use offering::{Offering, ToolTraits};
pub use tool_set::ToolSet;

/// All tools of the moment, and the only way to call one.
pub struct Toolbox {
    tools: RwLock<Arc<ToolSet>>,
    services: Services,
    hooks: OnceLock<Arc<dyn Hooks>>,
}

/// The services that the toolbox needs.
pub struct Services {
    pub ledger: Arc<dyn Ledger>,
    pub drafts: Arc<dyn Drafts>,
    /// Stores outputs that are too long for a model, under `cache/artifacts`.
    pub artifacts: Artifacts,
    pub masker: Masker,
}

impl Services {
    /// The drafts, changed only while the condition holds.
    pub(crate) fn drafts_under(&self, condition: DraftCondition) -> Arc<dyn Drafts> {
        self.drafts.under(condition).unwrap_or_else(|| Arc::clone(&self.drafts))
    }
}

/// Whether a call happens or only its plan is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    Real,
    DryRun,
}

impl Toolbox {
    /// Makes a toolbox. It fails as [`Toolbox::register`] does.
    pub fn new(tools: Vec<Arc<dyn Tool>>, services: Services) -> Result<Self, Fault> {
        let (tools, _) = ToolSet::default().with(tools)?;
        let tools = RwLock::new(Arc::new(tools));
        Ok(Self { tools, services, hooks: OnceLock::new() })
    }

    /// Sets the hooks that are asked about calls from now on.
    pub fn set_hooks(&self, hooks: Arc<dyn Hooks>) {
        // They are set only once, because a process has one set of hooks.
        let _ = self.hooks.set(hooks);
    }

    /// The hooks; `None` if there are none.
    pub fn hooks(&self) -> Option<&Arc<dyn Hooks>> {
        self.hooks.get()
    }

    /// Adds tools, all of them or none. It fails if a schema does not compile or a name is taken.
    /// Runs at work see the tools from their next step on.
    pub fn register(&self, tools: Vec<Arc<dyn Tool>>) -> Result<Vec<Registration>, Fault> {
        let mut current = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let (set, registrations) = current.with(tools)?;
        *current = Arc::new(set);
        Ok(registrations)
    }

    /// Removes tools by their registrations, which only their owner has. Calls that have begun are
    /// not affected; a later call gets the error that the tool was removed.
    pub fn remove(&self, registrations: &[Registration]) {
        let mut current = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(current.without(registrations));
    }

    /// The tools as they are now.
    pub fn tools(&self) -> Arc<ToolSet> {
        Arc::clone(&self.tools.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A number that changes whenever tools come or go.
    pub fn version(&self) -> u64 {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).version()
    }

    /// The tools that the agent is offered now.
    pub fn ready_offers(
        &self,
        policy: &Policy,
        agent: &AgentId,
        person: &PersonId,
    ) -> Arc<Offering> {
        self.tools().ready_offers(policy, agent, person)
    }

    /// The tools that the agent is offered, for a prompt with room for this many tokens of foreign
    /// tools.
    pub fn offers_within(
        &self,
        policy: &Policy,
        agent: &AgentId,
        person: &PersonId,
        room: usize,
    ) -> Arc<Offering> {
        self.tools().offers_within(policy, agent, person, room)
    }

    /// Masks this stored secret too from now on.
    pub fn mask_stored(&self, secret: &str) {
        self.services.masker.add_stored(secret);
    }

    /// The text with all known secrets masked.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.services.masker.mask(text)
    }

    /// One line about a call for people, beginning with a verb, with secrets masked. It does no
    /// I/O.
    pub fn summary(&self, call: &ToolCall) -> String {
        self.label(call).summary()
    }

    /// The description of a call for people, with secrets masked. It does no I/O.
    pub fn label(&self, call: &ToolCall) -> CallLabel {
        let inner = finding::inner_call(call);
        let call = inner.as_ref().unwrap_or(call);
        let mut label = match self.tools().entry(&call.name) {
            Some(entry) => entry.tool.label(&call.input),
            None => Verb::new("call", "calling", "called").of(call.name.as_str()),
        };
        label.subject = self.for_people(&label.subject);
        if let Some(target) = &mut label.target {
            target.name = self.for_people(&target.name);
        }
        if let Some(change) = &mut label.change {
            *change = CallChange::new(self.mask(&change.unified).into_owned(), change.lines());
        }
        label
    }

    /// Makes a call. It never fails: an error becomes an outcome that the model can read.
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
        let tools = self.tools();
        let policy = &tools.resolved(policy);
        let made = match self.seeing_drafts(cx).await {
            Ok(cx) => {
                let (toolbox, tools) = (self, &*tools);
                let attempt = Attempt { toolbox, tools, policy, attendance, execution, cx: &cx };
                attempt.make(call).await
            }
            Err(error) => Err(error.into()),
        };
        let outcome = match made {
            Ok(outcome) => outcome,
            Err(error @ ToolError::Refused(_)) => ToolOutcome::error(error.to_string()).refused(),
            Err(error) => ToolOutcome::error(error.to_string()).from_origin(error.origin()),
        };
        cx.live.finish();
        let mut outcome = self.finished(outcome, cx).await;
        outcome.duration = cx.clock.now().mono.saturating_sub(began);
        outcome
    }

    /// Masks and then shortens an outcome. If it were shortened first, half a secret could be left.
    async fn finished(&self, outcome: ToolOutcome, cx: &ToolCx) -> ToolOutcome {
        let outcome = self.masked(outcome);
        let (outcome, before) = bound(outcome, &self.services.artifacts, cx).await;
        if before == EarlierArtifacts::None {
            self.offer_anew();
        }
        outcome
    }

    /// Makes runs look at their tools again before their next step, because the offered tools may
    /// have changed.
    pub fn offer_anew(&self) {
        self.remove(&[]);
    }

    /// The context with the session's open drafts, so that its calls see them.
    async fn seeing_drafts<'a>(&self, cx: &'a ToolCx) -> Result<Cow<'a, ToolCx>, StoreError> {
        let open = self.services.drafts.open_drafts(&cx.key).await?;
        if open.is_empty() {
            return Ok(Cow::Borrowed(cx));
        }
        Ok(Cow::Owned(ToolCx { pending: Arc::new(Pending::new(open)), ..cx.clone() }))
    }

    fn services(&self) -> &Services {
        &self.services
    }

    fn masked(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        outcome.output = self.services.masker.mask(&outcome.output).into_owned();
        outcome.summary = self.for_people(&outcome.summary);
        for attached in &mut outcome.attached {
            attached.text = self.services.masker.mask(&attached.text).into_owned();
        }
        if let Some(rehearsal) = &mut outcome.report.rehearsal {
            rehearsal.summary = self.for_people(&rehearsal.summary);
            let preview = std::mem::replace(&mut rehearsal.preview, Preview::None);
            rehearsal.preview =
                preview.map_text(|text| self.services.masker.mask(&text).into_owned());
        }
        outcome
    }

    fn for_people(&self, line: &str) -> String {
        one_line(&self.services.masker.mask(line))
    }
}
