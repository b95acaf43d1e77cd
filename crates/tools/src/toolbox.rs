use std::sync::Arc;

use onyx_storage::{Ledger, Objects};
use onyx_types::{Attendance, Fault, ToolCall, ToolOutcome, ToolSpec};

use crate::{Masker, Policy, Tool, ToolCx};

/// Every tool there is, and the one way to call one.
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    services: Services,
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
        Ok(Self { tools, services })
    }

    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|tool| tool.spec())
    }

    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.specs().find(|spec| spec.name == name)
    }

    /// What the agent is offered, always in the same order so that prompt caches hit.
    pub fn offers(&self, policy: &Policy) -> Vec<&ToolSpec> {
        self.specs()
            .filter(|spec| policy.visibility(&spec.name) == onyx_types::Visibility::Offered)
            .collect()
    }

    /// One human line for a call, verb first, secrets masked. No I/O.
    pub fn summary(&self, call: &ToolCall) -> String {
        let line = match self.tools.iter().find(|tool| tool.spec().name == call.name) {
            Some(tool) => tool.summary(&call.input),
            None => format!("Call {}", call.name),
        };
        self.services.masker.mask(&line).into_owned()
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
        let _ = (
            call,
            policy,
            attendance,
            execution,
            cx,
            &self.services.ledger,
            &self.services.artifacts,
        );
        ToolOutcome::error("not built yet")
    }
}
