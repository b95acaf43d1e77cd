//! What a tool is, and what its calls are given to work with.
//!
//! Every room that works with tools uses these types. Nothing here calls a tool, decides about a call
//! or touches a file.

mod context;
mod live_output;
mod pending;
mod standing;
mod typed;

use async_trait::async_trait;
use onyx_types::{AgentId, CallLabel, Capability, PersonId, Plan, ToolOutcome, ToolSpec};
use serde_json::Value;

use crate::ToolError;
use crate::gate::Authorised;

pub use context::{Decisions, Offered, Registration, ToolCx};
pub use live_output::LiveOutput;
pub use pending::Pending;
pub use standing::{DEEPEST, Standing};
pub use typed::TypedTool;

/// Something an agent can call, no matter who offers it. Our own tools are [`TypedTool`]s, one file
/// each; the list in `builtin` is all that knows them.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Is something that its spec needs there for this person now? An error says what is missing,
    /// for a model that calls the tool all the same. Asked at each run and each call, so it must be
    /// cheap.
    fn check_capability(&self, _capability: Capability, _person: &PersonId) -> Result<(), String> {
        Ok(())
    }

    /// Has it anything to work on for this agent and person now? Where it has nothing it is not
    /// offered. Asked at each run and each call, so it must be cheap.
    fn has_something_for(&self, _person: &PersonId, _agent: &AgentId) -> bool {
        true
    }

    /// What people read of a call, from arguments that are not checked yet. No I/O.
    fn label(&self, arguments: &Value) -> CallLabel;

    /// One human line for a call, verb first (`Read notes.md`).
    fn summary(&self, arguments: &Value) -> String {
        self.label(arguments).summary()
    }

    /// Reads the arguments of a call, once for its plan and for what is done. They fit the schema,
    /// or are those of a plan that this tool made.
    fn read(&self, arguments: Value) -> Result<Box<dyn ReadCall + '_>, ToolError>;
}

/// A call whose arguments were read.
#[async_trait]
pub trait ReadCall: Send + Sync {
    /// What the call would do, worked out without doing any of it.
    async fn plan(&self, cx: &ToolCx) -> Result<Plan, ToolError>;

    /// Does exactly what the plan says, or nothing: what changed since the plan is a conflict.
    async fn invoke(
        self: Box<Self>,
        plan: Authorised<Plan>,
        cx: &ToolCx,
    ) -> Result<ToolOutcome, ToolError>;
}
